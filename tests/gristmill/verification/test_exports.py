"""What `verify` finds of exports, even if every ledger tells the same lie."""

import gzip
import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import energonlake
import msgspec
import pytest
import xxhash
from exported import HERE, INDEX, close, export, mix_of, records, release_of, start
from testkit import Mill
from wholelake import reseal_shard

from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import IndexLedger, compose_index, content_digest, read_index_ledger
from gristmill.lake.rows.shard_file import gzip_bytes
from gristmill.recipes.export_formats.codec import Cut
from gristmill.stages.export.part import ExportedPart, PartFile, unpacked_content_digest
from gristmill.verification.audit import audit_ledger

LEDGER = f"{INDEX}/ledger.json"


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    """A mix that holds documents out, its export and its index."""
    made = start(tmp_path / "lake")
    export(made, mix_of(validation=0.4))
    close(made, mix_of(validation=0.4))
    return made


def found(mill: Mill, path: str = HERE.ledger) -> list[str]:
    return [str(finding) for finding in audit_ledger(mill.store, path, mill.said.append)]


def test_what_was_made_is_proven(mill: Mill) -> None:
    assert found(mill) == found(mill, LEDGER) == []


def lie(mill: Mill, old: bytes, new: bytes, **facts: object) -> str:
    """Changes the lines of a file, its record, and the ledger with them; its path. `facts` is told of the file."""
    record = records(mill)["a"]
    name = "train/en.jsonl.gz"
    path = record.folder + name
    plain = gzip.decompress(mill.store.read(path))
    assert old in plain
    data = gzip_bytes(plain.replace(old, new, 1))
    mill.store.put(path, data)
    objects = {**record.objects, path: (hashlib.sha256(data).hexdigest(), len(data))}
    file = record.files[name]
    lines = gzip.decompress(data)
    given = {"content": xxhash.xxh3_128_hexdigest(lines), "length": len(lines), **facts}
    files = {**record.files, name: PartFile(msgspec.structs.replace(file.facts, **given), file.documents)}
    told = ExportedPart(objects, record.folder, files, record.documents)
    reseal_shard(
        mill,
        HERE,
        "a",
        extra=told.as_extra(),
        sha256=told.sha256,
        content=unpacked_content_digest(files),
        bytes=sum(size for _, size in objects.values()),
        length=sum(each.facts.length for each in files.values()),
    )
    return path


def test_the_folder_of_a_part_has_the_digest_of_what_the_part_is_made_from(mill: Mill) -> None:
    record = records(mill)["a"]
    other = f"{record.folder[:-2]}{'0' if record.folder[-2] != '0' else '1'}/"
    moved = {path.replace(record.folder, other): told for path, told in record.objects.items()}
    for path in record.objects:
        mill.store.put(path.replace(record.folder, other), mill.store.read(path))
    mill.store.delete(list(record.objects))
    told = ExportedPart(moved, other, record.files, record.documents)
    reseal_shard(mill, HERE, "a", extra=told.as_extra(), sha256=told.sha256)
    (finding,) = found(mill)
    assert f"part a: its folder is {record.folder}, but its ledger says {other}" in finding


def test_lines_that_are_not_those_of_the_documents_are_found(mill: Mill) -> None:
    path = lie(mill, b'"content":"word', b'"content":"lord')
    assert any(f"{path}: its lines are not those that its format makes" in each for each in found(mill))


def test_lines_of_a_file_whose_digest_of_before_is_told_are_found(mill: Mill) -> None:
    before = records(mill)["a"].files["train/en.jsonl.gz"].facts
    path = lie(mill, b'"content":"word', b'"content":"lord', content=before.content, length=before.length)
    assert any(f"{path}: its lines have other bytes than its record names" in each for each in found(mill))


@pytest.mark.parametrize("cut", [Cut(1, 0, 0), Cut(0, 1, 0), Cut(0, 0, 1)])
def test_places_where_a_file_may_be_cut_are_those_of_its_pieces(mill: Mill, cut: Cut) -> None:
    path = lie(mill, b"word", b"word", members=(cut,))
    assert any(f"{path}: the places where it may be cut are not" in each for each in found(mill))


def test_a_changed_count_is_found(mill: Mill) -> None:
    reseal_shard(mill, HERE, "a", counts={"rows not from OSCAR": 9})
    assert any("part a: its counts are" in each for each in found(mill))


def told(mill: Mill, **files: bytes) -> Iterator[str]:
    """Writes files of the index, and a ledger that agrees with them."""
    ledger = read_index_ledger(mill.store, LEDGER)
    assert isinstance(ledger, IndexLedger)
    digests = dict(ledger.files)
    for path, data in files.items():
        mill.store.put(path, data)
        digests[path] = content_digest(data, path, mill.store.url)
    mill.store.put(LEDGER, as_json(compose_index(INDEX, ledger.inputs, digests)))
    yield from found(mill, LEDGER)


def test_a_file_of_the_release_that_is_not_that_of_the_parts_is_found(mill: Mill) -> None:
    folder = release_of(mill).folder
    path = f"{folder}train/en/en.jsonl.gz"
    mine = bytearray(mill.store.read(path))
    mine[4] ^= 1  # the time in gzip's header
    assert any(f"{path}: its bytes are not those of the parts" in each for each in told(mill, **{path: bytes(mine)}))


def test_checksums_that_are_not_those_of_the_files_are_found(mill: Mill) -> None:
    path = f"{release_of(mill).folder}train/en/en_sha256.txt"
    wrong = mill.store.read(path).replace(b"  ", b" ")
    assert any(f"{path}: it does not follow from the files" in each for each in told(mill, **{path: wrong}))


def test_a_release_that_does_not_follow_from_the_slices_is_found(mill: Mill) -> None:
    path = f"{INDEX}/release.json"
    release = release_of(mill)
    wrong = as_json(msgspec.structs.replace(release, files=release.files[1:]))
    assert any(f"{path}: it does not follow from the parts" in each for each in told(mill, **{path: wrong}))
    wrong = as_json(msgspec.structs.replace(release, format={"type": "energon"}))
    assert any("adds 'energon' to gristmill.exports" in each for each in told(mill, **{path: wrong}))


def test_a_foreign_file_in_the_release_is_found(mill: Mill) -> None:
    path = f"{release_of(mill).folder}train/en/more.jsonl.gz"
    mill.store.put(path, b"")
    assert any(f"{path}: no ledger names this object" in each for each in found(mill, LEDGER))


@pytest.fixture
def tars(tmp_path: Path) -> Mill:
    """An export to tars of a mix, and its index."""
    declared = EnergonWebdataset(parts={"txt": "text"})
    made = energonlake.start(tmp_path / "lake")
    energonlake.export(made, declared)
    energonlake.close(made, declared)
    return made


def other_sqlite(tars: Mill, folder: Path, change: str = "") -> list[str]:
    """The findings after the index of samples was written in other bytes, and perhaps changed, and its ledger too."""
    copy = copied_sqlite(tars, folder)
    with closing(sqlite3.connect(copy, isolation_level=None)) as db:
        db.execute("PRAGMA page_size = 512")
        db.execute(change or "SELECT 1")
        db.execute("VACUUM")
    return sealed_sqlite(tars, copy)


def copied_sqlite(tars: Mill, folder: Path) -> Path:
    copy = folder / "copy.sqlite"
    copy.write_bytes(tars.store.read(f"{energonlake.release_of(tars).folder}.nv-meta/index.sqlite"))
    return copy


def sealed_sqlite(tars: Mill, copy: Path) -> list[str]:
    """The findings after the index of samples was replaced, and the ledger was made to fit."""
    path = f"{energonlake.release_of(tars).folder}.nv-meta/index.sqlite"
    ledger = f"{energonlake.INDEX}/ledger.json"
    assert copy.read_bytes() != tars.store.read(path)
    tars.store.put(path, copy.read_bytes())
    known = read_index_ledger(tars.store, ledger)
    assert isinstance(known, IndexLedger)
    digests = {**known.files, path: content_digest(copy.read_bytes(), path, tars.store.url)}
    tars.store.put(ledger, as_json(compose_index(known.asset, known.inputs, digests)))
    return found(tars, ledger)


def test_an_index_of_samples_is_compared_by_its_rows(tars: Mill, tmp_path: Path) -> None:
    assert other_sqlite(tars, tmp_path) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE samples SET byte_offset = 1 WHERE sample_index = 9 AND tar_file_id = 1",
        "DELETE FROM sample_parts WHERE sample_index = 3",
        "DROP INDEX idx_samples_by_tar_and_idx",
    ],
)
def test_an_index_of_samples_with_other_rows_is_found(tars: Mill, tmp_path: Path, change: str) -> None:
    [finding] = other_sqlite(tars, tmp_path, change)
    assert "index.sqlite: it does not say what the parts say" in finding


def test_an_index_of_samples_whose_look_ups_find_other_rows_is_found(tars: Mill, tmp_path: Path) -> None:
    copy = copied_sqlite(tars, tmp_path)
    index = "idx_sample_parts_full"
    with closing(sqlite3.connect(copy, isolation_level=None)) as db:
        db.execute("UPDATE sample_parts SET part_name = part_name || 1")
        declared = db.execute("SELECT * FROM sqlite_master WHERE name = ?", (index,)).fetchone()
        db.execute("PRAGMA writable_schema = 1")
        db.execute("DELETE FROM sqlite_master WHERE name = ?", (index,))
    with closing(sqlite3.connect(copy, isolation_level=None)) as db:  # it no longer knows of the index
        db.execute("UPDATE sample_parts SET part_name = rtrim(part_name, 1)")
        db.execute("PRAGMA writable_schema = 1")
        db.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", declared)
    [finding] = sealed_sqlite(tars, copy)
    assert "index.sqlite: it is no sound database: row 1 missing from index" in finding
