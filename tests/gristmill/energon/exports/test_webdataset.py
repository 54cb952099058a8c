import hashlib
import io
import json
import os
import sqlite3
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from energonlake import (
    HERE,
    INDEX,
    close,
    export,
    found,
    meta,
    mix_of,
    mixed,
    named_metadatasets,
    offsets,
    records,
    release_of,
    start,
    why,
)
from testkit import Mill, make_documents

from gristmill.energon.exports import webdataset
from gristmill.energon.formats.sqlite_index import DuplicateKey
from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.errors import DataError, StoreError
from gristmill.maintenance.gc import find_unnamed_parts
from gristmill.maintenance.old_releases import find_old_releases
from gristmill.verification.audit import audit_ledger

TEXT = EnergonWebdataset(
    parts={"txt": "text", "json": "metadata?"}, sample_type="TextSample", field_map={"text": "txt"}
)


def members(data: bytes) -> dict[str, bytes]:
    """The files of a tar, which Python's own reader finds."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def table(mill: Mill, folder: Path, query: str) -> list[tuple[object, ...]]:
    path = folder / "copy.sqlite"
    path.write_bytes(meta(mill, "index.sqlite"))
    return list(sqlite3.connect(path).execute(query))


def tars(mill: Mill) -> dict[str, bytes]:
    """The tars, by their names in `.info.json`."""
    folder = release_of(mill).folder + "/"
    counts = json.loads(meta(mill, ".info.json"))["shard_counts"]
    return {name: mill.store.read(str(Path("/", folder, name).resolve())[1:]) for name in counts}


def test_a_document_is_a_sample_and_the_release_is_a_dataset(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    export(mill, TEXT)
    close(mill, TEXT)
    record = records(mill)["b"]
    data = mill.store.read(record.folder + "train-00000.tar")
    digest = record.folder.rstrip("/").rpartition("-")[2]
    assert members(data) == {
        f"{digest}-{number:06d}.{part}": content
        for number, row in enumerate(make_documents(10, start=10))
        for part, content in (("txt", row["text"].encode()), ("json", json.dumps(row["metadata"]).encode()))
    }
    ends = offsets(mill.store.read(record.folder + "train-00000.tar.idx"))
    assert (ends, len(data)) == ([2048 * number for number in range(11)], 2048 * 10 + 1024)
    assert yaml.safe_load(meta(mill, "dataset.yaml")) == {
        "sample_type": {"__module__": "megatron.energon", "__class__": "TextSample"},
        "field_map": {"text": "txt"},
    }
    shards = [
        f"../../{part.folder.removeprefix('exports/blend/energon/')}train-00000.tar" for part in records(mill).values()
    ]
    assert json.loads(meta(mill, ".info.json"))["shard_counts"] == dict.fromkeys(shards, 10)
    assert yaml.safe_load(meta(mill, "split.yaml"))["split_parts"] == {"train": shards, "val": [], "test": []}
    assert table(mill, tmp_path, "SELECT COUNT(*), MAX(tar_file_id) FROM samples") == [(20, 1)]
    [(shard, start_, size, at, long)] = table(
        mill,
        tmp_path,
        "SELECT s.tar_file_id, byte_offset, byte_size, content_byte_offset, content_byte_size FROM samples s JOIN"
        f" sample_parts p USING (tar_file_id, sample_index) WHERE part_name = 'txt' AND sample_key = '{digest}-000003'",
    )
    tar = tars(mill)[shards[int(str(shard))]]
    assert (start_, size) == (6144, 2048)
    assert tar[int(str(at)) : int(str(at)) + int(str(long))].decode() == make_documents(1, start=13)[0]["text"]
    assert len(meta(mill, "index.uuid")) == 36
    assert why(mill, TEXT) == ()
    assert found(mill, HERE.ledger) == found(mill, f"{INDEX}/ledger.json") == []


def test_tars_are_cut_by_samples_and_by_bytes(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake", shards=1, rows=7)
    export(mill, EnergonWebdataset(shard_samples=3))
    [record] = records(mill).values()
    names = [name for name in record.files if name.endswith(".tar")]
    assert [record.files[name].facts.rows for name in names] == [3, 3, 1]
    assert record.line(5) == ("train-00001.tar", 2)
    other = start(tmp_path / "other", shards=1, rows=7)
    export(other, EnergonWebdataset(shard_bytes=1))
    [record] = records(other).values()
    assert [file.facts.rows for name, file in record.files.items() if name.endswith(".tar")] == [1] * 7


def test_without_random_access_there_is_no_index_of_samples(tmp_path: Path) -> None:
    mill, declared = start(tmp_path / "lake"), EnergonWebdataset(random_access=False)
    export(mill, declared)
    close(mill, declared)
    folder = f"{release_of(mill).folder}.nv-meta/"
    names = sorted(entry.path.removeprefix(folder) for entry in mill.store.list(folder))
    assert names == [".info.json", "dataset.yaml", "split.yaml"]
    assert found(mill, f"{INDEX}/ledger.json") == []


def test_documents_that_the_mix_holds_out_are_in_tars_of_their_own(tmp_path: Path) -> None:
    mill, mix = start(tmp_path / "lake"), mix_of(validation=0.4)
    export(mill, TEXT, mix)
    close(mill, TEXT, mix)
    parts = yaml.safe_load(meta(mill, "split.yaml"))["split_parts"]
    assert {name: [shard.rpartition("/")[2] for shard in shards] for name, shards in parts.items()} == {
        "train": ["train-00000.tar"] * 2,
        "val": ["val-00000.tar"] * 2,
        "test": [],
    }
    splits = yaml.safe_load(mill.store.read(f"{INDEX}/metadataset.yaml"))["splits"]
    assert [(name, each["split_part"]) for name, split in splits.items() for each in split["blend"]] == [
        ("train", "train"),
        ("val", "val"),
    ]


def test_tars_are_divided_by_ratio_and_none_is_lost(tmp_path: Path) -> None:
    mill, declared = start(tmp_path / "lake", shards=4), EnergonWebdataset(split_ratios={"train": 3, "val": 1})
    export(mill, declared)
    close(mill, declared)
    parts = yaml.safe_load(meta(mill, "split.yaml"))["split_parts"]
    assert {name: len(shards) for name, shards in parts.items()} == {"train": 3, "val": 1, "test": 0}
    assert found(mill, f"{INDEX}/ledger.json") == []
    with pytest.raises(DataError, match=r"^of 4 tars, no one is in these splits: val; give other split_ratios"):
        close(mill, EnergonWebdataset(split_ratios={"train": 8, "test": 0.1, "val": 1}))
    with pytest.raises(
        DataError, match=r"4 of 4 tars are in no split, such as .*train-00000.tar; and of 4 tars, no one is .*: val; "
    ):
        close(mill, EnergonWebdataset(split_patterns={"val": "tales/"}))


def test_a_key_that_two_documents_have_is_refused_with_both_places(tmp_path: Path) -> None:
    mill = Mill(tmp_path / "lake")
    rows = make_documents(2)
    for row in rows:
        row["metadata"] = {"name": "same"}
    mill.raw("a.jsonl.gz", rows)
    mixed(mill)
    declared = EnergonWebdataset(key="metadata.name")
    with pytest.raises(
        DataError, match=rf"/a.jsonl.gz: row 1, document '{rows[1]['id']}' of .*'same' comes twice .* other than"
    ):
        export(mill, declared)
    other = Mill(tmp_path / "other")
    other.raw("a.jsonl.gz", rows[:1])
    other.raw("b.jsonl.gz", rows[1:])
    mixed(other)
    export(other, declared)
    with pytest.raises(DuplicateKey, match=r"sample key 'same' comes twice: as sample 0 of .* and as sample 0 of"):
        close(other, declared)


def test_a_whole_number_names_a_sample_and_other_values_do_not(tmp_path: Path) -> None:
    mill = Mill(tmp_path / "lake")
    rows = make_documents(6)
    for row, number in zip(rows, (0, 391895, 1.5, -3, True, ""), strict=True):
        row["metadata"] = {"number": number}
    mill.raw("a.jsonl.gz", rows)
    mixed(mill)
    head = export(mill, EnergonWebdataset(parts={"txt": "text"}, key="metadata.number"))
    assert head.dropped == {"its key is neither a string nor a whole number that can name a sample": 4}
    [record] = records(mill).values()
    assert [*members(mill.store.read(record.folder + "train-00000.tar"))] == ["0.txt", "391895.txt"]


def test_media_files_are_parts_and_a_missing_one_blocks_the_slice(tmp_path: Path) -> None:
    mill = Mill(tmp_path / "lake")
    one, several, bare = make_documents(3)
    one["metadata"], several["metadata"] = {"image": "a/one.jpg"}, {"image": ["a/one.jpg", "two.jpg"]}
    mill.raw("a.jsonl.gz", [one, several, bare])
    mill.store.put("media/a/one.jpg", b"one")
    mixed(mill)
    declared = EnergonWebdataset(parts={"txt": "text"}, files={"jpg": "metadata.image"}, root="media", key="id")
    with pytest.raises(DataError, match=r"/a.jsonl.gz: 1 documents name media files that are missing \(row 1, "):
        export(mill, declared)
    with pytest.raises(DataError, match="1 documents name media files that are missing"):
        export(mill, EnergonJsonl(media=("metadata.image",), root="media"))
    mill.store.put("media/two.jpg", b"two")
    head = export(mill, declared)
    assert head.dropped == {"it has no metadata.image": 1}
    [record] = records(mill).values()
    there = members(mill.store.read(record.folder + "train-00000.tar"))
    assert there == {
        f"{one['id']}.txt": one["text"].encode(),
        f"{one['id']}.jpg": b"one",
        f"{several['id']}.txt": several["text"].encode(),
        f"{several['id']}.0.jpg": b"one",
        f"{several['id']}.1.jpg": b"two",
    }
    assert found(mill, HERE.ledger) == []


@pytest.mark.parametrize("name", ["../secret.jpg", "/secret.jpg", "a/../../secret.jpg"])
def test_a_document_reads_no_file_outside_of_the_folder_of_the_media(tmp_path: Path, name: str) -> None:
    mill = Mill(tmp_path / "lake")
    good, bad = make_documents(2)
    good["metadata"], bad["metadata"] = {"image": "one.jpg"}, {"image": name}
    mill.raw("a.jsonl.gz", [good, bad])
    mill.store.put("media/one.jpg", b"one")
    mill.store.put("secret.jpg", b"secret")
    mixed(mill)
    head = export(mill, EnergonWebdataset(files={"jpg": "metadata.image"}, root="media"))
    assert (head.totals["rows"], [reason[:25] for reason in head.dropped]) == (1, ["a media name is absolute, "[:25]])


def test_files_give_samples_their_names_for_an_auxiliary_source(tmp_path: Path) -> None:
    mill = Mill(tmp_path / "lake")
    [row] = make_documents(1)
    row["metadata"] = {"image": "photos/tom.png"}
    mill.raw("a.jsonl.gz", [row])
    mill.store.put("media/photos/tom.png", b"tom")
    mixed(mill)
    export(mill, EnergonWebdataset(parts={}, files={"png": "metadata.image"}, root="media", key="metadata.image"))
    [record] = records(mill).values()
    assert members(mill.store.read(record.folder + "train-00000.tar")) == {"photos/tom.png": b"tom"}


def test_the_endings_of_files_of_several_formats_name_the_parts(tmp_path: Path) -> None:
    mill = Mill(tmp_path / "lake")
    names = [["a/tom.png"], ["b c/tim.JPG"], ["x.gif", "y.webp"], ["note.txt"], ["v.1/plain"]]
    documents = make_documents(5)
    for row, several in zip(documents, names, strict=True):
        row["metadata"] = {"image": several if len(several) > 1 else several[0]}
        for each in several:
            mill.store.put(f"media/{each}", each.encode())
    mill.raw("a.jsonl.gz", documents)
    mixed(mill)
    declared = EnergonWebdataset(
        parts={"txt": "text"},
        files={"*": "metadata.image"},
        root="media",
        key="id",
        sample_type="CaptioningSample",
        field_map={"image": "png,JPG", "caption": "txt"},
    )
    head = export(mill, declared)
    assert head.dropped == {
        "the ending of its media file is the name of another part": 1,
        "its media file has a name without an ending": 1,
    }
    close(mill, declared)
    [record] = records(mill).values()
    there = members(mill.store.read(record.folder + "train-00000.tar"))
    one, two, three, _, _ = [row["id"] for row in documents]
    media = {name: data.decode() for name, data in there.items() if not name.endswith(".txt")}
    assert media == {
        f"{one}.png": "a/tom.png",
        f"{two}.JPG": "b c/tim.JPG",
        f"{three}.0.gif": "x.gif",
        f"{three}.1.webp": "y.webp",
    }
    assert table(mill, tmp_path, "SELECT part_name FROM sample_parts WHERE part_name != 'txt'") == [
        (name,) for name in ("png", "JPG", "0.gif", "1.webp")
    ]
    assert found(mill, HERE.ledger) == found(mill, f"{INDEX}/ledger.json") == []


def test_files_whose_ending_the_loader_fails_at_or_unpickles_are_refused(tmp_path: Path) -> None:
    """The first dot of the file's name counts, and no dot of a folder. Energon's loader raises at a part `__key__`."""
    mill = Mill(tmp_path / "lake")
    names = ["v.1/tim.v2.jpg", "a/x.JPG", "a/füß.фото", "a/x.__key__", "a/x.pkl", "a/x.v2.PYD", "v.1/plain"]
    documents = make_documents(len(names))
    for row, name in zip(documents, names, strict=True):
        row["metadata"] = {"image": name}
        mill.store.put(f"media/{name}", b"")
    mill.raw("a.jsonl.gz", documents)
    mixed(mill)
    head = export(mill, EnergonWebdataset(parts={}, files={"*": "metadata.image"}, root="media", key="id"))
    assert head.dropped == {
        "the ending of its media file is a name that the loader gives a sample itself": 1,
        "its media file has an ending that the loader unpickles, which runs what the file says": 2,
        "its media file has a name without an ending": 1,
    }
    [record] = records(mill).values()
    ids = [row["id"] for row in documents]
    there = members(mill.store.read(record.folder + "train-00000.tar"))
    assert list(there) == [f"{ids[0]}.v2.jpg", f"{ids[1]}.JPG", f"{ids[2]}.фото"]


def test_an_auxiliary_source_may_have_files_of_several_formats(tmp_path: Path) -> None:
    mill = Mill(tmp_path / "lake")
    documents = make_documents(2)
    for row, name in zip(documents, ("a/tom.png", "a/tim.v2.jpg"), strict=True):
        row["metadata"] = {"image": name}
        mill.store.put(f"media/{name}", name.encode())
    mill.raw("a.jsonl.gz", documents)
    mixed(mill)
    export(mill, EnergonWebdataset(parts={}, files={"*": "metadata.image"}, root="media", key="metadata.image"))
    [record] = records(mill).values()
    there = members(mill.store.read(record.folder + "train-00000.tar"))
    assert there == {"a/tom.png": b"a/tom.png", "a/tim.v2.jpg": b"a/tim.v2.jpg"}


def test_a_changed_shard_makes_one_part_and_another_release(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    export(mill, TEXT)
    close(mill, TEXT)
    first, before = release_of(mill), tars(mill)
    old = {entry.path: entry.etag for entry in mill.store.list(first.folder)}
    mill.raw("b.jsonl.gz", make_documents(9, start=10))
    mixed(mill)
    export(mill, TEXT)
    assert mill.ground == ["b"]
    close(mill, TEXT)
    second = release_of(mill)
    assert second.folder != first.folder
    assert {entry.path: entry.etag for entry in mill.store.list(first.folder)} == old
    assert len(before.keys() & tars(mill).keys()) == 1
    assert found(mill, f"{INDEX}/ledger.json") == []


def test_a_changed_file_of_the_dataset_is_found(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    export(mill, TEXT)
    close(mill, TEXT)
    path = f"{release_of(mill).folder}.nv-meta/split.yaml"
    mill.store.put(path, mill.store.read(path) + b"# mine\n")
    assert any(path in each for each in found(mill, f"{INDEX}/ledger.json"))
    with pytest.raises(
        DataError, match=r"split.yaml: it was edited, or is damaged; write what you want into the recipe"
    ):
        close(mill, TEXT)
    assert mill.store.head(f"{INDEX}/writing.json") is None  # nothing is being written any more
    assert mill.store.read(path).endswith(b"# mine\n")
    mill.store.delete([path])
    close(mill, TEXT)
    assert found(mill, f"{INDEX}/ledger.json") == []


@pytest.mark.parametrize("name", [".info.json", "dataset.yaml"])
def test_a_file_of_the_dataset_that_a_release_names_is_not_replaced_by_that_of_a_newer_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    mill = start(tmp_path / "lake")
    export(mill, TEXT)
    close(mill, TEXT)
    path, data = f"{release_of(mill).folder}.nv-meta/{name}", meta(mill, name)
    pinned = {path: (hashlib.sha256(data).hexdigest(), len(data))}
    mill.store.put("releases/first.json", json.dumps({"objects": pinned}).encode())
    maker = "info_bytes" if name == ".info.json" else "typed_dataset"
    monkeypatch.setattr(webdataset, maker, lambda *_, **__: b"{}\n")
    with pytest.raises(DataError, match=rf"{name}: release first names it with other bytes .* withdraw the release"):
        close(mill, TEXT)
    assert meta(mill, name) == data


def test_one_collection_removes_an_old_release_and_the_parts_that_it_alone_names(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    export(mill, TEXT)
    close(mill, TEXT)
    old, first, [entry] = records(mill), release_of(mill), named_metadatasets(mill)
    assert mill.store.read(entry) == mill.store.read(f"{INDEX}/metadataset.yaml")
    mill.raw("b.jsonl.gz", make_documents(9, start=10))
    mixed(mill)
    export(mill, TEXT)
    close(mill, TEXT)
    assert [str(each) for each in audit_ledger(mill.store, f"{INDEX}/ledger.json", mill.said.append)] == []
    named, release = find_old_releases(mill.store, mill.said.append)
    assert (named.folder, release.folder) == (entry, first.folder)
    assert find_unnamed_parts(mill.store, mill.said.append) == []
    assert [part.folder for part in find_unnamed_parts(mill.store, mill.said.append, [release.folder])] == [
        old["b"].folder
    ]


def test_an_older_metadataset_that_was_edited_is_found_by_its_name(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    export(mill, TEXT)
    close(mill, TEXT)
    older = f"{INDEX}/metadataset-{hashlib.sha256(b'older').hexdigest()[:16]}.yaml"
    mill.store.put(older, b"older")
    assert found(mill, f"{INDEX}/ledger.json") == []
    mill.store.put(older, b"edited")
    [finding] = found(mill, f"{INDEX}/ledger.json")
    assert finding.startswith(f"{older}: its content has another digest than its name")


def test_equal_lakes_have_equal_bytes(tmp_path: Path) -> None:
    trees = []
    for name in ("one", "other"):
        mill = start(tmp_path / name)
        export(mill, TEXT)
        close(mill, TEXT)
        trees.append(mill.tree())
    assert trees[0] == trees[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted, which takes root")
def test_a_full_folder_of_temporary_files_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mill = start(tmp_path / "lake", rows=200)
    export(mill, TEXT)
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16384", "tmpfs", str(disk)], check=True)
    try:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        with pytest.raises(
            StoreError, match=r"index.sqlite: its file in .* cannot be written .*free some space and run"
        ):
            close(mill, TEXT)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert why(mill, TEXT) != ()
    monkeypatch.undo()
    close(mill, TEXT)
    assert found(mill, f"{INDEX}/ledger.json") == []
