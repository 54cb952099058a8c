"""A reader for raw rows that have Dolma's form already. It keeps the bytes of each valid row.

Source: the document format of the Dolma toolkit (https://github.com/allenai/dolma, docs/data-format.md).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from gristmill.errors import shorten
from gristmill.lake.rows.json_values import decode_exact, find_repeated_key
from gristmill.readers.jsonl import KEY_TWICE, NOT_UTF8, is_not_utf8, raw_lines
from gristmill.readers.parts.units import cut_by
from gristmill.recipes.option_types import check_option
from gristmill.recipes.raw_object import Converted, Copied, RawObject, Refused
from gristmill.recipes.reader import Reader, RowIds


class _DolmaRow(msgspec.Struct):
    """A row of Dolma's form; other keys are ignored here and kept in the bytes."""

    id: str
    text: str
    source: str | msgspec.UnsetType | None = msgspec.UNSET
    added: str | msgspec.UnsetType | None = msgspec.UNSET
    created: str | msgspec.UnsetType | None = msgspec.UNSET
    metadata: dict[str, Any] | msgspec.UnsetType | None = msgspec.UNSET


@dataclass(frozen=True)
class DolmaLines(Reader):
    """Reads rows {"id", "text", "source", ...} from .jsonl.gz, .json.gz, .jsonl.zst or plain files.

    A valid row keeps its bytes. If a row has no key `source`, the reader adds it in front of the other keys.
    A row that is not a valid document is refused, with its file, row number and byte range. So is a row that has a key
    twice: its bytes are kept, and readers differ in which of the two they take.

    Args:
        source: name of the source, for rows without one.

    Raises (while a file is read):
        DataError: the file is truncated, or its bytes are not of the format that its name says.
    """

    source: str

    def __post_init__(self) -> None:
        """Checks the option."""
        check_option(self.source, str, "DolmaLines: source")

    def row_ids(self) -> RowIds:
        return RowIds("field", "id", source="source")

    def cut_by(self, name: str) -> str:
        """The units at which an object of this name is cut, such as `lines`; empty if it is never cut. See Split."""
        return cut_by(name)

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per line: a copied row, or why it was refused.

        See gristmill.recipes.source.Source.convert.
        """
        for number, line in raw_lines(raw):
            row = self._convert_line(line)
            if isinstance(row, Refused) and raw.raw_span is not None:
                where = f"{raw.name} row {number} (bytes {raw.raw_span.start}-{raw.raw_span.end} unpacked{row.where})"
                row = row._replace(where=where)
            yield row

    def _convert_line(self, line: bytes) -> Converted:
        try:
            value = decode_exact(line)
            row = msgspec.convert(value, _DolmaRow)
            twice = find_repeated_key(line, value)
        except msgspec.ValidationError as error:
            reason = _decoding_error_reason(str(error))
            return Refused(reason, _field_names_for_message(line) if reason in {"no id", "no text"} else "", line)
        except RecursionError:
            return Refused("nested too deeply", "", line)
        except (msgspec.DecodeError, orjson.JSONDecodeError):
            wrong = is_not_utf8(line)
            return Refused(NOT_UTF8, f"; {wrong}", line) if wrong else Refused(_why_not_json(line), "", line)
        if twice is not None or not row.id:
            return Refused("no id", "", line) if twice is None else Refused(KEY_TWICE, f": {twice:.60}", line)
        if "\x00" in row.id:
            return Refused("NUL in id", "", line)
        if not row.source:
            if row.source is not msgspec.UNSET:
                return Refused("source is null or empty", "", line)
            first = b'{"source":' + msgspec.json.encode(self.source) + b","
            return Copied(row.id, self.source, first + line.lstrip()[1:])
        return Copied(row.id, row.source, line)


def _field_names_for_message(line: bytes) -> str:
    """The names of a row's fields, for the message about one that is missing."""
    names = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    return f"; the row has: {shorten(', '.join(names), 200) or 'no field'}"


def _decoding_error_reason(error: str) -> str:
    """The short, stable reason for a validation error of the decoder. Ledgers count refused rows by it."""
    for field in ("id", "text", "source", "added", "created", "metadata"):
        if f"missing required field `{field}`" in error:
            return f"no {field}"
        if f"`$.{field}`" in error:
            return f"{field} is no {'object' if field == 'metadata' else 'string'}"
    return "number out of range" if "out of range" in error else "not an object"


def _why_not_json(line: bytes) -> str:
    """The short, stable reason for a line that is not valid JSON. Ledgers count refused rows by it."""
    if not line.strip():
        return "empty line"
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return "lone surrogate" if "surrogate" in str(error) else "invalid JSON"
    return "invalid JSON"
