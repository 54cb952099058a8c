"""Cuts in raw objects: against plain lists of lines, in every packing, and refused where other rows would change."""

import bz2
import gzip
import hashlib
import lzma
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from testkit import Mill

from gristmill.errors import DataError, StoreError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.shard_file import unpacked_whole
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.json_array import JsonArray
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.source import Source
from gristmill.takedowns.erasing.erasure_plan import ObjectPlan
from gristmill.takedowns.erasing.rewritten_object import rewrite_object
from gristmill.takedowns.wanted import Wanted

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
PATH = "sources/pages/raw/2024/a.jsonl"


def silent(_: str) -> None:
    """Nobody is told what comes."""


def row(name: str) -> bytes:
    return b'{"id":"%s","text":"t","source":"pages"}' % name.encode()


def spans(lines: list[bytes], end: bytes) -> list[tuple[int, int]]:
    """[start, end) of each line in their bytes."""
    found, at = [], 0
    for line in lines:
        found.append((at, at + len(line)))
        at += len(line) + len(end)
    return found


@pytest.fixture
def pages(lake: FolderStore) -> Source:
    del lake
    return Mill.source(None, "pages")  # type: ignore[arg-type]


def plan_of(store: FolderStore, source: Source, packing: str, data: bytes, cuts: set[tuple[int, int]]) -> ObjectPlan:
    packed = PACK[packing](data)
    store.put(PATH + packing, packed)
    return ObjectPlan(
        source, "2024", PATH + packing, f"a.jsonl{packing}", hashlib.sha256(packed).hexdigest(), cuts, set()
    )


@pytest.mark.parametrize("packing", PACK)
def test_an_object_is_replaced_in_its_packing(lake: FolderStore, pages: Source, packing: str) -> None:
    lines = [row(f"d{number}") for number in range(9)]
    places = spans(lines, b"\n")
    plan = plan_of(lake, pages, packing, b"\n".join([*lines, b""]), {places[0], places[4], places[8]})
    made = rewrite_object(lake, plan, Wanted({("pages", f"d{number}"): "" for number in (0, 4, 8)}), silent)
    left = [line for number, line in enumerate(lines) if number not in {0, 4, 8}]
    assert unpacked_whole(lake.read(plan.path), plan.path) == b"\n".join([*left, b""])
    assert (made.before, made.records) == (plan.sha256, 3)
    assert made.after == hashlib.sha256(lake.read(plan.path)).hexdigest()


@pytest.mark.parametrize("packing", [packing for packing in PACK if packing])
def test_what_is_packed_apart_from_the_records_keeps_its_bytes(lake: FolderStore, pages: Source, packing: str) -> None:
    lines = [row(f"d{number}") + b"\n" for number in range(3)]
    packed = [PACK[packing](line) for line in lines]
    cut = (len(lines[0]), len(lines[0]) + len(lines[1]) - 1)
    plan = plan_of(lake, pages, packing, b"", {cut})._replace(sha256=hashlib.sha256(b"".join(packed)).hexdigest())
    lake.put(plan.path, b"".join(packed))
    rewrite_object(lake, plan, Wanted({("pages", "d1"): ""}), silent)
    assert lake.read(plan.path) == packed[0] + packed[2]


def test_an_object_with_nothing_else_is_removed(lake: FolderStore, pages: Source) -> None:
    plan = plan_of(lake, pages, "", row("d0") + b"\n", {(0, len(row("d0")))})
    assert rewrite_object(lake, plan, Wanted({("pages", "d0"): ""}), silent).after == ""
    assert lake.head(plan.path) is None


def test_an_object_of_another_document_is_not_removed(lake: FolderStore, pages: Source) -> None:
    plan = plan_of(lake, pages, "", row("d0") + b"\n", {(0, len(row("d0")))})
    with pytest.raises(DataError, match="it would be removed, but records of other documents are in it"):
        rewrite_object(lake, plan, Wanted({("pages", "d7"): ""}), silent)
    assert lake.read(plan.path) == row("d0") + b"\n"


def test_cuts_that_hit_other_rows_are_refused(lake: FolderStore, pages: Source) -> None:
    lines = [row("d0"), row("d1"), row("d2")]
    plan = plan_of(lake, pages, "", b"\n".join([*lines, b""]), {spans(lines, b"\n")[1]})
    before = lake.read(plan.path)
    with pytest.raises(DataError, match="row 0 of the others would be another one"):
        rewrite_object(lake, plan, Wanted({("pages", "d0"): ""}), silent)
    assert lake.read(plan.path) == before


def by_number(raw: RawObject) -> Iterator[Document]:
    """The documents of an object, with the number of their line as their id."""
    for number, line in enumerate(raw.read().split(b"\n")):
        if line:
            yield Document(id=str(number), text=line.decode(), source="pages")


def test_ids_that_depend_on_their_place_are_refused(lake: FolderStore, pages: Source) -> None:
    numbered = replace(pages, convert=by_number)
    plan = plan_of(lake, numbered, "", b"one\ntwo\nthree\n", {(4, 7)})
    with pytest.raises(DataError, match="row 1 of the others would be another one: it depends on its place"):
        rewrite_object(lake, plan, Wanted({("pages", "1"): ""}), silent)
    last = plan_of(lake, numbered, "", b"one\ntwo\nthree\n", {(8, 13)})
    assert rewrite_object(lake, last, Wanted({("pages", "2"): ""}), silent).after
    assert lake.read(PATH) == b"one\ntwo\n"


@pytest.mark.parametrize("number", [0, 1])
def test_an_entry_of_an_array_is_refused_and_the_sound_object_is_not_blamed(
    lake: FolderStore, pages: Source, number: int
) -> None:
    """A comma would be left alone: the reader fails at the new object, and not at the one that people have."""
    entries, data = [row("d0"), row("d1")], b"[" + b",".join([row("d0"), row("d1")]) + b"]"
    start = data.index(entries[number])
    arrays = replace(pages, convert=JsonArray(source="pages"))
    plan = plan_of(lake, arrays, "", data, {(start, start + len(entries[number]))})
    words = (
        f"^{PATH}: without these records its reader cannot read it; nothing was changed, rewrite the object by hand$"
    )
    with pytest.raises(DataError, match=words):
        rewrite_object(lake, plan, Wanted({("pages", f"d{number}"): ""}), silent)
    assert lake.read(plan.path) == data


def test_an_object_that_has_changed_since_is_not_cut(lake: FolderStore, pages: Source) -> None:
    plan = plan_of(lake, pages, "", row("d0") + b"\n" + row("d1") + b"\n", {(0, len(row("d0")))})
    lake.put(plan.path, row("x0") + b"\n" + row("d1") + b"\n")
    with pytest.raises(DataError, match="has changed since it was converted"):
        rewrite_object(lake, plan, Wanted({("pages", "d0"): ""}), silent)


@pytest.mark.parametrize("left", ["rows", "nothing"])
@pytest.mark.parametrize("kind", ["link", "hard link"])
def test_a_name_that_comes_while_the_new_object_is_written_keeps_the_old_one(
    lake: FolderStore, pages: Source, tmp_path: Path, kind: str, left: str
) -> None:
    data = row("a") + b"\n" + (row("b") + b"\n" if left == "rows" else b"")
    plan = plan_of(lake, pages, "", data, {(0, len(row("a")))})
    raw, kept = Path(lake.url) / PATH, tmp_path / "kept"

    def others(_: str) -> None:
        if kind == "link":
            raw.rename(kept)
            raw.symlink_to(kept)
        else:
            kept.hardlink_to(raw)

    with pytest.raises(DataError, match="it is a link to" if kind == "link" else "its file has 2 names"):
        rewrite_object(lake, plan, Wanted({("pages", "a"): ""}), others)
    assert raw.read_bytes() == kept.read_bytes() == data


def test_a_private_file_stays_private(lake: FolderStore, pages: Source) -> None:
    plan = plan_of(lake, pages, "", row("a") + b"\n" + row("b") + b"\n", {(0, len(row("a")))})
    raw = Path(lake.url) / PATH
    raw.chmod(0o600)
    owner = 65534 if os.getuid() == 0 else os.getuid()  # nobody, if this user may give files away
    os.chown(raw, owner, -1)
    rewrite_object(lake, plan, Wanted({("pages", "a"): ""}), silent)
    assert (raw.read_bytes(), stat.S_IMODE(raw.stat().st_mode), raw.stat().st_uid) == (row("b") + b"\n", 0o600, owner)


def test_a_file_whose_owner_cannot_be_kept_is_not_cut(
    lake: FolderStore, pages: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = row("a") + b"\n" + row("b") + b"\n"
    plan = plan_of(lake, pages, "", data, {(0, len(row("a")))})

    (Path(lake.url) / PATH).chmod(0o600)

    def refuse(*_: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchmod", refuse)
    with pytest.raises(DataError, match="an owner or rights that this user may not give to a new file"):
        rewrite_object(lake, plan, Wanted({("pages", "a"): ""}), silent)
    assert (Path(lake.url) / PATH).read_bytes() == data
    assert not list(lake.unfinished())


def test_rows_that_are_appended_meanwhile_stay(lake: FolderStore, pages: Source) -> None:
    plan = plan_of(lake, pages, "", row("a") + b"\n" + row("b") + b"\n", {(0, len(row("a")))})
    raw = Path(lake.url) / PATH

    def others(_: str) -> None:
        with raw.open("ab") as file:
            file.write(row("c") + b"\n")

    with pytest.raises(StoreError, match="was replaced meanwhile"):
        rewrite_object(lake, plan, Wanted({("pages", "a"): ""}), others)
    assert raw.read_bytes().count(b"\n") == 3
