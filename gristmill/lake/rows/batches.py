"""Rows of documents in batches: decoded as far as asked for, with their bytes kept beside them."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec
import orjson

from gristmill.errors import MalformedRow, Misaligned
from gristmill.lake.identity import Pair
from gristmill.lake.rows.shard_file import read_blocks, rows_of
from gristmill.lake.store.protocol import Store

T = TypeVar("T")

HUGE = 1 << 25
"""Bytes of a block from which on its rows are decoded one by one: blocks are 4 MiB, but for longer rows."""


class IdPair(msgspec.Struct):
    """Only the ids of a row; `pair` is what the rest of the code compares, hashes and draws by."""

    id: str
    source: str

    @property
    def pair(self) -> Pair:
        """(source, id)."""
        return self.source, self.id


class TextRow(IdPair):
    """The ids of a document, and its text."""

    text: str


def read_rows(store: Store, path: str, sha256: str | None, row_type: type[T]) -> Iterator[tuple[int, list[T]]]:
    """The rows of a shard, decoded as far as a type asks for, block by block.

    Neither the bytes nor the rows of a block are held here while the caller works on its rows: a text may be huge.

    Args:
        store: the lake.
        path: of the shard.
        sha256: of the object as its ledger names it; None if it is not checked.
        row_type: what each row is decoded to.

    Yields:
        The number of the block's first row in the shard, counted from 0, and the block's rows.

    Raises:
        MalformedRow: a row is not valid JSON or not of the type.
        DataError: the object cannot be unpacked.
        StoreError: it is not the object that the ledger names (known at the end only: use nothing before).
    """
    decoder = msgspec.json.Decoder(row_type)
    first = 0
    for block in read_blocks(store, path, sha256):
        held = [decode_rows(decoder, block, path, first)]
        del block
        before, first = first, first + len(held[0])
        yield before, held.pop()


def decode_rows(decoder: "msgspec.json.Decoder[T]", block: bytes, path: str, first: int) -> list[T]:
    """Every row of a block.

    Args:
        decoder: of the row's type.
        block: whole lines.
        path: of the shard, for messages.
        first: the number of the block's first row in the shard.

    Raises:
        MalformedRow: a row is not valid JSON or not of the type; names file and row.
    """
    if len(block) > HUGE:
        found = _huge_rows(decoder, block)
        if found is not None:
            return found
    try:
        decoded = decoder.decode_lines(block)
    except (msgspec.DecodeError, UnicodeDecodeError):
        decoded = []
    rows = block.count(b"\n") + (not block.endswith(b"\n"))
    if len(decoded) == rows and block.count(b"\n{") + block.startswith(b"{") == rows:
        return decoded  # a row an object a line: JSON has no line feed inside a string
    lines = rows_of(block)
    for number, line in enumerate(lines):
        try:
            decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            reason = "an empty line" if not line.strip() else str(error)
            raise MalformedRow(path, first + number, reason) from error
    return [decoder.decode(line) for line in lines]  # white space before an object is still JSON


def _huge_rows(decoder: "msgspec.json.Decoder[T]", block: bytes) -> list[T] | None:
    """Rows of a block with a huge one, decoded by orjson, which makes a text in its final width at once: msgspec widens
    it as it reads, and holds it twice. None if a row is no such JSON object: the usual way says what it is.
    """
    view, found = memoryview(block), list[T]()
    start = 0
    while start < len(block):
        end = block.find(b"\n", start)
        end = len(block) if end < 0 else end
        try:
            row = orjson.loads(view[start:end])
            if not isinstance(row, dict):
                return None
            found.append(msgspec.convert(row, decoder.type))
        except (orjson.JSONDecodeError, msgspec.ValidationError):
            return None
        start = end + 1
    return found


class RowFeed:
    """The rows of a shard, taken a number at a time: how shards are joined row by row.

    Raises (on take and finish):
        Misaligned: there are fewer or more rows than asked for.
    """

    def __init__(self, store: Store, path: str, sha256: str | None) -> None:
        self.path = path
        self.row = 0
        self._blocks: Iterator[bytes] = read_blocks(store, path, sha256)
        self._lines: list[bytes] = []
        self._next = 0

    def take(self, count: int, beside: str) -> list[bytes]:
        """The next rows; `beside` names the shard that they must match."""
        taken: list[bytes] = []
        while len(taken) < count:
            if self._next == len(self._lines):
                block = next(self._blocks, None)
                if block is None:
                    raise Misaligned(
                        f"{self.path}: ends after {self.row + len(taken)} rows, but {beside} goes on;"
                        " make this attribute set again"
                    )
                self._lines, self._next = rows_of(block), 0
            step = min(count - len(taken), len(self._lines) - self._next)
            taken += self._lines[self._next : self._next + step]
            self._next += step
        self.row += count
        return taken

    def finish(self, beside: str) -> None:
        """Nothing may be left."""
        if self._next < len(self._lines) or next(self._blocks, None) is not None:
            raise Misaligned(
                f"{self.path}: has a row {self.row} (counted from 0), but {beside} ends before it;"
                " make this attribute set again"
            )


def check_same_ids(documents: Sequence[Any], rows: Sequence[Any], beside: str, path: str, first: int) -> int:
    """Row by row the same ids; and sources, where the attribute row has one.

    Returns:
        How many attribute rows have no source.

    Raises:
        Misaligned: names shard, row and both ids.
    """
    missing = 0
    for number, (document, row) in enumerate(zip(documents, rows, strict=True)):
        if document.id != row.id or (row.source and row.source != document.source):
            raise Misaligned(
                f"{path}: row {first + number}: id {row.id!r} (source {row.source!r}), but {beside} has"
                f" {document.id!r} (source {document.source!r}) there; make this attribute set again"
            )
        missing += not row.source
    return missing
