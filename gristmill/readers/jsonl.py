"""Reads JSON lines: files with one JSON object per line, compressed or not.

`JsonLines` makes a document from each line. `raw_lines` gives each line with its number and its byte range, for
readers of other line formats too.
"""

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, ClassVar

import msgspec
import orjson

from gristmill.errors import RecipeError
from gristmill.lake.rows.json_values import count_keys, decode_exact, find_repeated_key, key_count_bound
from gristmill.lake.rows.raw_spans import RawSpan, SpannedRows
from gristmill.lake.rows.row_blocks import LongRow, limited_blocks
from gristmill.lake.rows.shard_file import split_rows
from gristmill.readers.mapping.many import GiveUp
from gristmill.readers.parts.lines import PartLines
from gristmill.readers.parts.units import cut_by
from gristmill.readers.records import RowDocuments
from gristmill.recipes.raw_object import TOO_LONG, Converted, RawObject, Refused

BOM = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8. At the beginning of a file it is not part of the first line."""

NOT_UTF8 = "not UTF-8"
"""The reason for a row whose bytes are not UTF-8."""

KEY_TWICE = "a key twice"
"""The reason for a row that has an object with two equal keys. Readers differ in which of the two they take."""

_AT_ONCE = 8 << 20
"""Most bytes of lines whose values are in memory at the same time."""
_BLOCK = 1 << 18
"""Least bytes of lines that are taken at once. They and their values remain in the processor's cache."""


def raw_lines(raw: RawObject, on_long: Callable[[bytes], None] | None = None) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, each with its number. Empty lines are lines too.

    Before it yields a line, it sets `raw.raw_span` to the line's byte range, so that `trace` can show where a document
    came from. The range counts bytes of the decompressed file.

    A line that is longer than `raw.limits.row` is not yielded: it is skipped in bounded memory, and refused.

    Of a part of an object (see Split), only the part's lines are given, and numbered from 0. If the object is packed,
    the ranges count unpacked bytes from the part's first gzip member, Zstandard frame or bz2 block on.

    Args:
        raw: the raw object. It is decompressed if its name ends in `.gz`, `.zst`, `.zstd`, `.bz2` or `.xz`.
        on_long: function that receives all bytes of each line that is too long, in pieces. The line is then not
            refused: its first bytes are yielded. So a reader whose records have several lines can refuse the whole
            record.

    Yields:
        (number, line): the number counts from 0; the line is bytes, without its line feed and the byte order mark.

    Raises:
        DataError: the file is truncated, its bytes do not have the compression that its name says, or it unpacks to
            far more than honest data do.
    """
    for number, offset, lines in line_blocks(raw, on_long):
        yield from _number_block_lines(raw, number, offset, lines)


def _number_block_lines(raw: RawObject, number: int, offset: int, lines: list[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines of a block, as raw_lines() gives them."""
    for line in lines:
        raw.raw_span = RawSpan(offset, offset + len(line))
        yield number, line
        number += 1
        offset += len(line) + 1


def line_blocks(
    raw: RawObject, on_long: Callable[[bytes], None] | None = None
) -> Iterator[tuple[int, int, list[bytes]]]:
    """The lines of raw_lines() in blocks of 256 KiB or more, for readers that work on many lines at once.

    Args:
        raw: raw object, as for raw_lines().
        on_long: function that receives the bytes of long lines, as for raw_lines().

    Yields:
        (number, offset, lines): the number of the first line, the offset of its first byte, and the lines, without
            their line feeds and the byte order mark.

    Raises:
        DataError: as in raw_lines().
    """
    lines_of_part = PartLines(raw, raw.part) if raw.part else None
    number = offset = base = 0
    pieces = lines_of_part.pieces() if lines_of_part else raw.plain_chunks()
    for block in limited_blocks(pieces, raw.limits.row, _BLOCK, on_long):
        if lines_of_part and not number:
            offset = base = lines_of_part.start
        if isinstance(block, LongRow):
            if on_long:
                yield number, offset, [block.head]
            else:
                raw.refused.append(_too_long_refusal(block, raw, number))
            number += 1
            offset += block.length + 1
            continue
        lines = split_rows(block)
        raw.check_unpacked(offset - base + len(block), number + len(lines))
        start = len(BOM) if not number and not offset and lines[0].startswith(BOM) else 0
        lines[0] = lines[0][start:]
        yield number, offset + start, lines
        number += len(lines)
        offset += len(block)


def _too_long_refusal(row: LongRow, raw: RawObject, number: int) -> Refused:
    where = f"{raw.name} row {number}: {row.length} bytes, but row_limit is {raw.limits.row}; its first are kept"
    return Refused(TOO_LONG, where, row.head, row.length)


class JsonLines(RowDocuments):
    """Reads each line as one document; see RowDocuments for the arguments. Use it as the `convert` of a source.

    A line that is not a valid document is refused, with the name of its file and its row number, counted from 0.
    Lines with comments or trailing commas are not valid JSON: they are refused, never repaired. Integers keep all
    their digits; a number that is too large for a float is refused. So is a row in which an object has a key twice:
    readers differ in which of the two values they take.
    """

    gives_json: ClassVar[bool] = True
    row_ids = RowDocuments.row_ids

    def cut_by(self, name: str) -> str:
        """The units at which an object of this name is cut, such as `lines`; empty if it is never cut. See Split.

        Raises:
            RecipeError: ids are row numbers. A part does not know how many rows are in front of it.
        """
        if self.id_key is None and self.id_template is None:
            raise RecipeError(
                f"source {self.source!r}: ids of row numbers (id_key=None) need whole objects; name the field with the"
                " ids, or use shards=OneToOne()"
            )
        return cut_by(name)

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per line: a document, or a Refused with the reason.

        See gristmill.recipes.source.Source.convert.
        """
        for number, line in raw_lines(raw):
            yield self._convert_line(line, raw, number)

    def blocks(self, raw: RawObject) -> Iterator[Converted | SpannedRows]:
        """The same rows as when it is called, many at once where all are plain."""
        for first, start, lines in line_blocks(raw):
            ends = list(accumulate(map((1).__add__, map(len, lines)), initial=start - 1))
            rows = self._convert_plain_lines(lines, ends)
            if rows is not None:
                yield rows
            else:
                for number, line in _number_block_lines(raw, first, start, lines):
                    yield self._convert_line(line, raw, number)

    def _convert_plain_lines(self, lines: list[bytes], ends: list[int]) -> SpannedRows | None:
        """The documents of lines; None if one is not plain. `ends` begins with the end of the line before them."""
        if self.plan is None or ends[-1] - ends[0] > _AT_ONCE:
            return None
        try:
            rows = list(map(orjson.loads, lines))
            keys, large = count_keys(rows)
            if large or (keys != key_count_bound(b"\n".join(lines)) and any(map(find_repeated_key, lines, rows))):
                return None
            made, pairs = self.plan.encode_documents(rows)
        except (orjson.JSONDecodeError, RecursionError, GiveUp):
            return None
        return SpannedRows(made, pairs, [end + 1 for end in ends[:-1]], ends[1:])

    def _convert_line(self, line: bytes, raw: RawObject, number: int) -> Converted:
        row = json_value_or_refusal(line, f"{raw.name} row {number}")
        if isinstance(row, Refused):
            return row
        return self.document(row, raw, number, line)


def json_value_or_refusal(data: bytes, where: str) -> Any:
    """The value of JSON bytes; a refused row if they have none, or an object with a key twice.

    Args:
        data: one row as JSON.
        where: the raw object and the row's place in it.
    """
    try:
        value = decode_exact(data)
        twice = find_repeated_key(data, value)
    except (msgspec.DecodeError, orjson.JSONDecodeError, RecursionError) as error:
        return why_no_row(error, where, data)
    return value if twice is None else Refused(KEY_TWICE, f"{where}: {twice:.60}", data)


def why_no_row(error: Exception, where: str, data: bytes) -> Refused:
    """Why JSON bytes give no row.

    Args:
        error: exception of decode_exact().
        where: the raw object and the row's place in it.
        data: the bytes.

    Returns:
        The refused row: nested too deeply, a number out of range, an empty line, not UTF-8, or invalid JSON.
    """
    if not data.strip():
        return Refused("empty line", f"{where}: {error}", data)
    wrong = is_not_utf8(data)
    if wrong:
        return Refused(NOT_UTF8, f"{where}: {wrong}", data)
    return Refused(
        decoding_error_reason(error), where if isinstance(error, RecursionError) else f"{where}: {error}", data
    )


def is_not_utf8(data: bytes) -> str:
    r"""Tells whether bytes of JSON are not UTF-8.

    Args:
        data: one row as JSON.

    Returns:
        What is wrong with them, and the mend; empty if they are UTF-8.

    >>> is_not_utf8(b'"caf\xe9"')
    'its byte 4 (0xe9) is not UTF-8, which JSON must be; if the file is Latin-1: iconv -f latin1 -t utf-8 OLD > NEW'
    """
    try:
        data.decode()
    except UnicodeDecodeError as error:
        byte = f"its byte {error.start} (0x{data[error.start]:02x})"
        return f"{byte} is not UTF-8, which JSON must be; if the file is Latin-1: iconv -f latin1 -t utf-8 OLD > NEW"
    return ""


def decoding_error_reason(error: Exception) -> str:
    """The reason for an error of decode_exact(), as ledgers count it."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "number out of range" if isinstance(error, msgspec.ValidationError) else "invalid JSON"
