"""Reads files whose fields are separated by delimiters: CSV and TSV, with a header, compressed or not.

Source: RFC 4180. A quoted field may hold delimiters, line ends, and quotes that are written twice. A record may thus
take several lines.
"""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from msgspec import UNSET, UnsetType

from gristmill.errors import DataError, RecipeError, shorten
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.lake.rows.row_blocks import HEAD, ROW_LIMIT
from gristmill.readers.jsonl import BOM, raw_lines
from gristmill.readers.records import RowDocuments
from gristmill.readers.text import check_encoding
from gristmill.recipes.raw_object import TOO_LONG, Converted, LeftOut, RawObject, Refused
from gristmill.recipes.row_format import Text

_GUESSES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SHOWN = 200


class _TooLong(Exception):  # noqa: N818 - the tree reads as English
    """The record that is being read is longer than a row may be."""


class _Record(NamedTuple):
    """One record.

    Attributes:
        values: its fields.
        trouble: why it cannot be read; empty if it can.
        raw: its bytes; the first ones if it is too long.
        size: all its bytes, if it is too long; else 0.
        line: number of its first line, from 1.
        span: its bytes in the unpacked file.
        wrong: the first of its bytes that is not in the encoding; -1: all are.
    """

    values: list[str]
    trouble: str
    raw: bytes
    size: int
    line: int
    span: RawSpan
    wrong: int


@dataclass(frozen=True, kw_only=True)
class DelimitedRows(RowDocuments):
    r"""One record becomes one document; see RowDocuments for the fields. Values stay the strings that are written.

    A table has no null, so an empty cell stands for what is not there. A record whose text is empty or white space is
    left out, and counted. An empty cell of `created` or `added` is no time.

    The header is the first record, unless `columns` names the fields. A record with another number of fields, or with
    quotes that do not fit together, is refused, with its row number, counted from 0 after the header, and its line.

    Attributes:
        delimiter: one character: "," or "\t" or another.
        quote: the character around fields; None: quotes are characters as any other.
        escape: the character that takes the meaning of the next one, such as "\\"; None: quotes are written twice.
        encoding: text encoding of the file. Its line feeds must be those of ASCII, so UTF-16 cannot be read.
        columns: names of the fields, for files without a header.

    Raises (while a file is read):
        DataError: the header lacks a field that the recipe names, or has one twice; or the file is truncated; or it
            is empty, and `columns` is None.
    """

    gives_json: ClassVar[bool] = True
    row_ids = RowDocuments.row_ids
    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    encoding: str = "utf-8"
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: see RowDocuments; or the characters or the encoding are not valid.
        """
        super().__post_init__()
        what = f"DelimitedRows of source {self.source!r}"
        given = [each for each in (self.delimiter, self.quote, self.escape) if each is not None]
        if any(len(each) != 1 or each in "\r\n" for each in given) or len(set(given)) < len(given):
            raise RecipeError(f"{what}: delimiter, quote and escape must be three different characters")
        check_encoding(self.encoding, f"{what}: encoding")
        if "a\n".encode(self.encoding) != b"a\n":
            raise RecipeError(f"{what}: encoding is {self.encoding!r}; rewrite the files in UTF-8, as iconv does")

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per record: a document, or why it was left out or refused.

        See gristmill.recipes.source.Source.convert.
        """
        header, number = None if self.columns is None else self._check_header(list(self.columns), raw), 0
        for record in self._parse_records(raw):
            if header is None:
                if record.trouble:
                    mend = self._encoding_mend() if record.wrong >= 0 else "declare columns, or mend it"
                    raise DataError(f"{raw.path}: the header cannot be read ({record.trouble}); {mend}")
                header = self._check_header(record.values, raw)
                continue
            raw.raw_span = record.span
            yield self._convert_row(record, header, raw, number)
            number += 1
        if header is None:
            raise DataError(
                f"{raw.path}: the header is missing, for the file is empty; get it again, or declare columns"
            )

    def _encoding_mend(self) -> str:
        """What to do about bytes that are not in the encoding."""
        other = "latin-1" if self.encoding.lower().replace("_", "-") in {"utf-8", "utf8", "utf-8-sig"} else "..."
        return f'declare encoding="{other}", or as the file is'

    def _check_header(self, header: list[str], raw: RawObject) -> list[str]:
        """The names of the fields, if they are those that the recipe needs.

        Raises:
            DataError: a name is missing or there twice.
        """
        has = shorten(", ".join(header), _SHOWN)
        if len(set(header)) < len(header):
            twice = shorten(", ".join(sorted(name for name, count in Counter(header).items() if count > 1)), _SHOWN)
            raise DataError(f"{raw.path}: the header has {twice} twice; it has: {has}; declare columns")
        for name, option in self.named().items():
            if name not in header and name not in self.optional:
                others = [words for each, words in _GUESSES.items() if len(header) == 1 and each in header[0]]
                guess = f"; is the delimiter a {others[0]}?" if others else ""
                raise DataError(f"{raw.path}: no field {name!r}, which {option} names; the header has: {has}{guess}")
        return header

    def _convert_row(self, record: _Record, header: list[str], raw: RawObject, number: int) -> Converted:
        where = f"{raw.name} row {number} (line {record.line}"
        if record.trouble:
            byte = ""
            if record.size:
                byte = f": {record.size} bytes, but row_limit is {raw.limits.row}; its first are kept"
            if record.wrong >= 0:
                byte = f", byte {record.span.start + record.wrong} unpacked; {self._encoding_mend()}"
            return Refused(record.trouble, f"{where}{byte})", record.raw, record.size)
        if len(record.values) != len(header):
            reason = "ragged row" if record.values else "empty line"
            return Refused(reason, f"{where}: {len(record.values)} fields, the header has {len(header)})", record.raw)
        made = self.document(dict(zip(header, record.values, strict=True)), raw, number, record.raw)
        if isinstance(made, Document) and isinstance(self.format, Text) and not made.text.strip():
            return LeftOut("empty text", id=made.id, source=made.source)
        return made

    def _time_field(self, fields: dict[str, Any], name: str, key: str | None) -> str | UnsetType | None:
        if fields.get(key or name) == "":
            del fields[key or name]
            return UNSET
        return super()._time_field(fields, name, key)

    def _parse_records(self, raw: RawObject) -> Iterator[_Record]:
        csv.field_size_limit(ROW_LIMIT)  # of the whole process; the lines of a record are limited below
        quoting = _Quoting(self.delimiter, self.quote, self.escape, self.encoding)
        lines = _CountedLines(raw, self.encoding, quoting)
        while not lines.ended:
            reader = csv.reader(
                lines,
                delimiter=self.delimiter,
                quotechar=self.quote,
                quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
                escapechar=self.escape,
                doublequote=self.escape is None,
                strict=True,
            )
            yield from self._until_too_long(reader, lines)

    def _until_too_long(self, reader: Iterator[list[str]], lines: "_CountedLines") -> Iterator[_Record]:
        """The records up to the end, or up to one that is too long."""
        while True:
            values: list[str] = []
            trouble = ""
            try:
                values = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                trouble = _csv_error_reason(str(error))
            except _TooLong:
                lines.skip_record()
                yield lines.record(values, TOO_LONG)
                return
            yield lines.record(values, trouble)


class _Quoting:
    """Tells where a record that is too long ends, from its bytes in pieces. It holds none of them.

    It reads quotes as `csv` does: a field is quoted if it begins with a quote, and ends at a quote that is not doubled,
    or not escaped. A quote elsewhere is a character as any other.

    Args:
        delimiter: see DelimitedRows.
        quote: see DelimitedRows.
        escape: see DelimitedRows.
        encoding: see DelimitedRows.

    Attributes:
        inside: whether the record goes on after its lines so far.
    """

    def __init__(self, delimiter: str, quote: str | None, escape: str | None, encoding: str) -> None:
        self._delimiter, self._escape, self._encoding = delimiter, escape, encoding
        self._quotes = re.compile(re.escape(quote) + ("" if escape else "+")) if quote else None
        self._escapes = re.compile(f"{re.escape(escape)}.", re.DOTALL) if escape else None
        self.begin_record()

    def begin_record(self) -> None:
        """Begins a record."""
        self.inside = self._quoted = self._escaped = False
        self._fresh = True  # a quote that comes next is the first of its field, or the second of a double one
        self._decoder = codecs.getincrementaldecoder(self._encoding)("surrogateescape")

    def add(self, data: bytes) -> None:
        """Takes the next bytes of a line, without its line feed."""
        for start in range(0, len(data), HEAD):
            self._add_text(self._decoder.decode(data[start : start + HEAD]))

    def _add_text(self, text: str) -> None:
        if not text:
            return
        if self._escapes:
            text = self._escapes.sub("x", f"{self._escape}{text}" if self._escaped else text)
            self._escaped = text[-1] == self._escape
        fresh = text[-1] == self._delimiter
        for run in self._quotes.finditer(text) if self._quotes else ():
            before = text[run.start() - 1] == self._delimiter if run.start() else self._fresh
            if self._quoted or before:
                self._quoted ^= (run.end() - run.start()) % 2 == 1
                fresh |= run.end() == len(text) and not self._escape
        self._fresh = fresh

    def end_line(self) -> None:
        """Ends a line."""
        self._add_text(self._decoder.decode(b"", final=True))
        self.inside = self._quoted or self._escaped
        self._escaped = self._fresh = False


class _CountedLines:
    """The decoded lines of a file, and where the record that they make began.

    Args:
        raw: the file.
        encoding: of the file.
        quoting: finds the end of a record that is too long.

    Attributes:
        ended: whether the last line was taken.
    """

    def __init__(self, raw: RawObject, encoding: str, quoting: _Quoting) -> None:
        self._raw, self._encoding, self._quoting = raw, encoding, quoting
        self._lines = raw_lines(raw, self._on_long)
        self.ended = self._long = False
        self._pieces: list[bytes] = []
        self._line = self._start = self._end = self._skipped = self._number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._take_lines()
        if self._long:
            raise _TooLong
        return (line + b"\n").decode(self._encoding, "surrogateescape")

    def _on_long(self, piece: bytes) -> None:
        """Takes a piece of a line that is itself too long; see raw_lines()."""
        self._become_long()
        first = not self._number and not self._skipped
        self._skipped += len(piece)
        self._quoting.add(piece.removeprefix(BOM) if first else piece)

    def _become_long(self) -> None:
        if not self._long:
            self._long = True
            self._quoting.begin_record()
            for line in self._pieces:
                self._quoting.add(line)
                self._quoting.end_line()

    def _take_lines(self) -> bytes:
        known = self._long
        try:
            number, line = next(self._lines)
        except StopIteration:
            self.ended = True
            raise
        span = self._raw.raw_span or RawSpan(0, 0)
        if not self._pieces:
            self._line, self._start = number + 1, span.start
        self._number = number + 1
        self._end = span.start + self._skipped if self._skipped else span.end
        if not self._skipped and (self._long or self._end - self._start > self._raw.limits.row):
            self._become_long()
            self._quoting.add(line)
        if self._long:
            self._quoting.end_line()
        if not known:
            self._pieces.append(line[:HEAD] if self._long else line)
        self._skipped = 0
        return line

    def skip_record(self) -> None:
        """Passes over the rest of a record that is too long."""
        while self._quoting.inside and not self.ended:
            try:
                self._take_lines()
            except StopIteration:
                return

    def record(self, values: list[str], trouble: str) -> _Record:
        """The record of the lines since the last one."""
        raw, wrong = b"\n".join(self._pieces), -1
        if not trouble and not raw.isascii():
            try:
                raw.decode(self._encoding)
            except UnicodeDecodeError as error:
                trouble, wrong = f"not {self._encoding}", error.start
        size = self._end - self._start if trouble == TOO_LONG else 0
        made = _Record(
            values, trouble, raw[:HEAD] if size else raw, size, self._line, RawSpan(self._start, self._end), wrong
        )
        self._pieces, self._long = [], False
        return made


def _csv_error_reason(error: str) -> str:
    """The short, stable reason for an error of `csv`."""
    if "unexpected end of data" in error:
        return "quote is not closed"
    return "carriage return in a field" if "new-line character" in error else "misplaced quote"
