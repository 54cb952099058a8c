"""Blocklists: (source, id) pairs that mixes must leave out, such as takedowns and evaluation sets.

The records of erasures name documents too: those that people asked to be cut out of raw data.
"""

import re
from collections.abc import Collection, Mapping

import msgspec

from gristmill.errors import RecipeError
from gristmill.lake.address import blocklist_path
from gristmill.lake.asset_kinds import BLOCKLIST
from gristmill.lake.identity import Pair, digest_of
from gristmill.lake.rows.blocklists.blocklist_files import (
    RECORDS,
    add_rows,
    blocklist_record_path,
    blocklist_rows,
    decode_reasons,
    is_record,
    recorded_entries,
    remove_rows,
)
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store

_NAMED = 3
"""Most entries that a message names."""
_MENDS = (
    "; if an older copy was put in its place, `gristmill takedown LAKE --lost --blocklist {0}` puts them back; if"
    " people took them out on purpose, add --retract"
)

_ERASURES = "withdrawn/"
_PATH = re.compile(blocklist_path("[^/]+").replace(".", r"\."))
_ERASURE = re.compile(r"withdrawn/[0-9a-f]{16}\.json")


class LostEntries(RecipeError):  # noqa: N818 - the tree reads as English
    """A blocklist lacks entries that its record has.

    Args:
        text: names the list, some of the entries, and the mends.
        lost: number of entries that it lacks.
        known: number of entries that its record has.
    """

    def __init__(self, text: str, lost: int, known: int) -> None:
        super().__init__(text)
        self.lost, self.known = lost, known


class _NamedDocuments(msgspec.Struct):
    documents: tuple[tuple[str, str, str], ...]


class Blocklist(msgspec.Struct, frozen=True):
    """A blocklist as read.

    Attributes:
        name: name of the list.
        reasons: reason of each pair.
    """

    name: str
    reasons: dict[Pair, str]

    @property
    def digest(self) -> str:
        """The digest of the pairs. Reasons and order do not change it, because they decide nothing."""
        return digest_of(sorted(self.reasons))

    def __contains__(self, pair: object) -> bool:
        return pair in self.reasons


def read_blocklist(store: Store, name: str) -> Blocklist:
    """Reads a blocklist. One that has lost entries is not read: their documents would come back.

    Args:
        store: the lake.
        name: name of the list.

    Returns:
        The list.

    Raises:
        LostEntries: the list lacks entries that its record has, or is gone. It is never taken for a list without them.
        RecipeError: the lake has no such list, and no record of one.
        MalformedRow: a row is not {"source", "id", "reason"}, all strings.
        DataError: a row is too long.
    """
    before = recorded_entries(store, name)  # first: an entry is on the list before it is in the record
    path = blocklist_path(name)
    if store.head(path) is None:
        none = f"{path}: a selection names this blocklist, but the lake has none"
        if before:
            raise LostEntries(f"{none}{_MENDS.format(name)}", len(before), len(before))
        raise RecipeError(f"{none}; put one there (it may be empty)")
    found = Blocklist(name, decode_reasons(store.stream(path), path))
    lost = _lost_blocklist_rows(store, name, before, found.reasons)
    if lost:
        named = [f"{id_!r} of {source!r}" for source, id_ in sorted(lost)[:_NAMED]]
        more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
        raise LostEntries(
            f"{path}: it has lost {len(lost)} of the {len(before)} entries that {blocklist_record_path(name)} has:"
            f" {', '.join(named)}{more}{_MENDS.format(name)}",
            len(lost),
            len(before),
        )
    return found


def lost_entries(store: Store, name: str) -> dict[Pair, str]:
    """The entries that a blocklist has lost, each with its reason: its record has them, and no person took them back.

    Args:
        store: the lake.
        name: name of the list.

    Raises:
        DataError: a row of the list or of its record is wrong.
        StoreError: the lake does not answer.
    """
    return _lost_blocklist_rows(store, name, recorded_entries(store, name), blocklist_rows(store, blocklist_path(name)))


def _lost_blocklist_rows(
    store: Store, name: str, before: Mapping[Pair, str], there: Mapping[Pair, str]
) -> dict[Pair, str]:
    lost = {pair: reason for pair, reason in before.items() if pair not in there}
    if lost:  # unless they were taken back between reading the record and the list
        still = recorded_entries(store, name)
        lost = {pair: reason for pair, reason in lost.items() if pair in still}
    return lost


def pairs_not_on_blocklist(store: Store, name: str, reasons: Mapping[Pair, str]) -> list[Pair]:
    """The pairs that are not on a blocklist yet, sorted. Nothing is added.

    Args:
        store: the lake.
        name: name of the list.
        reasons: reason for each pair to be on the list.

    Raises:
        MalformedRow: a row of the list is wrong.
        StoreError: the lake does not answer.
    """
    there = blocklist_rows(store, blocklist_path(name))
    return sorted(pair for pair in reasons if pair not in there)


def add_to_blocklist(store: Store, name: str, reasons: Mapping[Pair, str]) -> list[Pair]:
    """Adds pairs to a blocklist and to its record. A list that the lake does not have is made.

    The lines that are there stay byte for byte. The list is replaced by one compare-and-swap, so nobody's line is lost.
    It comes before its record: whoever reads the record first never misses an entry on the list.

    Args:
        store: the lake.
        name: name of the list.
        reasons: reason of each pair.

    Returns:
        The pairs that were not there, sorted.

    Raises:
        MalformedRow: a row of the list is wrong. Nothing was added.
        StoreError: the lake does not answer, or other processes change the list all the time.
    """
    new = add_rows(store, blocklist_path(name), reasons)
    add_rows(store, blocklist_record_path(name), reasons)
    return new


def take_off_blocklist(store: Store, name: str, pairs: Collection[Pair]) -> list[Pair]:
    """Takes pairs off a blocklist and out of its record, so that mixes take these documents up again.

    Args:
        store: the lake.
        name: name of the list.
        pairs: pairs that must not be on the list any more.

    Returns:
        The pairs that were on the list or in its record, sorted.

    Raises:
        MalformedRow: a row of the list or of its record is wrong.
        StoreError: the lake does not answer, or other processes change the list all the time.
    """
    gone = {
        pair for path in (blocklist_record_path(name), blocklist_path(name)) for pair in remove_rows(store, path, pairs)
    }
    return sorted(gone)


def is_blocklist(path: str) -> bool:
    """Whether a blocklist lies at a path; other files below `blocklists/` are not of the lake.

    >>> is_blocklist("blocklists/takedowns.jsonl"), is_blocklist("blocklists/notes.txt")
    (True, False)
    """
    return _PATH.fullmatch(path) is not None


def is_erasure(path: str) -> bool:
    """Whether the record of an erasure lies at a path.

    >>> is_erasure("withdrawn/f6e76ccabcfa33fd.json"), is_erasure("withdrawn/notes.txt")
    (True, False)
    """
    return _ERASURE.fullmatch(path) is not None


def listed_pairs(store: Store) -> set[Pair]:
    """The (source, id) that all blocklists of the lake name, and those that they have lost.

    Raises:
        DataError: a list or a record cannot be read. Then nobody knows which documents must not be shown or copied.
    """
    paths = [each.path for each in store.list(BLOCKLIST.top_folder) if is_blocklist(each.path)]
    paths += [each.path for each in store.list(RECORDS) if is_record(each.path)]
    return {pair for path in paths for pair in blocklist_rows(store, path)}


def erased_pairs(store: Store) -> set[Pair]:
    """The (source, id) of all records of erasures, finished or not.

    Args:
        store: the lake.

    Raises:
        DataError: a record is wrong.
        StoreError: the lake does not answer.
    """
    pairs: set[Pair] = set()
    for entry in store.list(_ERASURES):
        if is_erasure(entry.path):
            data, what = store.read(entry.path), "the record of an erasure"
            record = decode_object(data, _NamedDocuments, entry.path, what, "restore it from a copy")
            pairs |= {(source, id_) for source, id_, _ in record.documents}
    return pairs
