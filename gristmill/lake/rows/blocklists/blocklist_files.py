"""The two files of a blocklist: the list, and its record, which has every entry that the list has had.

People and programs write a list, so an older copy may be put over a newer one. Its record lies in another folder and
only grows: `takedown` writes into it what it adds, and whoever applies the list notes what is on it. So an entry that
is gone is known by its name, and the list is not read until the entry is there again or is taken back.

A file is replaced by one compare-and-swap, so nobody's line is lost, and all other lines stay byte for byte.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

import msgspec

from gristmill.errors import Conflict, MalformedRow, StoreError
from gristmill.lake.address import blocklist_path
from gristmill.lake.identity import Pair
from gristmill.lake.rows.row_blocks import read_row_blocks
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.disk.old_file import OldFile
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store

RECORDS = "withdrawn/blocklists/"
"""The folder of the records. It is not that of the lists, which may be put back from a copy as a whole."""

_RECORD = re.compile(rf"{RECORDS}[^/]+\.jsonl")
_TRIES = 20
"""How often a change begins again because another process changed the file meanwhile."""


class BlocklistRow(msgspec.Struct):
    """A row of a blocklist.

    Attributes:
        source: name of the document's source.
        id: id of the document.
        reason: reason why it is on the list.
    """

    source: str
    id: str
    reason: str


def decode_reasons(data: Iterable[bytes], path: str) -> dict[Pair, str]:
    """The pairs in the bytes of a file, each with its reason.

    Args:
        data: the bytes.
        path: path of the file, for messages.

    Raises:
        MalformedRow: a row is not {"source", "id", "reason"}, all strings.
        DataError: a row is too long.
    """
    reasons: dict[Pair, str] = {}
    row = 0
    for block in read_row_blocks(data, path):
        for line in split_rows(block):
            if line.strip():
                entry = _decode_blocklist_row(line, path, row)
                reasons[entry.source, entry.id] = entry.reason
            row += 1
    return reasons


def _decode_blocklist_row(line: bytes, path: str, row: int) -> BlocklistRow:
    try:
        return msgspec.json.decode(line, type=BlocklistRow)
    except NOT_DECODED as error:
        raise MalformedRow(path, row, str(error), 'a row is {"source","id","reason"}, all strings') from error


def blocklist_rows(store: Store, path: str) -> dict[Pair, str]:
    """The pairs in a file, each with its reason; none if there is no such file.

    Args:
        store: the lake.
        path: path of the file.

    Raises:
        MalformedRow: a row is wrong.
        StoreError: the lake does not answer.
    """
    data, _ = store.read_tagged(path) or (b"", None)
    return decode_reasons([data] if data else [], path)


def add_rows(store: Store, path: str, reasons: Mapping[Pair, str]) -> list[Pair]:
    """Adds pairs behind the rows of a file. A file that the lake does not have is made.

    Args:
        store: the lake.
        path: path of the file.
        reasons: reason of each pair.

    Returns:
        The pairs that were not there, sorted.

    Raises:
        MalformedRow: a row of the file is wrong. Nothing was added.
        StoreError: the lake does not answer, or other processes change the file all the time.
    """

    def added(data: bytes) -> tuple[bytes, list[Pair]]:
        there = decode_reasons([data] if data else [], path)
        new = sorted(pair for pair in reasons if pair not in there)
        lines = [msgspec.json.encode(BlocklistRow(*pair, reasons[pair])) + b"\n" for pair in new]
        gap = b"\n" if data and not data.endswith(b"\n") else b""
        return data + gap + b"".join(lines), new

    return _rewrite_blocklist_file(store, path, added)


def remove_rows(store: Store, path: str, pairs: Collection[Pair]) -> list[Pair]:
    """Removes the rows of pairs from a file.

    Args:
        store: the lake.
        path: path of the file.
        pairs: pairs that the file must no longer contain.

    Returns:
        The pairs that stood there, sorted.

    Raises:
        MalformedRow: a row of the file is wrong. Nothing was removed.
        StoreError: the lake does not answer, or other processes change the file all the time.
    """

    def left(data: bytes) -> tuple[bytes, list[Pair]]:
        kept: list[bytes] = []
        gone: set[Pair] = set()
        for row, line in enumerate(data.split(b"\n")):
            entry = _decode_blocklist_row(line, path, row) if line.strip() else None
            if entry is not None and (entry.source, entry.id) in pairs:
                gone.add((entry.source, entry.id))
            else:
                kept.append(line)
        return b"\n".join(kept), sorted(gone)

    return _rewrite_blocklist_file(store, path, left)


def _rewrite_blocklist_file(store: Store, path: str, change: Callable[[bytes], tuple[bytes, list[Pair]]]) -> list[Pair]:
    """Replaces a file by what a function makes of its bytes, unless that names no pair. Returns the pairs."""
    for _ in range(_TRIES):
        data, etag = store.read_tagged(path) or (b"", None)
        new, pairs = change(data)
        if not pairs:
            return []
        try:
            with _file_with_access_rights(store, path) as old:
                if old is not None and isinstance(store, FolderStore):
                    store.put_if(path, new, etag, old)
                else:
                    store.put_if(path, new, etag)
        except Conflict:
            continue
        return pairs
    raise StoreError(f"{path}: other processes changed it {_TRIES} times meanwhile; it was not changed: try again")


@contextmanager
def _file_with_access_rights(store: Store, path: str) -> Iterator[OldFile | None]:
    """The file whose rights a new list or record gets, so that a private list stays private, and so does its record.

    A list that was lost gets those of its record. A bucket has no rights of single objects.
    """
    name = path.rpartition("/")[2].removesuffix(".jsonl")
    paths = (path, blocklist_path(name), blocklist_record_path(name))
    there = next((each for each in paths if isinstance(store, FolderStore) and store.head(each) is not None), None)
    if there is not None and isinstance(store, FolderStore):
        with store.old_file(there) as old:
            old.shared = True
            yield old
    else:
        yield None


def blocklist_record_path(name: str) -> str:
    """The path of the record of a blocklist.

    >>> blocklist_record_path("takedowns")
    'withdrawn/blocklists/takedowns.jsonl'
    """
    return f"{RECORDS}{name}.jsonl"


def is_record(path: str) -> bool:
    """Whether the record of a blocklist lies at a path.

    >>> is_record("withdrawn/blocklists/takedowns.jsonl"), is_record("withdrawn/f6e76ccabcfa33fd.json")
    (True, False)
    """
    return _RECORD.fullmatch(path) is not None


def recorded_entries(store: Store, name: str) -> dict[Pair, str]:
    """The entries in the record of a blocklist, each with its reason; none if there is no record.

    Args:
        store: the lake.
        name: name of the list.

    Raises:
        DataError: a row of the record is wrong.
        StoreError: the lake does not answer.
    """
    return blocklist_rows(store, blocklist_record_path(name))


def record_blocklist_entries(store: Store, name: str) -> list[Pair]:
    """Writes the entries that a blocklist has now into its record. A list that the lake does not have has none.

    Args:
        store: the lake.
        name: name of the list.

    Returns:
        Those that were new, sorted.

    Raises:
        DataError: a row of the list or of the record is wrong.
        StoreError: the lake does not answer.
    """
    return add_rows(store, blocklist_record_path(name), blocklist_rows(store, blocklist_path(name)))
