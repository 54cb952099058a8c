"""Rows from a stream of bytes, in blocks of complete lines and in bounded memory: a row has a greatest length."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from gristmill.errors import DataError

BLOCK = 4 << 20
"""Least size of a block of rows in bytes; a longer row makes a longer block."""
ROW_LIMIT = 1 << 30
"""Longest row of a lake in bytes, without its line feed. No longer row is written, and reading one is an error."""
HEAD = 1 << 20
"""Bytes that are kept of a row that is too long."""


class LongRow(NamedTuple):
    """A row that is longer than the limit. The rest of it was skipped.

    Attributes:
        head: its first bytes, at most `HEAD`.
        length: all its bytes, without the line feed.
    """

    head: bytes
    length: int


def read_row_blocks(pieces: Iterable[bytes], path: str, size: int = BLOCK, limit: int = ROW_LIMIT) -> Iterator[bytes]:
    r"""Blocks of complete rows. Every row ends with a line feed; the last row gets one if it has none.

    Args:
        pieces: plain bytes, cut anywhere.
        path: path of the file that holds them, for messages.
        size: least size of a block in bytes; only the last block may be smaller.
        limit: longest row in bytes.

    Yields:
        The blocks in order.

    Raises:
        DataError: a row is longer than the limit.

    >>> list(read_row_blocks([b"one\ntw", b"o\nthree"], "numbers.txt", size=1))
    [b'one\n', b'two\n', b'three\n']
    """
    seen = 0
    held: list[bytes] = []
    for found in limited_blocks(pieces, limit, size):
        if isinstance(found, LongRow):
            raise DataError(
                f"{path}: the row after {seen} bytes of text has {found.length} bytes, and a row has at most {limit};"
                " rebuild this file"
            )
        seen += len(found)
        held.append(found)
        del found
        yield held.pop()  # a row may be huge: keep no reference while the caller works on it


def limited_blocks(
    pieces: Iterable[bytes], limit: int, size: int = BLOCK, on_long: Callable[[bytes], None] | None = None
) -> Iterator[bytes | LongRow]:
    r"""The blocks of complete rows, and in place of each row that is too long its `LongRow`.

    Which rows are too long does not depend on how the pieces are cut. At most `limit` and one piece more are held.

    Args:
        pieces: plain bytes, cut anywhere.
        limit: longest row in bytes, without its line feed.
        size: least size of a block in bytes, as in read_row_blocks().
        on_long: function that receives all bytes of each row that is too long, in pieces, after the rows before it and
            before its `LongRow`.

    >>> list(limited_blocks([b"one\ntw", b"o, three and fo", b"ur\nfive"], limit=5))
    [b'one\n', LongRow(head=b'two, three and four', length=19), b'five\n']
    """
    rest = iter(pieces)
    whole: list[bytes] = []  # complete rows
    begun: list[bytes] = []  # the row that has begun
    ready = length = 0
    while (piece := next(rest, None)) is not None:
        end = piece.rfind(b"\n") + 1
        if end:
            whole += [*begun, piece[:end]]
            ready += length + end
            begun, length = [], 0
        if len(piece) > end:
            begun.append(piece[end:] if end else piece)
            length += len(piece) - end
        del piece
        if length > limit or (end and ready + length >= size):
            yield from _join_whole_rows(whole, limit, on_long)
            ready = 0
        if length > limit:
            row, after = _skip_long_row(rest, begun, length, on_long)
            yield row
            rest, length = chain([after], rest), 0
    if begun:
        whole += [*begun, b"\n"]
        begun.clear()
    yield from _join_whole_rows(whole, limit, on_long)


def _join_whole_rows(
    whole: list[bytes], limit: int, on_long: Callable[[bytes], None] | None
) -> Iterator[bytes | LongRow]:
    """The complete rows as one block; they are taken out of the list. Rows that are too long are split off."""
    block = b"".join(whole)
    whole.clear()
    if len(block) <= limit:
        held = [block] if block else []
        del block
        while held:
            yield held.pop()  # a row may be huge: keep no reference while the caller works on it
        return
    start = row = 0
    while row < len(block):
        end = block.index(b"\n", row)
        if end - row > limit:
            if row > start:
                yield block[start:row]
            if on_long:
                on_long(block[row:end])
            yield LongRow(block[row : min(end, row + HEAD)], end - row)
            start = end + 1
        row = end + 1
    if start < len(block):
        yield block[start:]


def _skip_long_row(
    pieces: Iterator[bytes], begun: list[bytes], length: int, on_long: Callable[[bytes], None] | None
) -> tuple[LongRow, bytes]:
    """Reads to the end of a row that is too long.

    Args:
        pieces: the bytes that follow.
        begun: the row so far; the list is emptied.
        length: of it.
        on_long: see limited_blocks().

    Returns:
        The row, and the bytes after its line feed.
    """
    head = b""
    for piece in begun:
        head += piece[: HEAD - len(head)]
        if on_long:
            on_long(piece)
    begun.clear()
    for piece in pieces:
        end = piece.find(b"\n")
        part = piece if end < 0 else piece[:end]
        head += part[: HEAD - len(head)]
        length += len(part)
        if on_long:
            on_long(part)
        if end >= 0:
            return LongRow(head, length), piece[end + 1 :]
    return LongRow(head, length), b""
