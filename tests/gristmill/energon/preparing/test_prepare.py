"""What `prepare` writes, refuses and keeps. `tests/real_energon` compares its files with those of the real tool."""

import json
import sqlite3
import struct
from pathlib import Path

import pytest
from tarfolder import contents, write_shards, write_tar

from gristmill.energon.formats.dataset_yaml import crude_dataset
from gristmill.energon.preparing import prepare as module
from gristmill.energon.preparing.dataset import open_dataset
from gristmill.energon.preparing.prepare import Prepared, PrepareOptions, prepare_indexes, prepare_tars
from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.store.disk.unfinished import UnfinishedFile

RATIO = PrepareOptions(ratio={"train": 2, "val": 1, "test": 1})
CRUDE = crude_dataset()


def prepared(folder: Path, options: PrepareOptions = RATIO) -> Prepared:
    return prepare_tars(open_dataset(str(folder), {}), options, CRUDE, lambda _: None)


def indexed(folder: Path) -> Prepared:
    return prepare_indexes(open_dataset(str(folder), {}), PrepareOptions(), lambda _: None)


def flaws_of(folder: Path, options: PrepareOptions = RATIO) -> list[str]:
    """The flaws of a folder that is refused: nothing is written into it."""
    before = contents(folder)
    found = prepared(folder, options)
    assert not found.written
    assert contents(folder) == before
    return [str(flaw) for flaw in found.flaws]


def rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(folder / ".nv-meta" / "index.sqlite") as db:
        found = db.execute(query).fetchall()
    db.close()
    return found


def test_a_folder_of_four_tars_gets_five_files_and_an_index_beside_each_tar(tmp_path: Path) -> None:
    tars = write_shards(tmp_path)
    before = [path.read_bytes() for path in tars]
    assert prepared(tmp_path).written
    assert [path.read_bytes() for path in tars] == before
    files = contents(tmp_path)
    assert sorted(files.keys() - {f"shards/{n}.tar" for n in range(4)}) == [
        *(f".nv-meta/{name}" for name in (".info.json", "dataset.yaml", "index.sqlite", "index.uuid", "split.yaml")),
        *(f"shards/{n}.tar.idx" for n in range(4)),
    ]
    assert json.loads(files[".nv-meta/.info.json"]) == {
        "energon_version": "7.4.1",
        "shard_counts": {f"shards/{n}.tar": 3 for n in range(4)},
    }
    # each member is a header and a block of content; a sample is two of them
    assert struct.unpack("<4Q", files["shards/0.tar.idx"]) == (0, 2048, 4096, 6144)
    assert b"shards/{0..1}.tar" in files[".nv-meta/split.yaml"]
    assert rows(tmp_path, "SELECT * FROM samples WHERE sample_key = '1-2'") == [(1, "1-2", 2, 4096, 2048)]
    assert rows(tmp_path, "SELECT * FROM sample_parts WHERE tar_file_id = 1 AND sample_index = 2 ORDER BY 4") == [
        (1, 2, "txt", 4608, 8),
        (1, 2, "json", 5632, 8),
    ]


@pytest.mark.slow
def test_two_processes_write_the_same_bytes_as_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_shards(tmp_path / name)
    prepared(tmp_path / "one")
    prepared(tmp_path / "two", RATIO._replace(workers=2))
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_prepared_folder_is_refused_and_the_same_preparation_again_changes_nothing(tmp_path: Path) -> None:
    write_shards(tmp_path)
    prepared(tmp_path)
    before, times = contents(tmp_path), {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")}
    with pytest.raises(RecipeError, match="prepared already; give --force-overwrite"):
        prepared(tmp_path)
    assert prepared(tmp_path, RATIO._replace(overwrite=True)).written
    assert contents(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in times if path.is_file()} == {
        path: time for path, time in times.items() if path.is_file()
    }


@pytest.mark.parametrize("name", ["split.yaml", "dataset.yaml"])
def test_an_edited_file_is_kept_and_refused_unless_overwriting_is_asked_for(tmp_path: Path, name: str) -> None:
    write_shards(tmp_path)
    edited = tmp_path / ".nv-meta" / name
    edited.parent.mkdir()
    edited.write_text("split_parts: {train: [shards/0.tar]}\n")
    before = contents(tmp_path)
    asked = RATIO._replace(dataset_yaml=CRUDE)
    with pytest.raises(RecipeError, match=rf"{name}: it is there with another content.*--force-overwrite"):
        prepared(tmp_path, asked)
    assert contents(tmp_path) == before
    assert prepared(tmp_path, asked._replace(overwrite=True)).written
    assert edited.read_bytes() != before[f".nv-meta/{name}"]


def test_without_options_of_splits_and_type_the_files_that_are_there_are_kept(tmp_path: Path) -> None:
    write_shards(tmp_path, 2)
    (tmp_path / ".nv-meta").mkdir()
    kept = {
        "split.yaml": "# mine\nsplit_parts: {train: ['shards/{0..1}.tar']}\n",
        "dataset.yaml": "# mine\n__module__: m\n__class__: C\n",
    }
    for name, text in kept.items():
        (tmp_path / ".nv-meta" / name).write_text(text)
    assert prepared(tmp_path, PrepareOptions()).written
    assert {name: (tmp_path / ".nv-meta" / name).read_text() for name in kept} == kept


def test_a_kept_split_file_that_names_no_shard_is_refused(tmp_path: Path) -> None:
    write_shards(tmp_path, 1)
    (tmp_path / ".nv-meta").mkdir()
    (tmp_path / ".nv-meta" / "split.yaml").write_text("split_parts: {train: [shards/0.tar, shards/9.tar]}\n")
    (flaw,) = flaws_of(tmp_path, PrepareOptions())
    assert flaw.startswith(".nv-meta/split.yaml: split 'train' names 'shards/9.tar', which is no shard of the dataset")


def test_a_kept_split_file_that_excludes_no_sample_is_told_and_one_that_excludes_all_is_refused(tmp_path: Path) -> None:
    write_shards(tmp_path, 1)
    split = tmp_path / ".nv-meta" / "split.yaml"
    split.parent.mkdir()
    split.write_text("split_parts: {train: [shards/0.tar]}\nexclude: [shards/0.tar/0-0, shards/0.tar/0-3]\n")
    found = prepared(tmp_path, PrepareOptions())
    assert found.written
    (flaw,) = found.flaws
    assert str(flaw).startswith(".nv-meta/split.yaml: it excludes 'shards/0.tar/0-3', but the shard has no such sample")
    split.write_text("split_parts: {train: [shards/0.tar]}\nexclude: ['shards/0.tar/0-{0..2}']\n")
    (words,) = flaws_of(tmp_path, PrepareOptions(overwrite=True))
    assert words.startswith(".nv-meta/split.yaml: all samples of split 'train' are excluded")


def test_excludes_that_a_new_split_file_drops_are_told(tmp_path: Path) -> None:
    write_shards(tmp_path)
    prepared(tmp_path)
    split = tmp_path / ".nv-meta" / "split.yaml"
    split.write_text(split.read_text().replace("exclude: []", "exclude: [shards/0.tar/0-0]"))
    found = prepared(tmp_path, RATIO._replace(overwrite=True))
    assert found.written
    (flaw,) = found.flaws
    assert flaw.what.startswith("the file that was there excluded 1 shards and samples, such as 'shards/0.tar/0-0';")


def test_without_a_split_file_the_splits_must_be_given(tmp_path: Path) -> None:
    write_shards(tmp_path, 1)
    with pytest.raises(RecipeError, match="--split-ratio 8,1,1 or --split-parts"):
        prepared(tmp_path, PrepareOptions())
    assert not (tmp_path / ".nv-meta").exists()


def test_a_key_in_two_shards_is_named_with_both_places(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", {"x.txt": b"1", "y.txt": b"2"})
    write_tar(tmp_path / "b.tar", {"z.txt": b"1", "y.txt": b"2"})
    (flaw,) = flaws_of(tmp_path, PrepareOptions(ratio={"train": 1}))
    assert flaw.startswith("a.tar: sample 'y': its key occurs twice: here as sample 1, and in b.tar as sample 1 (")


def test_damage_of_each_kind_is_named_in_one_go(tmp_path: Path) -> None:
    for shard in write_shards(tmp_path, 6):
        number, data = int(shard.stem), shard.read_bytes()
        if number == 1:
            shard.write_bytes(data[:5000])  # in the content of the third sample
        if number == 2:
            shard.write_bytes(data[:2048] + b"\x01" + data[2049:])  # in the header of the second sample
        if number == 3:
            shard.write_bytes(b"")
    write_tar(tmp_path / "shards" / "4.tar", {"README": b"no sample"})
    (tmp_path / "shards" / "6.tgz").write_bytes(b"\x1f\x8b")
    flaws = flaws_of(tmp_path)
    assert [flaw.partition(":")[0] for flaw in flaws] == [
        "shards/6.tgz",
        "shards/1.tar",
        "shards/2.tar",
        "shards/3.tar",
        "shards/4.tar",
    ]
    for flaw, words in zip(flaws, ("packed", "truncated", "2048", "", "no sample"), strict=True):
        assert words in flaw


def test_a_shard_that_the_loader_cannot_name_is_refused(tmp_path: Path) -> None:
    write_tar(tmp_path / "a{1}.tar", {"x.txt": b"1"})
    assert flaws_of(tmp_path, PrepareOptions(ratio={"train": 1, "val": 0, "test": 0})) == [
        "a{1}.tar: the loader cannot use a path with '{}' (rename the shard)"
    ]


def test_an_empty_train_split_is_refused_and_excluded_tars_are_left_out(tmp_path: Path) -> None:
    write_shards(tmp_path, 1)
    assert "split 'train' is empty: 1 shards are too few" in flaws_of(tmp_path)[0]
    write_shards(tmp_path, 4)
    assert prepared(tmp_path, RATIO._replace(exclude="1|2", ratio={"train": 1, "val": 1, "test": 0})).written
    assert not (tmp_path / "shards" / "1.tar.idx").exists()
    assert list(json.loads((tmp_path / ".nv-meta" / ".info.json").read_text())["shard_counts"]) == [
        "shards/0.tar",
        "shards/3.tar",
    ]


def test_a_folder_without_tars_and_a_wrong_expression_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("no tar")
    with pytest.raises(RecipeError, match="no tar is there; give"):
        prepared(tmp_path)
    (tmp_path / "A.TAR").write_bytes(b"")
    with pytest.raises(RecipeError, match=r"no tar is there \(A\.TAR: it is passed over"):
        prepared(tmp_path)
    with pytest.raises(RecipeError, match="not a regular expression"):
        prepared(tmp_path, RATIO._replace(exclude="("))
    write_tar(tmp_path / "b.tar", {"b.txt": b"1"})
    with pytest.raises(RecipeError, match="no tar is there that --exclude 'b' does not leave out"):
        prepared(tmp_path, RATIO._replace(exclude="b"))


def test_shards_are_ordered_folder_by_folder_and_hidden_ones_are_passed_over(tmp_path: Path) -> None:
    # as the real tool does: by characters, `-` and `.` would come before `/`
    shards = ["set/0.tar", "set/1.tar", "set-b/0.tar", "set.tar"]
    hidden = [".old/a.tar", "set/.b.tar", "set/.c.tgz"]
    for number, name in enumerate([*shards, *hidden]):
        write_tar(tmp_path / name, {f"{number}.txt": b"1"})
    found = prepared(tmp_path)
    assert list(json.loads((tmp_path / ".nv-meta" / ".info.json").read_text())["shard_counts"]) == shards
    assert rows(tmp_path, "SELECT sample_key FROM samples ORDER BY tar_file_id") == [("0",), ("1",), ("2",), ("3",)]
    split = b"split_parts:\n  train:\n  - set/{0..1}.tar\n  val:\n  - set-b/0.tar\n  test:\n  - set.tar\nexclude: []\n"
    assert (tmp_path / ".nv-meta" / "split.yaml").read_bytes() == split
    assert [(flaw.path, flaw.warning) for flaw in found.flaws] == [(name, True) for name in hidden]
    assert all("begins with a dot" in flaw.what for flaw in found.flaws)
    write_tar(tmp_path / "set-c.tar", {"new.txt": b"1"})
    assert prepared(tmp_path, RATIO._replace(renew=True)).written  # nobody has edited split.yaml


def test_a_changed_tar_is_told_by_the_indexes_and_prepared_again_by_force(tmp_path: Path) -> None:
    write_shards(tmp_path)
    prepared(tmp_path)
    write_tar(tmp_path / "shards" / "3.tar", {"new.txt": b"1"})
    found = indexed(tmp_path)
    assert not found.written
    assert "shards/3.tar: it has 1 samples, but .info.json says 3" in str(found.flaws[0])
    assert prepared(tmp_path, RATIO._replace(overwrite=True)).written
    assert rows(tmp_path, "SELECT sample_key FROM samples WHERE tar_file_id = 3") == [("new",)]


def test_indexes_alone_are_made_again_and_an_older_info_file_is_translated(tmp_path: Path) -> None:
    write_shards(tmp_path)
    prepared(tmp_path)
    before = contents(tmp_path)
    meta = tmp_path / ".nv-meta"
    (meta / ".info.json").rename(meta / ".info.yaml")  # JSON is YAML
    (meta / "index.sqlite").unlink()
    (tmp_path / "shards" / "0.tar.idx").unlink()
    assert indexed(tmp_path).written
    assert contents(tmp_path) == before


def test_indexes_alone_need_a_preparation(tmp_path: Path) -> None:
    write_shards(tmp_path)
    with pytest.raises(DataError, match="not prepared; run prepare"):
        indexed(tmp_path)


class _Died(BaseException):
    """As if the process had been killed."""


@pytest.mark.parametrize("writes", range(9))
def test_after_a_kill_before_any_write_the_next_run_completes_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """The ninth and last write is that of `.info.json`."""
    for name in ("whole", "killed"):
        write_shards(tmp_path / name)
    prepared(tmp_path / "whole")
    left = writes
    place = UnfinishedFile.place

    def placed(file: UnfinishedFile, path: str) -> None:
        nonlocal left
        if not left:
            raise _Died
        left -= 1
        place(file, path)

    with monkeypatch.context() as patched:
        patched.setattr(UnfinishedFile, "place", placed)
        with pytest.raises(_Died):
            prepared(tmp_path / "killed")
    assert not (tmp_path / "killed" / ".nv-meta" / ".info.json").exists()
    assert prepared(tmp_path / "killed").written
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_a_kill_while_a_changed_dataset_is_prepared_again_never_leaves_old_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shards(tmp_path)
    prepared(tmp_path)
    write_shards(tmp_path, 4, 5)
    again = RATIO._replace(overwrite=True)

    def dies(*_: object) -> None:
        raise _Died

    with monkeypatch.context() as patched:
        patched.setattr(module, "write_pieces", dies)
        with pytest.raises(_Died):
            prepared(tmp_path, again)
    assert not (tmp_path / ".nv-meta" / ".info.json").exists()
    assert prepared(tmp_path, again).written
    assert json.loads((tmp_path / ".nv-meta" / ".info.json").read_text())["shard_counts"]["shards/0.tar"] == 5


def test_a_full_disk_is_told_and_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(tmp_path)
    before = contents(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(UnfinishedFile, "place", full)
        with pytest.raises(StoreError, match="No space left on device"):
            prepared(tmp_path)
    assert contents(tmp_path) == before
    assert prepared(tmp_path).written


@pytest.mark.parametrize("indexes", [False, True], ids=["all", "indexes-alone"])
def test_a_damaged_index_is_replaced_and_what_is_lost_is_told(tmp_path: Path, *, indexes: bool) -> None:
    write_shards(tmp_path)
    assert prepared(tmp_path).written
    index = tmp_path / ".nv-meta" / "index.sqlite"
    whole = rows(tmp_path, "SELECT * FROM samples")
    index.write_bytes(b"no database")
    found = indexed(tmp_path) if indexes else prepared(tmp_path, RATIO._replace(overwrite=True))
    assert found.written
    (flaw,) = found.flaws
    assert str(flaw).startswith(
        ".nv-meta/index.sqlite: it could not be read, so it was made anew without media metadata"
    )
    assert rows(tmp_path, "SELECT * FROM samples") == whole


@pytest.mark.parametrize(("counts", "words"), [("", "names no shard"), ('"../a.tar": 1', "names '../a.tar', which is")])
def test_counts_of_no_shard_or_of_one_outside_are_refused(tmp_path: Path, counts: str, words: str) -> None:
    write_shards(tmp_path)
    assert prepared(tmp_path).written
    (tmp_path / ".nv-meta" / ".info.json").write_text(f'{{"shard_counts": {{{counts}}}}}')
    with pytest.raises(DataError, match=r"\.nv-meta/\.info\.json: it .*" + words.replace(".", r"\.")):
        indexed(tmp_path)


def test_a_shard_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    write_tar(tmp_path / "a\udcff.tar", [("a.txt", b"a")])
    assert flaws_of(tmp_path, RATIO._replace(ratio={"train": 1}))[0].endswith("(rename the shard)")
