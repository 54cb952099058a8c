"""The media that documents name: in a folder of the lake or elsewhere, or in the samples of a prepared WebDataset."""

import io
import json
import tarfile
from pathlib import Path

import pytest
from energonlake import HERE, close, export, mix_of, mixed, named_metadatasets, release_of, start
from energonsets import write_dataset
from testkit import SHELVES, SNAPSHOT, Mill, make_documents

from gristmill.energon.exports.media_source import MediaSource, check_prepared, missing_media, open_media
from gristmill.energon.formats.dataset_yaml import crude_dataset
from gristmill.energon.preparing.dataset import open_dataset
from gristmill.energon.preparing.prepare import PrepareOptions, prepare_tars
from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.errors import DataError, StoreError
from gristmill.lake.address import place
from gristmill.lake.store.folder import FolderStore
from gristmill.maintenance.gc import find_unnamed_parts
from gristmill.maintenance.old_releases import find_old_releases
from gristmill.recipes.export import Export
from gristmill.stages.export.step import ExportStep
from gristmill.verification.audit import audit_ledger

SAMPLES = {"a/one": {"png": b"one", "seg.png": b"mask"}, "two": {"png": b"two!"}, "empty": {"png": b""}}


def opened(lake: Path, root: str) -> MediaSource:
    source = open_media(FolderStore(str(lake)), root)
    assert source is not None
    return source


def dataset(folder: Path) -> None:
    write_dataset(
        folder, {"0.tar": {"first": {"txt": b"no"}}, "s/1.tar": SAMPLES}, {"train": ["0.tar"]}, crude_dataset()
    )


def test_names_are_paths_of_files(tmp_path: Path) -> None:
    (tmp_path / "media/a").mkdir(parents=True)
    (tmp_path / "media/a/one.png").write_bytes(b"one")
    for root in ("media", "media/", str(tmp_path / "media")):
        source = opened(tmp_path, root)
        assert (source.has_file("a/one.png"), source.read("a/one.png")) == (True, b"one")
        assert (source.has_file("one.png"), source.read("one.png")) == (False, None)
    assert open_media(FolderStore(str(tmp_path)), "") is None
    with pytest.raises(StoreError, match=r"/disk: the folder of the media is not there; mount its disk"):
        open_media(FolderStore(str(tmp_path)), str(tmp_path / "disk"))


def test_names_are_parts_of_samples(tmp_path: Path) -> None:
    dataset(tmp_path / "media/tars")
    (tmp_path / "media/tars/three.png").write_bytes(b"a file beside the tars is no part of a sample")
    for root in ("media/tars", str(tmp_path / "media/tars")):
        source = opened(tmp_path, root)
        there = ("a/one.png", "a/one.seg.png", "two.png", "empty.png", "first.txt")
        assert [source.read(name) for name in there] == [b"one", b"mask", b"two!", b"", b"no"]
        assert all(map(source.has_file, there))
        assert not any(map(source.has_file, ("one.png", "two.jpg", "three.png", "a/one.PNG", "two", ".png")))


def test_tars_whose_names_begin_with_a_dot_are_read_but_no_auxiliary_source(tmp_path: Path) -> None:
    samples = {"./a/one": {"png": b"one"}, "./two": {"png": b"2"}, "two": {"png": b"two"}, "three": {"png": b"3"}}
    write_dataset(tmp_path / "tars", {"0.tar": samples}, {"train": ["0.tar"]}, crude_dataset())
    source = opened(tmp_path, "tars")
    assert (source.read("a/one.png"), source.read("three.png"), source.read("four.png")) == (b"one", b"3", None)
    assert (source.has_file("a/one.png"), source.has_file("three.png")) == (False, True)
    said = "'a/one.png' is not in tars, but './a/one.png' is: pack the tars anew with names that do not begin with ./"
    assert missing_media(source, "a/one.png").about == said
    assert missing_media(source, "four.png").about == "'four.png' is not in tars"
    with pytest.raises(DataError, match=r"'two.png' may be of sample 'two' or of './two'; pack the tars anew"):
        source.read("two.png")


def test_a_dataset_whose_index_or_tars_are_wrong_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "tars"
    dataset(folder)
    index, shard = folder / ".nv-meta/index.sqlite", folder / "s/1.tar"
    good = shard.read_bytes()
    shard.write_bytes(good[:700])
    with pytest.raises(
        DataError, match=r"tars: its index says that tars/s/1.tar has 'a/one.seg.png' in bytes 1536 to 1540"
    ):
        opened(tmp_path, "tars").has_file("a/one.seg.png")
    shard.unlink()
    with pytest.raises(DataError, match=r"has 'two.png' in bytes .*, but this tar has 0 bytes; put the tar back"):
        opened(tmp_path, "tars").has_file("two.png")
    index.write_bytes(b"SQLite format 3\0" + bytes(100))
    with pytest.raises(DataError, match=r"^tars/.nv-meta/index.sqlite: .*prepare the dataset again"):
        opened(tmp_path, "tars")
    index.unlink()
    with pytest.raises(
        DataError, match=r"tars/.nv-meta/index.sqlite: the dataset has no index, so no media can be found"
    ):
        opened(tmp_path, "tars")


def pack(tar: Path, files: dict[str, bytes], style: int = tarfile.GNU_FORMAT) -> None:
    """Packs a tar as other programs do; a name that ends with a slash is a folder's."""
    with tarfile.open(tar, "w", format=style) as packed:
        for name, data in files.items():
            member = tarfile.TarInfo(name.rstrip("/"))
            member.type, member.size = (tarfile.DIRTYPE, 0) if name.endswith("/") else (tarfile.REGTYPE, len(data))
            packed.addfile(member, io.BytesIO(data))


@pytest.mark.parametrize(
    ("newer", "there"),
    [
        ({"b.png": b"BB", "a.png": b"AA"}, "2 bytes of 'b.png'"),  # in another order
        ({"a.png": b"longer", "b.png": b"BB"}, "6 bytes of 'a.png'"),
        ({"a/": b"", "a.png": b"AA", "b.png": b"BB"}, "no file that begins there"),
        ({"a.txt": b"A" * 600, "a.png": b"AA", "b.png": b"BB"}, "600 bytes of 'a.txt'"),
    ],
)
def test_a_tar_that_is_newer_than_its_index_is_named(tmp_path: Path, newer: dict[str, bytes], there: str) -> None:
    samples = {"a": {"png": b"AA"}, "b": {"png": b"BB"}}
    write_dataset(tmp_path / "tars", {"0.tar": samples}, {"train": ["0.tar"]}, crude_dataset())
    source = opened(tmp_path, "tars")
    assert [source.read("a.png"), source.read("b.png")] == [b"AA", b"BB"]
    pack(tmp_path / "tars/0.tar", newer)
    with pytest.raises(DataError) as raised:
        opened(tmp_path, "tars").read("a.png")
    assert str(raised.value) == (
        f"tars: its index says that tars/0.tar has 'a.png' in bytes 512 to 514, but this tar has {there}: it was"
        " changed since it was prepared. Prepare the dataset again (`gristmill energon prepare --force-overwrite`), or"
        " put the tar back"
    )


@pytest.mark.parametrize("style", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("other", [10, 2_000_000])
def test_long_names_and_members_that_are_no_parts_stand_before_a_part(tmp_path: Path, style: int, other: int) -> None:
    letter = "e" if style == tarfile.USTAR_FORMAT else "\u00e9"
    name, tars = f"{'f' * 90}/{letter * 40}", tmp_path / "tars"
    tars.mkdir()
    files = {
        f"{name}.png": b"A",
        f"{name}.empty": b"",
        "folder/": b"",
        "README": b"r" * other,
        f"{name}.txt": b"B" * 600,
    }
    pack(tars / "0.tar", files, style)
    options = PrepareOptions(ratio={"train": 1.0})
    assert prepare_tars(open_dataset(str(tars), {}), options, crude_dataset(), lambda _: None).written
    source = opened(tmp_path, "tars")
    assert [source.read(f"{name}.{part}") for part in ("png", "empty", "txt")] == [b"A", b"", b"B" * 600]
    pack(tars / "0.tar", dict(reversed(files.items())), style)
    for part in ("png", "empty", "txt"):
        with pytest.raises(DataError, match=r"it was changed since it was prepared"):
            opened(tmp_path, "tars").read(f"{name}.{part}")


def test_a_name_that_no_sample_has_blocks_the_slice_with_document_and_shard(tmp_path: Path) -> None:
    mill = Mill(tmp_path / "lake")
    good, bad = make_documents(2)
    good["metadata"], bad["metadata"] = {"image": ["a/one.png", "two.png"]}, {"image": ["two.png", "three.png"]}
    mill.raw("a.jsonl.gz", [good, bad])
    dataset(tmp_path / "lake/media/tars")
    mixed(mill)
    said = (
        rf"mixes/.*/a.jsonl.gz: 1 documents name media files that are missing \(row 1, document '{bad['id']}' of"
        rf" '{bad['source']}': 'three.png' is not in media/tars\): bring the files, then run again"
    )
    with pytest.raises(DataError, match=said):
        export(mill, EnergonJsonl(media=("metadata.image",), root="media/tars"))
    with pytest.raises(DataError, match=said):
        export(mill, EnergonWebdataset(files={"png": "metadata.image"}, root="media/tars"))


def test_the_release_of_another_export_is_an_auxiliary_source(tmp_path: Path) -> None:
    mill = Mill(tmp_path / "lake")
    documents = make_documents(3)
    for number, row in enumerate(documents):
        row["metadata"] = {"image": f"p/{number}.png"}
        mill.store.put(f"media/p/{number}.png", b"%d" % number)
    mill.raw("a.jsonl.gz", documents)
    mixed(mill)
    tars = EnergonWebdataset(parts={}, files={"png": "metadata.image"}, root="media", key="metadata.image")
    export(mill, tars)
    close(mill, tars)
    release = release_of(mill).folder.rstrip("/")
    source = opened(tmp_path / "lake", release)
    assert [source.read(f"p/{number}.png") for number in range(4)] == [b"0", b"1", b"2", None]
    second = Export(name="second", mixes=("blend",), format=EnergonJsonl(media=("metadata.image",), root=release))
    step = ExportStep(mix_of(), "pages", second, SNAPSHOT, SHELVES)
    assert mill.make(step).totals["rows"] == 3
    assert [*audit_ledger(mill.store, place(step.asset, SNAPSHOT).ledger, mill.said.append)] == []


def test_gc_keeps_a_release_that_is_named_and_its_tars(tmp_path: Path) -> None:
    mill, declared = start(tmp_path / "lake", shards=1), EnergonWebdataset(parts={"txt": "text"}, key="id")
    export(mill, declared)
    close(mill, declared)
    first, [entry] = release_of(mill).folder, named_metadatasets(mill)
    mill.raw("a.jsonl.gz", make_documents(3))
    export(mixed(mill), declared)
    close(mill, declared)
    assert [old.folder for old in find_old_releases(mill.store, mill.said.append)] == [entry, first]
    assert len(find_unnamed_parts(mill.store, mill.said.append, [entry, first])) == 1
    for named in (first, entry):  # each keeps the other
        mill.store.put("releases/first.json", json.dumps({"files": [named]}).encode())
        assert find_old_releases(mill.store, mill.said.append) == []
    assert find_unnamed_parts(mill.store, mill.said.append) == []
    [*_, last] = make_documents(10)
    assert opened(tmp_path / "lake", first).read(f"{last['id']}.txt") == last["text"].encode()


def test_media_of_a_folder_elsewhere_are_looked_for_by_verify_too(tmp_path: Path) -> None:
    mill, elsewhere = Mill(tmp_path / "lake"), tmp_path / "disk"
    [row] = make_documents(1)
    row["metadata"] = {"image": "one.png"}
    mill.raw("a.jsonl.gz", [row])
    mixed(mill)
    declared = EnergonWebdataset(parts={}, files={"png": "metadata.image"}, root=str(elsewhere), key="metadata.image")
    with pytest.raises(
        StoreError, match=r"disk: the folder of the media is not there; mount its disk, or correct root"
    ):
        export(mill, declared)
    elsewhere.mkdir()
    with pytest.raises(DataError, match=r"'one.png' is not in .*disk\): bring the files, then run again"):
        export(mill, declared)
    (elsewhere / "one.png").write_bytes(b"one")
    assert export(mill, declared).totals["rows"] == 1
    assert [*audit_ledger(mill.store, HERE.ledger, mill.said.append)] == []
    elsewhere.rename(tmp_path / "gone")
    [found] = audit_ledger(mill.store, HERE.ledger, mill.said.append)
    assert "it cannot be made again to compare it: " in str(found)
    assert "mount its disk" in str(found)
    assert found.mend == "mend that, then verify again; remove nothing of the part"


@pytest.mark.parametrize("name", ["x" * 252 + ".png", "a/" * 511 + "a.png"])
def test_a_name_that_no_file_can_have_names_its_document(tmp_path: Path, name: str) -> None:
    mill = Mill(tmp_path / "lake")
    [row] = make_documents(1)
    row["metadata"] = {"image": name}
    mill.raw("a.jsonl.gz", [row])
    mixed(mill)
    (tmp_path / "disk").mkdir()
    with pytest.raises(DataError, match=rf"row 0, document '{row['id']}'.*, but the name is too long for a file"):
        export(mill, EnergonWebdataset(parts={}, files={"png": "metadata.image"}, root=str(tmp_path / "disk")))
    with pytest.raises(DataError, match=rf"row 0, document '{row['id']}'.*, but the name is too long for a file"):
        export(mill, EnergonJsonl(media=("metadata.image",), root=str(tmp_path / "disk")))


def test_a_document_gets_the_media_of_the_tar_that_its_id_tells(tmp_path: Path) -> None:
    dataset(tmp_path / "media/tars")
    for root in ("media/tars", str(tmp_path / "media/tars"), str(tmp_path / "media/tars/")):
        source = opened(tmp_path, root)
        own = (
            "s/1.tar/a/one",
            "1.tar/a/one",
            "s/1.tgz/a/one",
            "s/1.TAR.ZST/a/one",
            "a/one",
            "",
            "2.tar/a/on",
            "2/a/one",
        )
        assert [source.read("a/one.png", document) for document in own] == [b"one"] * len(own)
        assert all(source.has_file("a/one.png", document) for document in own)
        others = ("2.tar/a/one", "t/1.tar/a/one", "11.tar/a/one", "2.tgz/a/one")
        assert [source.read("a/one.png", document) for document in others] == [None] * len(others)
        assert not any(source.has_file("a/one.png", document) for document in others)
    said = (
        "'two.png' is not in media/tars, but media/tars/s/1.tar has a file of this name, and the document is of 2.tar:"
        " prepare the dataset again with this tar, and with keys that occur in one tar only"
    )
    assert missing_media(opened(tmp_path, "media/tars"), "two.png", "2.tar/two").about == said


def test_a_document_of_another_tar_blocks_the_slice(tmp_path: Path) -> None:
    mill = Mill(tmp_path / "lake")
    documents = make_documents(2)
    for row, tar in zip(documents, ("s/1.tar", "s/2.tar"), strict=True):
        row |= {"id": f"{tar}/two", "metadata": {"image": ["two.png"]}}
    mill.raw("a.jsonl.gz", documents)
    dataset(tmp_path / "lake/media/tars")
    mixed(mill)
    said = r"row 1, document 's/2.tar/two' of .*: 'two.png' is not in media/tars, but media/tars/s/1.tar has a file of"
    for declared in (
        EnergonJsonl(media=("metadata.image",), root="media/tars"),
        EnergonWebdataset(files={"png": "metadata.image"}, root="media/tars"),
    ):
        with pytest.raises(DataError, match=said):
            export(mill, declared)


def test_a_tar_that_came_after_its_folder_was_prepared_blocks_every_slice(tmp_path: Path) -> None:
    mill = Mill(tmp_path / "lake")
    [row] = make_documents(1)
    row["metadata"] = {"image": "two.png"}
    mill.raw("a.jsonl.gz", [row])
    tars = tmp_path / "lake/media/tars"
    dataset(tars)
    mixed(mill)
    for name in (".hidden.tar", "s/1.tar.idx", "s/2.tar.gz", "readme.txt"):
        (tars / name).write_bytes(b"no shard")
    declared = EnergonWebdataset(files={"png": "metadata.image"}, root="media/tars")
    for root in ("", "media", "media/tars/", str(tars)):
        check_prepared(mill.store, root)
    assert export(mill, declared).totals["rows"] == 1
    (tars / "s/0.tar").write_bytes((tars / "0.tar").read_bytes())
    said = (
        "media/tars: media/tars/s/0.tar came after the dataset was prepared, so the index has none of its samples."
        " Prepare the dataset again (`gristmill energon prepare --force-overwrite`), or put such tars elsewhere"
    )
    with pytest.raises(DataError) as raised:
        check_prepared(mill.store, "media/tars")
    assert str(raised.value) == said
    assert export(mill, declared).totals["rows"] == 1  # nothing is due
    assert [*audit_ledger(mill.store, HERE.ledger, mill.said.append)] == []
    mill.raw("b.jsonl.gz", make_documents(2)[1:])
    with pytest.raises(DataError, match=r"^media/tars: media/tars/s/0.tar came after the dataset was prepared"):
        export(mixed(mill), declared)
    (tars / "9.tar").write_bytes(b"")
    with pytest.raises(DataError, match=rf"^{tars}: 9.tar, and 1 more came after the dataset was prepared"):
        check_prepared(mill.store, str(tars))
