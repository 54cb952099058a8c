"""Reads one JSON array of objects as a stream: at the top of a file, or anywhere in its objects."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import orjson

from gristmill.errors import DataError, RecipeError, shorten
from gristmill.lake.rows.json_values import decode_exact, find_repeated_key
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.jsonl import KEY_TWICE, why_no_row
from gristmill.readers.parts.json_scan import JsonScan, NotJson, ScannedValue
from gristmill.readers.records import RowDocuments
from gristmill.recipes.raw_object import TOO_LONG, Converted, RawObject, Refused

_SHOWN = 200
_NAMES = 40
"""Names of a file's fields that are told."""
_KINDS = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}


@dataclass(frozen=True, kw_only=True)
class JsonArray(RowDocuments):
    """Each entry of an array becomes one document; see RowDocuments for the fields.

    The file is read as a stream: only one entry is in memory. Entries are decoded as JsonLines decodes lines. An entry
    that is no valid document, is longer than the longest row of the source, or is nested deeper than 200 levels is
    refused, with its number, counted from 0.

    Attributes:
        items: the path of the entries: names joined by dots, with `item` for the entries of an array. "item": the file
            is an array. "data.item": the array is the field `data` of the file's object.

    Raises (while a file is read):
        DataError: the file has no such array, has two of them because a key is there twice, or is wrong JSON (the
            message has the number of the last entry).
    """

    gives_json: ClassVar[bool] = True
    row_ids = RowDocuments.row_ids

    items: str = "item"

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: see RowDocuments; or `items` is no path.
        """
        super().__post_init__()
        if not all(self.items.split(".")):
            raise RecipeError(f"JsonArray of source {self.source!r}: items is {self.items!r}; give a path: 'data.item'")

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per entry: a document, or why it was refused.

        See gristmill.recipes.source.Source.convert.
        """
        walk = _Walk(raw, self.items)
        number = 0
        try:
            for entry in walk.entries():
                number += 1
                raw.check_unpacked(entry.end, number)
                raw.raw_span = RawSpan(entry.start, entry.end)
                yield self._convert_entry(entry, raw, number - 1)
        except NotJson as error:
            what = f"not valid JSON after entry {number - 1}" if number else "not valid JSON"
            raise DataError(f"{raw.path}: {what} ({error}); acquire it again") from error
        if not number and not walk.is_there:
            raise DataError(
                f"{raw.path}: no entries at {self.items!r}; the file is {walk.content_in_words()}; give"
                " items='name.item' for an array that is a field, or items='item' if the file is an array; for one"
                " object in each line, use JsonLines"
            )

    def _convert_entry(self, entry: ScannedValue, raw: RawObject, number: int) -> Converted:
        where = f"{raw.name} row {number}"
        if entry.size > raw.limits.row:
            told = f"{where}: {entry.size} bytes, but row_limit is {raw.limits.row}; its first are kept"
            return Refused(TOO_LONG, told, entry.data, entry.size)
        if entry.deep:
            return Refused("nested too deeply", where, entry.data)
        try:
            row = decode_exact(entry.data)
            twice = find_repeated_key(entry.data, row)
        except (msgspec.DecodeError, orjson.JSONDecodeError, RecursionError) as error:
            return why_no_row(error, where, entry.data)
        if twice is not None:
            return Refused(KEY_TWICE, f"{where}: {twice:.60}", entry.data)
        return self.document(row, raw, number, entry.data)


class _Walk:
    """The way through a file to the entries of its array. Other values are passed, and checked to be JSON.

    Attributes:
        is_there: whether the array was found.
    """

    def __init__(self, raw: RawObject, items: str) -> None:
        self._raw, self._items = raw, items
        self._scan = JsonScan(raw.plain_chunks(), raw.limits.row)
        self._names: list[str] = []
        self._top = ""
        self.is_there = False

    def entries(self) -> Iterator[ScannedValue]:
        """The entries.

        Raises:
            NotJson: the file is not valid JSON.
            DataError: a key on the way to the array is there twice.
        """
        first = self._scan.next_byte()
        self._top = "" if first < 0 else _KINDS.get(chr(first), "number")
        yield from self._entries_below_path(self._items)
        after = self._scan.next_byte()
        if after >= 0 and (after != ord("{") or self.is_there):
            raise NotJson(f"more follows its end at byte {self._scan.offset}")

    def content_in_words(self) -> str:
        """What the file is, for messages."""
        if self._top == "object":
            return f"an object with: {shorten(', '.join(self._names), _SHOWN)}"
        return f"one {self._top}"

    def _entries_below_path(self, path: str) -> Iterator[ScannedValue]:
        """The entries in the next value, at a path in it."""
        if self._scan.pass_byte_if_next(b"["):
            yield from self._walk_array(path)
        elif self._scan.pass_byte_if_next(b"{"):
            yield from self._walk_object(path)
        else:
            self._passed_value()

    def _walk_array(self, path: str) -> Iterator[ScannedValue]:
        here, _, rest = path.partition(".")
        self.is_there |= path == "item"
        if self._scan.pass_byte_if_next(b"]"):
            return
        while True:
            yield from self._walk_value(rest if here == "item" else None)
            if self._scan.pass_byte_if_next(b"]"):
                return
            self._pass_required_byte(b",")

    def _walk_object(self, path: str) -> Iterator[ScannedValue]:
        top = path == self._items
        seen: set[str] = set()
        if self._scan.pass_byte_if_next(b"}"):
            return
        while True:
            name = self._read_object_key()
            if top and len(self._names) < _NAMES:
                self._names.append(name)
            self._pass_required_byte(b":")
            on_the_way = bool(name) and f"{path}.".startswith(f"{name}.")
            if on_the_way and name in seen:
                raise DataError(f"{self._raw.path}: the key {name!r} is there twice; mend it, or acquire it again")
            if on_the_way:
                seen.add(name)
            yield from self._walk_value(path[len(name) + 1 :] if on_the_way else None)
            if self._scan.pass_byte_if_next(b"}"):
                return
            self._pass_required_byte(b",")

    def _walk_value(self, path: str | None) -> Iterator[ScannedValue]:
        """The entries in a value. Path: of them in it; empty: it is an entry itself; None: it has none."""
        if path is None:
            self._passed_value()
        elif path:
            yield from self._entries_below_path(path)
        else:
            yield self._scan.value()

    def _read_object_key(self) -> str:
        if self._scan.next_byte() != ord('"'):
            raise NotJson(f"no name at byte {self._scan.offset}")
        return str(_decode_entry(self._scan.value()))

    def _pass_required_byte(self, byte: bytes) -> None:
        if not self._scan.pass_byte_if_next(byte):
            ends = ", where the file ends" if self._scan.next_byte() < 0 else ""
            raise NotJson(f"no {byte.decode()!r} at byte {self._scan.offset}{ends}")

    def _passed_value(self) -> None:
        entry = self._scan.value()
        if entry.size <= self._raw.limits.row and not entry.deep:
            _decode_entry(entry)


def _decode_entry(entry: ScannedValue) -> object:
    try:
        return msgspec.json.decode(entry.data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotJson(f"at byte {entry.start}: {error}") from error
