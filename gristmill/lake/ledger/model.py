"""What a ledger consists of: recipes, inputs, shards, and the head."""

from collections.abc import Mapping
from typing import Any

import msgspec

from gristmill.lake.identity import digest_of
from gristmill.lake.rows.shard_file import Written


class Recipe(msgspec.Struct, frozen=True):
    """What was declared on a shelf, as far as it changes the output.

    Attributes:
        name: of the recipe, e.g. `gopher-1`.
        version: of the way we apply it; a change of ours that changes bytes takes the next number.
        parameters: JSON.
        draft: whether it may change under its name.
    """

    name: str
    version: int
    parameters: dict[str, Any]
    draft: bool = False

    @property
    def digest(self) -> str:
        """sha256 over name, version and parameters."""
        return digest_of([self.name, self.version, self.parameters])


class Input(msgspec.Struct, frozen=True, gc=False):
    """One shard (or raw object) that a shard was made from; `content` is the digest of its content."""

    asset: str
    shard: str
    content: str


class Upstream(msgspec.Struct, frozen=True):
    """One partition that a partition was made from.

    Raw data have no ledger: their fingerprint is empty until compose() takes it from what the shards read.
    """

    asset: str
    snapshot: str
    fingerprint: str


class Quarantine(msgspec.Struct, frozen=True, gc=False):
    """The refused rows of a shard: how many, and the object they lie in."""

    rows: int
    bytes: int
    sha256: str


class Shard(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, rename={"inputs": "from"}):
    """A row of the table: one finished shard.

    Attributes:
        name: of the shard.
        rows: rows.
        bytes: size of the object.
        length: bytes of the rows, uncompressed.
        sha256: of the object.
        content: XXH3-128 of the uncompressed bytes.
        ids: digest over the ordered (source, id) pairs.
        recipe: digest of the recipe that made it.
        inputs: what it was made from.
        members: (offset, number of the first row) of each gzip member.
        index: sha256 of the id index, where there is one.
        dropped: rows of the input that are not here, by reason.
        counts: whatever else is counted.
        quarantine: the refused rows, where rows were refused.
        extra: what only this kind of asset says of a shard.
    """

    name: str
    rows: int
    bytes: int
    length: int
    sha256: str
    content: str
    ids: str
    recipe: str
    inputs: tuple[Input, ...]
    members: tuple[tuple[int, int], ...] = ()
    index: str = ""
    dropped: dict[str, int] = {}
    counts: dict[str, int] = {}
    quarantine: Quarantine | None = None
    extra: dict[str, Any] = {}

    @classmethod
    def of(
        cls,
        name: str,
        written: Written,
        *,
        ids: str,
        recipe: str,
        inputs: tuple[Input, ...],
        index: str = "",
        dropped: Mapping[str, int] | None = None,
        counts: Mapping[str, int] | None = None,
        quarantine: Quarantine | None = None,
    ) -> "Shard":
        """The row of a shard file that was written and closed; the other arguments are those of Shard."""
        return cls(
            name=name,
            rows=written.rows,
            bytes=written.bytes,
            length=written.length,
            sha256=written.sha256,
            content=written.content,
            ids=ids,
            recipe=recipe,
            inputs=inputs,
            members=tuple(written.members),
            index=index,
            dropped=dict(sorted((dropped or {}).items())),
            counts=dict(sorted((counts or {}).items())),
            quarantine=quarantine,
        )


class TableDigest(msgspec.Struct, frozen=True):
    """What the head says of its table: rows, and sha256 of the uncompressed lines."""

    shards: int
    sha256: str


class Ledger(msgspec.Struct, frozen=True):
    """The head. See the module's docstring and docs/ledger.md."""

    schema: int
    asset: str
    snapshot: str
    fingerprint: str
    recipe: Recipe
    inputs: tuple[Upstream, ...]
    totals: dict[str, int]
    dropped: dict[str, int]
    table: TableDigest

    @property
    def upstream(self) -> Upstream:
        """This partition as an input of others."""
        return Upstream(self.asset, self.snapshot, self.fingerprint)
