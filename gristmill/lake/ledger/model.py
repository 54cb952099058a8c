"""The data types of a ledger: recipe, inputs, shards (the rows of the table) and head. See docs/reference/ledger.md."""

from dataclasses import is_dataclass
from datetime import date, datetime, time
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec
import orjson

from gristmill.lake.identity import digest_of
from gristmill.lake.rows.shard_file import Written
from gristmill.lake.store.json_object import Count, Integer

_OTHERS = (date, datetime, time, UUID, Enum)
"""The types beside those of JSON that the digest of a recipe takes, as orjson writes them."""


class Recipe(msgspec.Struct, frozen=True):
    """The declared options that change the output.

    Attributes:
        name: name of the recipe, such as `gopher-1`.
        version: version of the code that applies it. It increases when a change of Gristmill changes bytes.
        parameters: the options, as JSON values.
        draft: whether the recipe may change without a new name.
    """

    name: str
    version: int
    parameters: dict[str, Any]
    draft: bool = False

    def __post_init__(self) -> None:
        """Makes values of JSON: else a recipe would differ from the one that its ledger gives back."""
        msgspec.structs.force_setattr(self, "parameters", _as_json(self.parameters))

    @property
    def digest(self) -> str:
        """The SHA-256 of name, version and parameters, hexadecimal."""
        return digest_of([self.name, self.version, self.parameters])


def _as_json(value: Any) -> Any:
    """A value as JSON gives it back: lists of tuples, and words of dates, UUIDs, enumerations and dataclasses."""
    if isinstance(value, dict):
        return {key: _as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    if isinstance(value, _OTHERS) or is_dataclass(value):
        return orjson.loads(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
    return value


class Input(msgspec.Struct, frozen=True, gc=False):
    """One shard, or one raw object, that a shard was made from. `content` is the digest of its content."""

    asset: str
    shard: str
    content: str


class Upstream(msgspec.Struct, frozen=True):
    """One partition that a partition was made from.

    Raw data have no ledger. Their fingerprint is empty until compose_ledger() computes it from the shards' inputs.
    """

    asset: str
    snapshot: str
    fingerprint: str


class Quarantine(msgspec.Struct, frozen=True, gc=False):
    """The object with the refused rows of a shard: number of rows, size in bytes, and SHA-256."""

    rows: Count
    bytes: Count
    sha256: str


class Shard(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename={"inputs": "from"}):
    """A row of the table: one finished shard.

    Attributes:
        name: name of the shard.
        rows: number of rows.
        bytes: size of the object, in bytes.
        length: size of the uncompressed rows, in bytes.
        sha256: SHA-256 of the object, hexadecimal.
        content: XXH3-128 of the uncompressed bytes, hexadecimal.
        ids: digest of the (source, id) pairs, in row order.
        recipe: digest of the recipe that made the shard.
        inputs: the shards or raw objects it was made from; the key in JSON is `from`.
        members: (byte offset, number of the first row) of each gzip member.
        index: sha256 of the id index; empty if the kind has no id index.
        dropped: number of input rows that were left out, by reason.
        counts: other counters, by name.
        quarantine: the refused rows; None if no rows were refused.
        extra: fields that only this kind of asset has.
    """

    name: str
    rows: Count
    bytes: Count
    length: Count
    sha256: str
    content: str
    ids: str
    recipe: str
    inputs: tuple[Input, ...]
    members: tuple[tuple[Count, Count], ...] = ()
    index: str = ""
    dropped: dict[str, Integer] = {}
    counts: dict[str, Integer] = {}
    quarantine: Quarantine | None = None
    extra: dict[str, Any] = {}

    @classmethod
    def from_written(
        cls, name: str, written: Written, *, ids: str, recipe: str = "", inputs: tuple[Input, ...] = ()
    ) -> "Shard":
        """The row of a shard file that was written and closed. The other arguments are as in Shard."""
        w, members = written, tuple(written.members)
        return cls(name, w.rows, w.bytes, w.length, w.sha256, w.content, ids, recipe, inputs, members)

    @property
    def at(self) -> str:
        """The path of an adopted file below its root; empty if the shard lies in the lake."""
        at = self.extra.get("at", "")
        return at if isinstance(at, str) else ""

    @property
    def held_out_bitmap(self) -> str:
        """The bitmap of the rows that a mix holds out by a key (see gristmill.lake.rows.bitmap); empty without one."""
        held = self.extra.get("held", "")
        return held if isinstance(held, str) else ""

    @property
    def identity(self) -> str:
        """The digest on which everything depends that is made from the shard: of its content and, where a mix has a
        key, of the rows held out.

        It is `content` of all other shards.
        """
        return digest_of([self.content, self.held_out_bitmap]) if self.held_out_bitmap else self.content

    @property
    def objects(self) -> dict[str, tuple[str, int]] | None:
        """The sha256 and size in bytes of each object that `extra` names, by path; None if the shard is the one object.

        Raises:
            msgspec.ValidationError: `extra` names no such objects. `parse_table` has refused such a row.
        """
        if "objects" not in self.extra:
            return None
        return msgspec.convert(self.extra["objects"], dict[str, tuple[str, Count]])


class TableDigest(msgspec.Struct, frozen=True):
    """The head's description of its table: number of rows, and sha256 of the uncompressed lines."""

    shards: Count
    sha256: str


class Ledger(msgspec.Struct, frozen=True):
    """The head of a ledger. docs/reference/ledger.md describes each field."""

    schema: int
    asset: str
    snapshot: str
    fingerprint: str
    recipe: Recipe
    inputs: tuple[Upstream, ...]
    totals: dict[str, Integer]
    dropped: dict[str, Integer]
    table: TableDigest

    @property
    def upstream(self) -> Upstream:
        """The partition as an input of another partition."""
        return Upstream(self.asset, self.snapshot, self.fingerprint)
