"""MergedRow: a row of documents with its attributes, whose values stay as they are written until somebody needs one."""

from functools import cached_property, lru_cache
from typing import Any

import msgspec
import orjson

Values = dict[str, msgspec.Raw]
_FIELDS = msgspec.json.Decoder(Values)
_PROVENANCE = b"provenance"


class MergedRow:
    """A row.

    Args:
        fields: fields of the document, its attributes among them.
    """

    def __init__(self, fields: Values) -> None:
        self.fields = fields
        self._decoded: dict[str, Any] = {}
        self._texts: dict[frozenset[str] | None, str] = {}

    @cached_property
    def document(self) -> Any:
        """The row as values."""
        return orjson.loads(join_values(self.fields))

    def part(self, names: frozenset[str] | None) -> Any:
        """The row as values, with no other fields than these; with all of them for None."""
        if names is None:
            return self.document
        for name in names - self._decoded.keys() & self.fields.keys():
            self._decoded[name] = orjson.loads(bytes(self.fields[name]))
        return self._decoded

    def sorted_text(self, names: frozenset[str] | None) -> str:
        """The row as JSON, its keys in order at all depths: so Dolma's mixer shows rows to jq.

        Args:
            names: names of the fields that are wanted; None for all.

        Raises:
            ValueError: it is nested too deeply.
        """
        if names not in self._texts:
            part = self.part(names)
            wanted = part if names is None else {name: part[name] for name in names & part.keys()}
            try:
                self._texts[names] = orjson.dumps(wanted, option=orjson.OPT_SORT_KEYS).decode()
            except orjson.JSONEncodeError as error:
                raise ValueError(f"jq does not read it: {error}") from error
        return self._texts[names]


def join_values(values: Values) -> bytes:
    """An object of these values."""
    return b"".join(value_pieces(values))


def value_pieces(values: Values) -> list[bytes | msgspec.Raw]:
    """The pieces that make an object of these values when they are joined: nothing is copied before."""
    found: list[Any] = [b""] * (2 * len(values) + 1)
    found[:-1:2] = _key_prefixes(tuple(values))
    found[1::2] = values.values()
    found[-1] = b"}" if values else b"{}"
    return found


@lru_cache(4096)
def _key_prefixes(keys: tuple[str, ...]) -> list[bytes]:
    """What is written before each value. Most rows of a file have the same keys."""
    return [(b"," if number else b"{") + orjson.dumps(key) + b":" for number, key in enumerate(keys)]


def add_provenance(metadata: msgspec.Raw, place: bytes) -> msgspec.Raw:
    """The metadata, with the place that a row comes from.

    Args:
        metadata: metadata of the row; what is no object is replaced.
        place: JSON.

    >>> bytes(add_provenance(msgspec.Raw(b'{"a": 1}'), b'"0.json.gz:1"'))
    b'{"a": 1,"provenance":"0.json.gz:1"}'
    """
    written = bytes(metadata)
    if not written.startswith(b"{"):
        return msgspec.Raw(b'{"provenance":' + place + b"}")
    if _PROVENANCE in written or b"\\u" in written or not written[1:-1].strip():
        return msgspec.Raw(join_values({**_FIELDS.decode(written), "provenance": msgspec.Raw(place)}))
    return msgspec.Raw(written[:-1] + b',"provenance":' + place + b"}")
