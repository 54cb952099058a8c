"""Each way in which the files of a dataset can disagree is found and named."""

import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from tarfolder import contents, write_shards, write_tar

from gristmill.energon.formats.dataset_yaml import crude_dataset
from gristmill.energon.preparing.dataset import open_dataset
from gristmill.energon.preparing.lint import LintOptions, lint_tars
from gristmill.energon.preparing.prepare import PrepareOptions, prepare_tars


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A prepared dataset of four shards with three samples each."""
    write_shards(tmp_path)
    options = PrepareOptions(ratio={"train": 2, "val": 1, "test": 1})
    assert prepare_tars(open_dataset(str(tmp_path), {}), options, crude_dataset(), lambda _: None).written
    return tmp_path


def linted(folder: Path, options: LintOptions | None = None) -> list[str]:
    before = contents(folder)
    flaws = lint_tars(open_dataset(str(folder), {}), options or LintOptions(), lambda _: None)[1]
    assert contents(folder) == before
    return [f"{'warning ' if flaw.warning else ''}{flaw}" for flaw in flaws]


@pytest.mark.slow
def test_a_prepared_dataset_has_no_flaw_in_one_process_or_in_two(folder: Path) -> None:
    assert linted(folder) == []
    assert linted(folder, LintOptions(workers=2)) == []


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return change


def write(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(data)


def remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def sql(statement: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        db = sqlite3.connect(folder / ".nv-meta" / "index.sqlite")
        db.execute(statement)
        db.commit()
        db.close()

    return change


def flip_a_page(folder: Path) -> None:
    """Damages a page of an index of SQLite; the rows of the tables stay as they are."""
    path = folder / ".nv-meta" / "index.sqlite"
    db = sqlite3.connect(path)
    [(page,)] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'idx_sample_parts_seq'").fetchall()
    [(size,)] = db.execute("PRAGMA page_size").fetchall()
    db.close()
    data = bytearray(path.read_bytes())
    end = page * size
    data[end - 8] ^= 1  # in the row that was added first
    path.write_bytes(data)


TAR, META = "shards/0.tar", ".nv-meta/"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (remove(META + ".info.json"), [".nv-meta/.info.json: the file is missing"]),
        (edit(META + ".info.json", ": 3", ": 4"), ["shards/0.tar: it has 3 samples, but .info.json says 4"] * 1),
        (edit(META + ".info.json", '{\n  "e', '{"x": 1,\n  "e'), [".nv-meta/.info.json: not a valid"]),
        (remove(TAR), ["shards/0.tar: there is no such shard"]),
        (write(TAR, b""), ["shards/0.tar: "]),
        (remove(TAR + ".idx"), ["shards/0.tar.idx: there is no index (run prepare with --tar-index-only)"]),
        (write(TAR + ".idx", b"short"), ["shards/0.tar.idx: 5 bytes"]),
        (
            write(TAR + ".idx", struct.pack("<3Q", 0, 2048, 6144)),
            ["shards/0.tar.idx: it has 2 samples, but the tar has 3"],
        ),
        (
            write(TAR + ".idx", struct.pack("<4Q", 0, 1024, 4096, 6144)),
            ["shards/0.tar.idx: sample 0 ends at byte 1,024, but in the tar at 2,048"],
        ),
        (remove(META + "index.sqlite"), ["warning .nv-meta/index.sqlite: there is no index"]),
        (remove(META + "index.uuid"), ["warning .nv-meta/index.uuid: it is not there"]),
        (
            write(META + "index.sqlite", b"no database"),
            [".nv-meta/index.sqlite: it is damaged: file is not a database (run prepare with --tar-index-only)"],
        ),
        (
            sql("UPDATE samples SET byte_size = 1 WHERE sample_key = '0-1'"),
            [".nv-meta/index.sqlite: row 1: table samples has (0, '0-1', 1, 2048, 1), but the tars have (0, '0-1', 1,"],
        ),
        (
            sql("DELETE FROM sample_parts WHERE tar_file_id = 3 AND sample_index = 2 AND part_name = 'json'"),
            [".nv-meta/index.sqlite: row 23: table sample_parts has no row more, but the tars have (3, 2, 'json',"],
        ),
        (
            sql("DROP INDEX idx_sample_parts_seq"),
            ["warning .nv-meta/index.sqlite: it lacks idx_sample_parts_seq: reading at random is slow (run prepare"],
        ),
        (
            sql("ALTER TABLE samples RENAME COLUMN byte_size TO size"),
            [".nv-meta/index.sqlite: it is damaged: table samples lacks byte_size (run prepare with"],
        ),
        (sql("DROP TABLE sample_parts"), [".nv-meta/index.sqlite: it is damaged: it has no table sample_parts"]),
        (flip_a_page, [".nv-meta/index.sqlite: it is damaged: "]),
        (
            write(META + "index.sqlite-wal", b"log"),
            [".nv-meta/index.sqlite: 3 bytes of it are in a log beside it, which the loader does not read"],
        ),
        (
            sql("CREATE TABLE media_metadata AS SELECT '0-0.png' entry_key, 'image' metadata_type, '{}' metadata_json"),
            ["warning .nv-meta/index.sqlite: it has metadata of 1 media that are in no tar, such as '0-0.png'"],
        ),
        (
            edit(META + "split.yaml", "exclude: []", "exclude: [shards/3.tar, shards/2.tar/2-0, shards/2.tar/2-9]"),
            [
                "warning .nv-meta/split.yaml: all shards of split 'test' are excluded",
                "warning .nv-meta/split.yaml: it excludes 'shards/2.tar/2-9', but the shard has no such sample",
            ],
        ),
        (
            edit(META + "split.yaml", "exclude: []", "exclude: ['shards/{0..1}.tar/{0..1}-{0..2}']"),
            [
                *(f"warning .nv-meta/split.yaml: it excludes 'shards/0.tar/1-{n}', but" for n in range(3)),
                *(f"warning .nv-meta/split.yaml: it excludes 'shards/1.tar/0-{n}', but" for n in range(2)),
                "warning .nv-meta/split.yaml: 1 more excluded samples are in no shard",
                ".nv-meta/split.yaml: all samples of split 'train' are excluded",
            ],
        ),
        (edit(META + "split.yaml", "exclude: []", "exclude: ['shards/0.tar/0-{0..2}']"), []),
        (
            edit(META + "split.yaml", "train:", "trail:"),
            ["warning .nv-meta/split.yaml: it has no split 'train', but 'trail', 'val', 'test'"],
        ),
        (remove(META + "split.yaml"), [".nv-meta/split.yaml: there is no split file"]),
        (
            edit(META + "split.yaml", "shards/3.tar", "shards/9.tar"),
            [
                ".nv-meta/split.yaml: split 'test' names 'shards/9.tar', which is no shard",
                "warning .nv-meta/split.yaml: shard 'shards/3.tar' is in no split",
            ],
        ),
        (
            edit(META + "split.yaml", "exclude: []", "exclude: ['shards/{0..1}.tar', x.tar]"),
            [
                ".nv-meta/split.yaml: all shards of split 'train' are excluded",
                "warning .nv-meta/split.yaml: it excludes 'x.tar', which is no shard",
            ],
        ),
        (edit(META + "split.yaml", "exclude", "excluded"), [".nv-meta/split.yaml: not a valid split file"]),
        (remove(META + "dataset.yaml"), [".nv-meta/dataset.yaml: it is not there, and the loader needs it"]),
        (write(META + "dataset.yaml", b"a: 1\n"), [".nv-meta/dataset.yaml: it names neither"]),
        (
            write(
                META + "dataset.yaml",
                b"sample_type: {__module__: m, __class__: A}\nsample_loader: sample_loader.py:f\npart_filter: [txt]\n",
            ),
            ["warning .nv-meta/dataset.yaml: its sample_loader is 'sample_loader.py:f': code that the loader runs"],
        ),
        (
            write(META + "sample_loader.py", b"raise SystemExit('run')\n"),
            ["warning .nv-meta/sample_loader.py: it is not used; it was not run here"],
        ),
        (write("new.tar", bytes(1024)), ["warning new.tar: .info.json does not name this shard"]),
    ],
)
def test_a_disagreement_is_named(folder: Path, change: Callable[[Path], object], words: list[str]) -> None:
    change(folder)
    found = linted(folder)
    if words and words[0].startswith("shards/0.tar: it has 3"):  # all four counts were edited
        assert len(found) == 4
        found = found[:1]
    assert [flaw[: len(start)] for flaw, start in zip(found, words, strict=True)] == words


def test_what_the_loader_takes_in_another_way_is_a_warning_of_prepare_and_of_lint(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", [("d/.hidden.txt", b"1"), ("x.txt", b"1"), ("x.txt", b"2"), ("y.txt", b"3")])
    for name in ("B.TAR", "c.tar.gz", "d.tar.gz.txt"):
        (tmp_path / name).write_bytes(b"")
    options = PrepareOptions(ratio={"train": 1})
    prepared = prepare_tars(open_dataset(str(tmp_path), {}), options, crude_dataset(), lambda _: None)
    assert prepared.written
    told = [
        "warning B.TAR: it is passed over, for the name of a shard ends in .tar (rename it)",
        "warning c.tar.gz: it is passed over, for the loader cannot read packed tars (unpack it, or remove it)",
        "warning a.tar: sample 'd/': its key is a folder: the file's name begins with a dot (rename the file)",
        "warning a.tar: sample 'x': part 'txt' comes 2 times; the loader takes the last (leave one of them)",
    ]
    assert [f"{'warning ' if flaw.warning else ''}{flaw}" for flaw in prepared.flaws] == told
    assert linted(tmp_path) == told


def test_of_many_odd_samples_twenty_are_named_and_a_wrong_count_is_told_too(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", [(f"{number}.txt", b"") for number in range(25) for _ in "12"])
    options = PrepareOptions(ratio={"train": 1})
    assert prepare_tars(open_dataset(str(tmp_path), {}), options, crude_dataset(), lambda _: None).written
    edit(META + ".info.json", ": 25", ": 26")(tmp_path)
    found = linted(tmp_path)
    assert [flaw[:24] for flaw in found[:20]] == [f"warning a.tar: sample '{n}': "[:24] for n in range(20)]
    assert found[20] == "warning a.tar: 5 more such samples"
    assert found[21].startswith("a.tar: it has 25 samples, but .info.json says 26 (the tar was changed")


def test_other_splits_and_other_files_are_checked_on_request(folder: Path) -> None:
    (folder / ".nv-meta" / "other.yaml").write_text("split_parts: {pretrain: [], train: ['shards/{0..3}.tar']}\n")
    found = linted(folder, LintOptions(split_config="other.yaml", splits=("pretrain",)))
    assert found == [
        "warning .nv-meta/other.yaml: split 'pretrain' is empty (edit the file, or prepare the dataset again)"
    ]


def test_a_folder_whose_own_path_breaks_random_access_is_told(tmp_path: Path) -> None:
    write_shards(tmp_path / "50%", 1)
    options = PrepareOptions(ratio={"train": 1})
    dataset = open_dataset(str(tmp_path / "50%"), {})
    assert prepare_tars(dataset, options, crude_dataset(), lambda _: None).written
    assert linted(tmp_path / "50%")[0].startswith("warning .: the dataset's own path has '%'")


def test_a_part_of_a_split_may_have_its_shards_too(folder: Path) -> None:
    parts = "train: ['shards/{0..3}.tar'], train-tales: ['shards/0.tar'], training: ['shards/1.tar']"
    (folder / ".nv-meta" / "other.yaml").write_text(f"split_parts: {{{parts}}}\n")
    found = linted(folder, LintOptions(split_config="other.yaml"))
    assert [flaw.partition(": ")[2] for flaw in found] == [
        "shard 'shards/1.tar' is in split 'train' and in 'training' (edit the file, or prepare the dataset again)"
    ]


def test_a_split_in_json_is_read_if_there_is_no_other(folder: Path) -> None:
    (folder / ".nv-meta" / "split.yaml").unlink()
    (folder / ".nv-meta" / "split.json").write_text('{"split_parts": {"train": ["shards/{0..3}.tar"]}}')
    assert linted(folder) == []


@pytest.mark.parametrize("text", ["sample_type: 3", "__class__: [1]", "sample_type: {__module__: megatron.energon}"])
def test_a_type_of_samples_without_a_class_is_named(folder: Path, text: str) -> None:
    (folder / ".nv-meta" / "dataset.yaml").write_text(text)
    (flaw,) = linted(folder)
    assert flaw.startswith(".nv-meta/dataset.yaml: it names neither a `sample_type` nor a class")
