import hashlib

import pytest

from gristmill.errors import Conflict, DataError, NewerSchema
from gristmill.lake.ledger.index_ledger import (
    IndexWriter,
    changed_files,
    content_digest,
    index_differences,
    read_index_ledger,
)
from gristmill.lake.ledger.model import Upstream
from gristmill.lake.store.folder import FolderStore

ASSET = "mixes/blend/index"
LEDGER = f"{ASSET}/ledger.json"
SLICES = (Upstream("mixes/blend/documents/letters", "2024", "ab"),)
ONE, TWO = f"{ASSET}/one.json", f"{ASSET}/two.npy"


def write(lake: FolderStore, one: bytes = b"{}") -> None:
    writer = IndexWriter(lake, ASSET)
    writer.put(ONE, one)
    if lake.head(TWO) is None:
        lake.put(TWO, b"\0\1")
    writer.add(TWO, hashlib.sha256(b"\0\1").hexdigest())
    writer.close(SLICES)


def test_a_digest_does_not_tell_where_the_lake_lies() -> None:
    here, there = (f'{{"a": "{root}/x", "b": "see {root}/x"}}'.encode() for root in ("/here", "/there"))
    assert content_digest(here, "a.json", "/here") != content_digest(there, "a.json", "/there")  # inside of a text
    here, there = (f'{{"a":"{root}/x","b":["{root}/y"]}}'.encode() for root in ("/here", "s3://b/there"))
    assert content_digest(here, "a.yaml", "/here") == content_digest(there, "a.yaml", "s3://b/there")
    assert content_digest(here, "a.yaml", "/her") != content_digest(here, "a.yaml", "/here")
    assert content_digest(here, "a.yaml", "/there") == hashlib.sha256(here).hexdigest()
    assert content_digest(here.replace(b"/here", b"lake"), "a.yaml", "/here") != content_digest(here, "a.yaml", "/here")


def test_what_stands_for_the_root_cannot_stand_in_a_text() -> None:
    with pytest.raises(DataError, match="has a NUL"):
        content_digest(b'{"a":"\0/x"}', "a.json", "/here")
    assert content_digest(b'"\0/', "a.npy", "/here") == hashlib.sha256(b'"\0/').hexdigest()


def test_an_index_is_written_once_and_its_ledger_names_every_file(lake: FolderStore) -> None:
    write(lake)
    before = {entry.path: entry.etag for entry in lake.list("")}
    write(lake)
    assert {entry.path: entry.etag for entry in lake.list("")} == before
    ledger = read_index_ledger(lake, LEDGER)
    assert ledger is not None
    assert (ledger.asset, ledger.inputs, sorted(ledger.files)) == (ASSET, SLICES, [ONE, TWO])
    assert list(changed_files(lake, ledger)) == []


def test_each_file_that_changed_or_is_gone_is_named(lake: FolderStore) -> None:
    write(lake)
    ledger = read_index_ledger(lake, LEDGER)
    assert ledger is not None
    lake.put(ONE, b"[]")
    lake.put(TWO, b"\0\2")
    assert [path for path, _ in changed_files(lake, ledger)] == [ONE, TWO]
    lake.put(ONE, b"{\0}")
    lake.delete([TWO])
    assert list(changed_files(lake, ledger)) == [
        (ONE, "has a NUL"),
        (TWO, "there is no such object, but the ledger of its index names it"),
    ]


def why(lake: FolderStore, *slices: Upstream, **files: bytes | None) -> list[str]:
    return list(index_differences(lake, ASSET, slices or SLICES, files or {ONE: b"{}", TWO: None}))


def test_why_an_index_would_be_written_again(lake: FolderStore) -> None:
    assert why(lake) == ["it has no ledger: an earlier Gristmill made it, or the ledger was lost"]
    write(lake)
    assert why(lake) == []
    assert why(lake, Upstream(SLICES[0].asset, "2024", "cd")) == ["its slices changed"]
    assert why(lake, **{ONE: b"{}"}) == ["it should have other files"]
    assert why(lake, **{ONE: b"[]", TWO: None}) == [f"{ONE} should have another content"]
    lake.delete([TWO])
    assert why(lake) == [f"{TWO}: there is no such object, but the ledger of its index names it"]
    lake.put(LEDGER, lake.read(LEDGER).replace(b'"ab"', b'"cd"'))
    assert why(lake)[:2] == ["its ledger contradicts itself", "its slices changed"]
    lake.put(LEDGER, b"{")
    assert why(lake)[0].startswith(f"{LEDGER}: not the ledger of an index")
    lake.put(LEDGER, b'{"schema":2}')
    with pytest.raises(NewerSchema):
        why(lake)


def test_of_two_writers_at_once_the_one_ends_well_whose_files_are_there(lake: FolderStore) -> None:
    first, second = IndexWriter(lake, ASSET), IndexWriter(lake, ASSET)
    first.put(ONE, b"1")
    second.put(ONE, b"2")
    with pytest.raises(Conflict, match=r"/one.json: another run wrote it meanwhile; run again$"):
        first.close(SLICES)
    assert lake.head(LEDGER) is None
    second.close(SLICES)
    assert sound(lake) == [ONE]


def test_of_two_writers_whose_files_are_mixed_none_ends_well(lake: FolderStore) -> None:
    write(lake, b"0")
    first, second = IndexWriter(lake, ASSET), IndexWriter(lake, ASSET)
    first.put(ONE, b"1")
    second.put(ONE, b"0")
    lake.put(TWO, b"\0\2")
    first.add(TWO, hashlib.sha256(b"\0\2").hexdigest())
    second.add(TWO, hashlib.sha256(b"\0\1").hexdigest())
    lake.put(TWO, b"\0\2")  # the same bytes once more
    for writer, lost in ((first, ONE), (second, TWO)):
        with pytest.raises(Conflict, match=f"^{lost}: another run"):
            writer.close(SLICES)
    write(lake, b"0")
    lake.put(TWO, b"\0\1")
    assert sound(lake) == [ONE, TWO]


def test_two_writers_of_the_same_files_both_end_well(lake: FolderStore) -> None:
    first, second = IndexWriter(lake, ASSET), IndexWriter(lake, ASSET)
    for writer in (first, second):
        lake.put(ONE, b"{}")  # each writes it before the other's is there
        writer.put(ONE, b"{}")
    assert first.close(SLICES) == second.close(SLICES)
    assert sound(lake) == [ONE]


def test_a_writer_writes_nothing_in_its_fence_once_another_has_written_the_ledger(lake: FolderStore) -> None:
    first, second = IndexWriter(lake, ASSET), IndexWriter(lake, ASSET)
    second.put(ONE, b"2")
    second.close(SLICES)
    with pytest.raises(Conflict, match=f"^{LEDGER}: another run"), first.fence_writes():
        lake.put(TWO, b"\0\1")
    assert lake.head(TWO) is None


def sound(lake: FolderStore) -> list[str]:
    """The files that the ledger names, all of which are as it says."""
    ledger = read_index_ledger(lake, LEDGER)
    assert ledger is not None
    assert list(changed_files(lake, ledger)) == []
    return list(ledger.files)


@pytest.mark.parametrize("path", [LEDGER, ONE])
def test_a_writer_overwrites_nothing_of_a_newer_gristmill(lake: FolderStore, path: str) -> None:
    lake.put(path, b'{"schema":2}')
    with pytest.raises(NewerSchema, match="upgrade Gristmill"):
        write(lake)
    assert lake.read(path) == b'{"schema":2}'
