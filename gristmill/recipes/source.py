"""Conversion: raw objects become v0 documents, shard by shard; what cannot become one is put in quarantine."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import xxhash

from gristmill.errors import RecipeError
from gristmill.lake.address import (
    check_name,
    check_shard,
)
from gristmill.recipes.raw_object import Converted, RawObject
from gristmill.recipes.selection import Selection

CONVERSION = 1
"""Version of the way we write documents; the next number rebuilds every v0."""

PACKED = (".jsonl.gz", ".json.gz", ".jsonl.zst", ".jsonl.zstd", ".jsonl", ".json")


@dataclass(frozen=True, slots=True)
class OneToOne:
    """One shard a raw object, of its name without the packing's suffix."""

    def shard(self, name: str) -> str:
        """The shard of a raw object."""
        stem = next((name.removesuffix(end) for end in PACKED if name.endswith(end)), name)
        return check_shard(stem)

    def parameters(self) -> list[Any]:
        """As JSON."""
        return ["one-to-one"]


@dataclass(frozen=True, slots=True)
class Hashed:
    """A fixed number of shards; a raw object's is drawn by the hash of its name, whatever else arrives."""

    count: int

    def shard(self, name: str) -> str:
        """The shard of a raw object."""
        width = max(2, len(str(self.count - 1)))
        return f"{xxhash.xxh3_64_intdigest(name.encode()) % self.count:0{width}d}"

    def parameters(self) -> list[Any]:
        """As JSON."""
        return ["hashed", self.count]


@dataclass(frozen=True, slots=True)
class Folders:
    """A snapshot is the first folder (or the first several, joined by '.')."""

    count: int = 1

    def split(self, name: str) -> tuple[str, str] | None:
        """(snapshot, name below it) of an object's name below `raw/`; None if it lies in no snapshot."""
        parts = name.split("/")
        if len(parts) <= self.count:
            return None
        return ".".join(parts[: self.count]), name

    def prefix(self, snapshot: str) -> str:
        """What the names of a snapshot's objects begin with."""
        return f"{snapshot}/" if self.count == 1 else ""


@dataclass(frozen=True, slots=True)
class Matching:
    """A snapshot is what the group `snapshot` of a pattern finds in an object's name."""

    pattern: str

    def split(self, name: str) -> tuple[str, str] | None:
        """See Folders."""
        found = re.search(self.pattern, name)
        return (found["snapshot"], name) if found else None

    def prefix(self, snapshot: str) -> str:  # noqa: ARG002 - the same shape as Folders
        """See Folders."""
        return ""


@dataclass(frozen=True, slots=True)
class Everything:
    """All raw objects are one snapshot, `all`."""

    def split(self, name: str) -> tuple[str, str]:
        """See Folders."""
        return "all", name

    def prefix(self, snapshot: str) -> str:  # noqa: ARG002 - the same shape as Folders
        """See Folders."""
        return ""


@dataclass(frozen=True, kw_only=True)
class Revision(Selection):
    """The rules that turn one dataset version into the next."""

    version: str


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where documents come from, and how its raw objects become documents.

    Attributes:
        name: of the source; ids are unique within it (within a snapshot, if snapshots replace each other).
        description: for people.
        licence: SPDX expression, or words.
        owners: mail addresses or `team:name`.
        convert: what one raw object holds, document by document.
        shards: which shard a raw object goes to.
        select: which raw objects are read: a pattern that their names below the snapshot must match.
        partition: which snapshot a raw object belongs to.
        snapshots: `accumulate`: ids are unique over all of them; `replace`: each is a whole edition.
        quarantine_limit: share of refused rows above which a shard fails (ten rows are always let pass).
        parameters: whatever else changes the output.
        revisions: v1, v2, ... in order; empty if v0 is used as it is.
        raw: another folder or s3:// prefix that holds the raw snapshots, read-only.
        watched: whether the raw-arrival sensor looks at it.
        draft: whether the recipe may change under its name.
        quiet: seconds for which a snapshot's listing must stay the same before the sensor reports it: late uploads.
        inventory: `s3://` address of an S3 Inventory of the bucket that holds the raw snapshots; read by the sensor.
        marker: name of the file whose presence in a snapshot says that it is whole, such as `_SUCCESS`; it is no data.
    """

    name: str
    convert: Callable[[RawObject], Iterable[Converted]]
    shards: OneToOne | Hashed = field(default_factory=OneToOne)
    description: str = ""
    licence: str = ""
    owners: tuple[str, ...] = ()
    select: str | None = None
    partition: Folders | Matching | Everything = field(default_factory=Folders)
    snapshots: Literal["accumulate", "replace"] = "accumulate"
    quarantine_limit: float = 0.01
    parameters: Mapping[str, Any] = field(default_factory=dict)
    revisions: tuple[Revision, ...] = ()
    raw: str | None = None
    watched: bool = True
    draft: bool = False
    quiet: float = 0.0
    marker: str | None = None
    inventory: str | None = None

    def __post_init__(self) -> None:
        """Checks names and the order of versions.

        Raises:
            RecipeError: a name is none, or revisions are not v1, v2, ..., or quiet, marker or inventory is none.
        """
        check_name(self.name, "source")
        if not 0 <= self.quiet < math.inf:
            raise RecipeError(f"source {self.name!r}: quiet is {self.quiet!r}; give seconds, 0 or more")
        if self.marker is not None and (not self.marker or "/" in self.marker):
            raise RecipeError(f"source {self.name!r}: marker is {self.marker!r}; give a file's name, without folders")
        if self.inventory is not None and not self.inventory.startswith("s3://"):
            raise RecipeError(f"source {self.name!r}: inventory is {self.inventory!r}; give s3://bucket/...")
        expected = [f"v{i + 1}" for i in range(len(self.revisions))]
        if [r.version for r in self.revisions] != expected:
            raise RecipeError(f"source {self.name!r}: revisions are {', '.join(expected) or 'none'}, in this order")
        if self.select is not None:
            re.compile(self.select)

    @property
    def versions(self) -> tuple[str, ...]:
        """v0 and all revisions."""
        return ("v0", *(r.version for r in self.revisions))

    @property
    def current(self) -> str:
        """The newest version."""
        return self.versions[-1]

    def conversion_parameters(self) -> dict[str, Any]:
        """What changes v0, as JSON."""
        return {"shards": self.shards.parameters(), "select": self.select, **self.parameters}

    def is_marker(self, name: str) -> bool:
        """Whether a raw object says that its snapshot is whole."""
        return self.marker is not None and name.rpartition("/")[2] == self.marker

    def wants(self, name: str) -> bool:
        """Whether a raw object (named below its snapshot) is read."""
        if self.is_marker(name):
            return False
        hidden = any(part.startswith(".") for part in name.split("/"))
        return not hidden and (self.select is None or re.search(self.select, name) is not None)
