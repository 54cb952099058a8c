"""A converter for raw data that is in Dolma's form already: valid rows are kept as their bytes."""

from collections.abc import Iterator
from typing import Any

import msgspec
import orjson

from gristmill.readers.jsonl import raw_lines
from gristmill.recipes.raw_object import Converted, Copied, RawObject, Refused


class _Row(msgspec.Struct):
    id: str
    text: str
    source: str | msgspec.UnsetType | None = msgspec.UNSET
    added: str | msgspec.UnsetType | None = msgspec.UNSET
    created: str | msgspec.UnsetType | None = msgspec.UNSET
    metadata: dict[str, Any] | msgspec.UnsetType | None = msgspec.UNSET


class DolmaLines:
    """Rows of {"id","text","source",...} in .jsonl.gz, .json.gz, .jsonl.zst or plain files.

    A row is kept byte for byte; one without a source gets the one named here, in front. Rows that are no documents
    are refused, each with its file, row and byte range; a file that is truncated or not what its name says is an
    error.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._decoder = msgspec.json.Decoder(_Row)
        self._lead = b'{"source":' + msgspec.json.encode(source) + b","

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """See gristmill.recipes.source.Source.convert."""
        for number, line in raw_lines(raw):
            row = self._row(line)
            if isinstance(row, Refused) and raw.spot is not None:
                where = f"{raw.name} row {number} (bytes {raw.spot.start}-{raw.spot.end} unpacked)"
                row = row._replace(where=where)
            yield row

    def _row(self, line: bytes) -> Converted:
        try:
            if not line.isascii():
                line.decode()  # the decoder passes over unknown keys without a look at their bytes
            row = self._decoder.decode(line)
        except msgspec.ValidationError as error:
            return Refused(_reason(str(error)), "", line)
        except RecursionError:
            return Refused("nested too deeply", "", line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return Refused(_why_not_json(line), "", line)
        if not row.id:
            return Refused("no id", "", line)
        if "\x00" in row.text or "\x00" in row.id:
            return Refused("NUL in text or id", "", line)
        if not row.source:
            if row.source is not msgspec.UNSET:
                return Refused("source is null or empty", "", line)
            return Copied(row.id, self._source, self._lead + line.lstrip()[1:])
        return Copied(row.id, row.source, line)


def _reason(error: str) -> str:
    """A stable counter's name from the decoder's words."""
    for field in ("id", "text", "source", "added", "created", "metadata"):
        if f"missing required field `{field}`" in error:
            return f"no {field}"
        if f"`$.{field}`" in error:
            return f"{field} is no {'object' if field == 'metadata' else 'string'}"
    return "number out of range" if "out of range" in error else "not an object"


def _why_not_json(line: bytes) -> str:
    """A stable counter's name for a line that is no JSON."""
    if not line.strip():
        return "empty line"
    try:
        line.decode()
        orjson.loads(line)
    except UnicodeDecodeError:
        return "not UTF-8"
    except orjson.JSONDecodeError as error:
        return "lone surrogate" if "surrogate" in str(error) else "invalid JSON"
    return "invalid JSON"
