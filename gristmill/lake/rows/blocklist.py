"""Blocklists: (source, id) pairs that mixes must leave out, such as takedowns and evaluation sets.

The records of erasures name documents too: those that people asked to be cut out of raw data.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from gristmill.errors import Conflict, MalformedRow, RecipeError, StoreError
from gristmill.lake.address import blocklist_path
from gristmill.lake.asset_kinds import BLOCKLIST
from gristmill.lake.identity import Pair, digest_of
from gristmill.lake.rows.row_blocks import blocks
from gristmill.lake.rows.shard_file import rows_of
from gristmill.lake.store.json_object import NOT_DECODED, decode_object
from gristmill.lake.store.protocol import Store

_ERASURES = "withdrawn/"
_PATH = re.compile(blocklist_path("[^/]+").replace(".", r"\."))
_ERASURE = re.compile(r"withdrawn/[0-9a-f]{16}\.json")


class _NamedDocuments(msgspec.Struct):
    documents: tuple[tuple[str, str, str], ...]


class BlocklistRow(msgspec.Struct):
    """A row of a blocklist.

    Attributes:
        source: of the document.
        id: of the document.
        reason: why it is on the list.
    """

    source: str
    id: str
    reason: str


class Blocklist(msgspec.Struct, frozen=True):
    """A blocklist as read.

    Attributes:
        name: of the list.
        reasons: why each pair is on the list.
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
    """Reads a blocklist.

    Args:
        store: the lake.
        name: of the list.

    Returns:
        The list.

    Raises:
        RecipeError: the lake has no such list. A missing list is never taken for an empty one.
        MalformedRow: a row is not {"source", "id", "reason"}, all strings.
        DataError: a row is too long.
    """
    check_blocklist(store, name)
    path = blocklist_path(name)
    return Blocklist(name, _reasons(store.stream(path), path))


def check_blocklist(store: Store, name: str) -> None:
    """Checks that the lake has a blocklist, without reading it.

    Args:
        store: the lake.
        name: of the list.

    Raises:
        RecipeError: the lake has no such list.
    """
    path = blocklist_path(name)
    if store.head(path) is None:
        raise RecipeError(
            f"{path}: a selection names this blocklist, but the lake has none; put one there (it may be empty)"
        )


def _reasons(data: Iterable[bytes], path: str) -> dict[Pair, str]:
    """The pairs in the bytes of a blocklist; raises what read_blocklist raises for a wrong row."""
    reasons: dict[Pair, str] = {}
    row = 0
    for block in blocks(data, path):
        for line in rows_of(block):
            if line.strip():
                try:
                    entry = msgspec.json.decode(line, type=BlocklistRow)
                except NOT_DECODED as error:
                    raise MalformedRow(
                        path, row, str(error), 'a row is {"source","id","reason"}, all strings'
                    ) from error
                reasons[entry.source, entry.id] = entry.reason
            row += 1
    return reasons


_TRIES = 20
"""How often an addition begins again because another process changed the list meanwhile."""


def add_to_blocklist(store: Store, name: str, reasons: Mapping[Pair, str]) -> list[Pair]:
    """Adds pairs to a blocklist. A list that the lake does not have is made.

    The lines that are there stay byte for byte. The list is replaced by one compare-and-swap, so nobody's line is lost.

    Args:
        store: the lake.
        name: of the list.
        reasons: why each pair is on the list.

    Returns:
        The pairs that were not there, sorted.

    Raises:
        MalformedRow: a row of the list is wrong. Nothing was added.
        StoreError: the lake does not answer, or other processes change the list all the time.
    """
    path = blocklist_path(name)
    for _ in range(_TRIES):
        data, etag = store.read_tagged(path) or (b"", None)
        there = _reasons([data] if data else [], path)
        new = sorted(pair for pair in reasons if pair not in there)
        if not new:
            return []
        lines = [BlocklistRow(*pair, reasons[pair]) for pair in new]
        gap = b"\n" if data and not data.endswith(b"\n") else b""
        try:
            store.put_if(path, data + gap + b"".join(msgspec.json.encode(line) + b"\n" for line in lines), etag)
        except Conflict:
            continue
        return new
    raise StoreError(f"{path}: other processes changed it {_TRIES} times meanwhile; nothing was added: try again")


def new_on(store: Store, name: str, reasons: Mapping[Pair, str]) -> list[Pair]:
    """The pairs that are not on a blocklist yet, sorted. Nothing is added.

    Args:
        store: the lake.
        name: of the list.
        reasons: why each pair should be on the list.

    Raises:
        MalformedRow: a row of the list is wrong.
        StoreError: the lake does not answer.
    """
    data, _ = store.read_tagged(blocklist_path(name)) or (b"", None)
    there = _reasons([data] if data else [], blocklist_path(name))
    return sorted(pair for pair in reasons if pair not in there)


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
    """The (source, id) of all blocklists of the lake.

    Raises:
        DataError: a list cannot be read. Then nobody knows which documents must not be shown or copied.
    """
    top = BLOCKLIST.top
    names = [
        entry.path.removeprefix(top).removesuffix(".jsonl") for entry in store.list(top) if is_blocklist(entry.path)
    ]
    return {pair for name in names for pair in read_blocklist(store, name).reasons}


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
