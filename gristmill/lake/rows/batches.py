"""Rows of shards in batches: decoded into any msgspec type, and aligned with the rows of another shard."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec
import numpy as np
import orjson

from gristmill.errors import MalformedRow, Misaligned
from gristmill.lake.identity import Pair
from gristmill.lake.rows.json_values import decode_row
from gristmill.lake.rows.shard_file import read_blocks, split_rows
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store

T = TypeVar("T")

HUGE = 1 << 25
"""Rows of a block with more bytes than this are decoded one by one. Only a huge row makes a block so large."""
_LINE_FEED, _BRACE = b"\n{"


class IdPair(msgspec.Struct):
    """The `id` and `source` of a row, without its text. Other code compares, hashes and samples by `pair`."""

    id: str
    source: str

    @property
    def pair(self) -> Pair:
        """The pair (source, id)."""
        return self.source, self.id


class TextRow(IdPair):
    """The ids of a document, and its text."""

    text: str


def read_rows(store: Store, path: str, sha256: str | None, row_type: type[T]) -> Iterator[tuple[int, list[T]]]:
    """The rows of a shard, block by block; only the fields of the row type are decoded.

    The reader keeps neither the bytes nor the rows of a block while the caller works on the rows: a text may be huge.

    Args:
        store: the lake.
        path: path of the shard.
        sha256: sha256 of the shard (hex), as its ledger names it; None: it is not checked.
        row_type: type of the decoded rows.

    Yields:
        The number of the block's first row in the shard, counted from 0, and the block's rows.

    Raises:
        MalformedRow: a row is not valid JSON, or not of the type; names file and row.
        DataError: the file is truncated, or is not packed as its name says.
        StoreError: the sha256 differs. It is raised after the last block, so use no result before.
    """
    decoder = msgspec.json.Decoder(row_type)
    first = 0
    for block in read_blocks(store, path, sha256):
        held = [decode_rows(decoder, block, path, first)]
        del block
        before, first = first, first + len(held[0])
        yield before, held.pop()


def decode_rows(decoder: "msgspec.json.Decoder[T]", block: bytes, path: str, first: int, mend: str = "") -> list[T]:
    """All rows of a block. Integer ids are read as their decimal digits, more slowly.

    Args:
        decoder: decoder of the row's type.
        block: complete lines.
        path: path of the shard, for messages.
        first: number of the block's first row in the shard.
        mend: advice about a row of valid JSON that is not of the type; by default, repair the file.

    Raises:
        MalformedRow: a row is not valid JSON, or not of the type; names file and row.
    """
    if len(block) > HUGE:
        huge = _decode_huge_rows(decoder, block)
        if huge is not None:
            return huge
    try:
        decoded = decoder.decode_lines(block)
    except NOT_DECODED:
        decoded = []
    if len(decoded) == _count_object_lines(block):
        return decoded
    found = list[T]()
    for number, line in enumerate(split_rows(block)):
        try:
            found.append(_decode_row(decoder, line))  # valid too: white space before an object
        except NOT_DECODED as error:
            reason = "an empty line" if not line.strip() else str(error)
            if mend and isinstance(error, msgspec.ValidationError):
                raise MalformedRow(path, first + number, reason, mend) from error
            raise MalformedRow(path, first + number, reason) from error
    return found


def _count_object_lines(block: bytes) -> int:
    """The number of lines of a block that decodes, if each begins an object; else -1.

    A string in JSON has no line feed. So as many values as lines are one object a line. Comparing all bytes at once is
    several times as fast as `bytes.count` of a line feed with a brace behind it.
    """
    codes = np.frombuffer(block, np.uint8)
    starts = np.flatnonzero(codes == _LINE_FEED) + 1
    if starts.size and starts[-1] == len(block):
        starts = starts[:-1]
    whole = block.startswith(b"{") and bool(np.all(codes[starts] == _BRACE))
    return len(starts) + 1 if whole else -1


def _decode_row(decoder: "msgspec.json.Decoder[T]", line: bytes) -> T:
    try:
        return decoder.decode(line)
    except msgspec.ValidationError:
        try:
            return msgspec.convert(decode_row(line), decoder.type)
        except (orjson.JSONDecodeError, *NOT_DECODED):
            pass
        raise


def _decode_huge_rows(decoder: "msgspec.json.Decoder[T]", block: bytes) -> list[T] | None:
    """The rows of a block that has a huge one; None if a row is not valid, so that the usual way reports the row.

    orjson creates a text in its final width at once. msgspec widens it while it reads, and holds it twice. But orjson
    makes floats of integers beyond 64 bits: only msgspec decodes a row that may have one.
    """
    view, rows = memoryview(block), list[T]()
    start = 0
    while start < len(block):
        end = block.find(b"\n", start)
        end = len(block) if end < 0 else end
        try:
            row = decode_row(view[start:end])
            if not isinstance(row, dict):
                return None
            rows.append(msgspec.convert(row, decoder.type))
        except (orjson.JSONDecodeError, *NOT_DECODED):
            return None
        start = end + 1
    return rows


class RowFeed:
    """The rows of a shard, taken in steps of any size: this joins an attribute shard with its documents row by row.

    Args:
        store: store of the shard.
        path: path of the shard.
        sha256: sha256 of the shard, as its ledger names it; None: it is not checked.
    """

    def __init__(self, store: Store, path: str, sha256: str | None) -> None:
        self.path = path
        self.row = 0
        self._blocks: Iterator[bytes] = read_blocks(store, path, sha256)
        self._lines: list[bytes] = []
        self._next = 0

    def next_rows(self, count: int, beside: str) -> list[bytes]:
        """The next rows, without their line feeds.

        Args:
            count: number of rows.
            beside: path of the shard that they must match, for the message.

        Raises:
            Misaligned: fewer rows are left.
        """
        taken: list[bytes] = []
        while len(taken) < count:
            if self._next == len(self._lines):
                block = next(self._blocks, None)
                if block is None:
                    raise Misaligned(
                        f"{self.path}: ends after {self.row + len(taken)} rows, but {beside} has more;"
                        " make this attribute set again"
                    )
                self._lines, self._next = split_rows(block), 0
            step = min(count - len(taken), len(self._lines) - self._next)
            taken += self._lines[self._next : self._next + step]
            self._next += step
        self.row += count
        return taken

    def finish(self, beside: str) -> None:
        """Checks that all rows were taken; `beside` is the path of the shard that they match.

        Raises:
            Misaligned: rows are left.
        """
        if self._next < len(self._lines) or next(self._blocks, None) is not None:
            raise Misaligned(
                f"{self.path}: has a row {self.row} (counted from 0), but {beside} ends before it;"
                " make this attribute set again"
            )


def check_same_ids(documents: Sequence[Pair], rows: Sequence[Pair], beside: str, path: str, first: int) -> int:
    """Checks that rows have the ids of their documents, and their sources if the rows have sources.

    Args:
        documents: the (source, id) of each document.
        rows: pairs of source and id of as many attribute rows. A source may be empty.
        beside: path of the documents' shard, for the message.
        path: path of the attribute rows' shard, for the message.
        first: number of the first row in the shard.

    Returns:
        How many attribute rows have no source.

    Raises:
        Misaligned: a row differs; names shard, row and both ids.
    """
    if documents != rows:
        for number, (document, row) in enumerate(zip(documents, rows, strict=True)):
            if document[1] != row[1] or (row[0] and row[0] != document[0]):
                raise Misaligned(
                    f"{path}: row {first + number}: id {row[1]!r} (source {row[0]!r}), but {beside} has"
                    f" {document[1]!r} (source {document[0]!r}) there; make this attribute set again"
                )
    return sum(not source for source, _ in rows)
