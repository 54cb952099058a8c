"""A blocklist that lost entries is no shorter list: its record knows them, wherever they came from."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from gristmill.errors import DataError, RecipeError
from gristmill.lake.rows.blocklists.blocklist import (
    add_to_blocklist,
    listed_pairs,
    lost_entries,
    read_blocklist,
    take_off_blocklist,
)
from gristmill.lake.rows.blocklists.blocklist_files import record_blocklist_entries, recorded_entries
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Entry

LIST, RECORD = "blocklists/takedowns.jsonl", "withdrawn/blocklists/takedowns.jsonl"
A, B, C = (b'{"source":"s","id":"%s","reason":"asked for"}\n' % name for name in (b"a", b"b", b"c"))
MENDS = (
    "; if an older copy was put in its place, `gristmill takedown LAKE --lost --blocklist takedowns` puts them back; if"
    " people took them out on purpose, add --retract"
)


def refused(lake: FolderStore) -> str:
    """Why the list is not read."""
    with pytest.raises(RecipeError) as caught:
        read_blocklist(lake, "takedowns")
    return str(caught.value)


def test_a_line_that_takedown_wrote_and_that_is_gone_is_named(lake: FolderStore) -> None:
    lake.put(LIST, A)
    older = lake.read(LIST)
    add_to_blocklist(lake, "takedowns", {("s", "b"): "asked for"})
    assert (lake.read(LIST), lake.read(RECORD)) == (A + B, B)
    lake.put(LIST, older)
    assert refused(lake) == f"{LIST}: it has lost 1 of the 1 entries that {RECORD} has: 'b' of 's'{MENDS}"
    assert lost_entries(lake, "takedowns") == {("s", "b"): "asked for"}


def test_a_line_that_people_wrote_and_that_was_noted_is_named_too(lake: FolderStore) -> None:
    lake.put(LIST, A + B + C)
    assert record_blocklist_entries(lake, "takedowns") == [("s", "a"), ("s", "b"), ("s", "c")]
    assert record_blocklist_entries(lake, "takedowns") == []
    lake.put(LIST, b'{"source":"s","id":"d","reason":"new"}\n' + C)  # as many as two are new or left: a count says less
    assert refused(lake).startswith(
        f"{LIST}: it has lost 2 of the 3 entries that {RECORD} has: 'a' of 's', 'b' of 's'; "
    )
    lake.put(LIST, C + B + A.replace(b"asked for", b"for another reason"))
    assert len(read_blocklist(lake, "takedowns").reasons) == 3


def test_a_list_that_is_gone_as_a_whole_is_no_invitation_to_put_an_empty_one(lake: FolderStore) -> None:
    lake.put(LIST, A)
    record_blocklist_entries(lake, "takedowns")
    lake.delete([LIST])
    assert record_blocklist_entries(lake, "takedowns") == []
    assert refused(lake) == f"{LIST}: a selection names this blocklist, but the lake has none{MENDS}"
    lake.put(LIST, b"")
    assert "it has lost 1 of the 1 entries" in refused(lake)
    lake.delete([LIST])
    add_to_blocklist(lake, "takedowns", {("s", "b"): "asked for"})  # makes a list of one line
    assert "it has lost 1 of the 2 entries" in refused(lake)


def test_only_the_first_entries_are_named(lake: FolderStore) -> None:
    add_to_blocklist(lake, "takedowns", {("s", str(number)): "x" for number in range(5)})
    lake.put(LIST, b"")
    assert "has: '0' of 's', '1' of 's', '2' of 's' and 2 more; if" in refused(lake)


def test_a_list_without_a_record_is_as_it_is(lake: FolderStore) -> None:
    lake.put(LIST, A)
    assert list(read_blocklist(lake, "takedowns").reasons) == [("s", "a")]
    assert recorded_entries(lake, "takedowns") == lost_entries(lake, "takedowns") == {}


def test_what_a_list_has_lost_is_not_shown_either(lake: FolderStore) -> None:
    lake.put(LIST, A + B)
    lake.put("blocklists/notes.txt", b"no list")
    record_blocklist_entries(lake, "takedowns")
    lake.put(LIST, A)
    assert listed_pairs(lake) == {("s", "a"), ("s", "b")}


def test_what_is_taken_back_is_gone_from_both_and_nothing_else_moves(lake: FolderStore) -> None:
    lake.put(LIST, A + b"\r\n" + B.rstrip() + b"\n \n" + C.rstrip())
    record_blocklist_entries(lake, "takedowns")
    assert take_off_blocklist(lake, "takedowns", {("s", "b"), ("s", "z")}) == [("s", "b")]
    assert (lake.read(LIST), lake.read(RECORD)) == (A + b"\r\n \n" + C.rstrip(), A + C)
    assert list(read_blocklist(lake, "takedowns").reasons) == [("s", "a"), ("s", "c")]
    lake.put(LIST, C)
    assert take_off_blocklist(lake, "takedowns", lost_entries(lake, "takedowns")) == [("s", "a")]
    assert list(read_blocklist(lake, "takedowns").reasons) == [("s", "c")]


def test_a_damaged_record_is_an_error_that_names_it(lake: FolderStore) -> None:
    lake.put(LIST, A)
    lake.put(RECORD, A + b"{\n")
    for read in (read_blocklist, record_blocklist_entries, lost_entries):
        with pytest.raises(DataError, match=r"^withdrawn/blocklists/takedowns\.jsonl: row 1: "):
            read(lake, "takedowns")


class _Between:
    """A lake in which something happens after the record was read, and before the list is."""

    def __init__(self, lake: FolderStore, act: Callable[[], object]) -> None:
        self._lake, self._act = lake, act

    def __getattr__(self, name: str) -> object:
        return getattr(self._lake, name)

    def head(self, path: str) -> Entry | None:
        self._act()
        return self._lake.head(path)


def test_an_entry_that_comes_or_is_taken_back_at_this_moment_is_not_lost(lake: FolderStore) -> None:
    add_to_blocklist(lake, "takedowns", {("s", "a"): "x"})
    coming = _Between(lake, lambda: add_to_blocklist(lake, "takedowns", {("s", "b"): "x"}))
    assert list(read_blocklist(coming, "takedowns").reasons) == [("s", "a"), ("s", "b")]  # type: ignore[arg-type]
    going = _Between(lake, lambda: take_off_blocklist(lake, "takedowns", {("s", "b")}))
    assert list(read_blocklist(going, "takedowns").reasons) == [("s", "a")]  # type: ignore[arg-type]


def test_many_who_note_at_once_lose_nothing(lake: FolderStore) -> None:
    lake.put(LIST, A + B + C)
    with ThreadPoolExecutor(4) as pool:
        assert (
            sum(len(found) for found in pool.map(lambda _: record_blocklist_entries(lake, "takedowns"), range(8))) == 3
        )
    assert lake.read(RECORD) == A + B + C
