"""What a source declares: how its raw objects become v0 documents, shard by shard, and its revisions v1, v2, ..."""

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
from gristmill.lake.rows.row_blocks import ROW_LIMIT
from gristmill.lake.store.endpoint import check_lake_url
from gristmill.recipes.raw_object import Converted, Limits, RawObject
from gristmill.recipes.selection import Selection

CONVERSION = 1
"""Version of the way we write documents. Raising it rebuilds every v0."""

PACKED = (".jsonl.gz", ".json.gz", ".jsonl.zst", ".jsonl.zstd", ".jsonl", ".json")


@dataclass(frozen=True, slots=True)
class OneToOne:
    """Each raw object becomes one shard of the same name, without the suffix of its packing."""

    def shard(self, name: str) -> str:
        """The shard of a raw object.

        Args:
            name: its name below the snapshot.

        Raises:
            DataError: the name cannot be a shard's name.

        >>> OneToOne().shard("en/tales.jsonl.gz")
        'en/tales'
        """
        for end in PACKED:
            if name.endswith(end):
                return check_shard(name.removesuffix(end))
        return check_shard(name)

    def parameters(self) -> list[Any]:
        """The parameters in a recipe, as JSON."""
        return ["one-to-one"]


@dataclass(frozen=True, slots=True)
class Hashed:
    """A fixed number of shards. The hash of a raw object's name draws its shard, so new objects do not move others.

    Attributes:
        count: number of shards.
    """

    count: int

    def shard(self, name: str) -> str:
        """The shard of a raw object: XXH3-64 of its name, modulo the number of shards.

        Args:
            name: its name below the snapshot.

        >>> [Hashed(24).shard(name) for name in ("a.jsonl.gz", "b.jsonl.gz")]
        ['16', '05']
        """
        width = max(2, len(str(self.count - 1)))
        return f"{xxhash.xxh3_64_intdigest(name.encode()) % self.count:0{width}d}"

    def parameters(self) -> list[Any]:
        """The parameters in a recipe, as JSON."""
        return ["hashed", self.count]


@dataclass(frozen=True, slots=True)
class Folders:
    """The snapshot is the first folder of a raw object's name, or its first `count` folders joined by '.'.

    Attributes:
        count: number of folders.
    """

    count: int = 1

    def split(self, name: str) -> tuple[str, str] | None:
        """The snapshot of a raw object.

        Args:
            name: its name below `raw/`.

        Returns:
            (snapshot, name), or None if the object is in no snapshot.

        >>> Folders(2).split("en/2024-01/a.jsonl")
        ('en.2024-01', 'en/2024-01/a.jsonl')
        """
        parts = name.split("/")
        if len(parts) <= self.count:
            return None
        return ".".join(parts[: self.count]), name

    def prefix(self, snapshot: str) -> str:
        """The prefix of all names of a snapshot's objects below `raw/`; empty if there is none."""
        return f"{snapshot}/" if self.count == 1 else ""


@dataclass(frozen=True, slots=True)
class Matching:
    """The snapshot is the group `snapshot` of a pattern that is searched in a raw object's name.

    Attributes:
        pattern: a regular expression with a group `snapshot`.
    """

    pattern: str

    def split(self, name: str) -> tuple[str, str] | None:
        """The snapshot of a raw object; see Folders.

        >>> Matching(r"(?P<snapshot>[0-9]{4})").split("crawl-2024/a.jsonl")
        ('2024', 'crawl-2024/a.jsonl')
        """
        match = re.search(self.pattern, name)
        return (match["snapshot"], name) if match else None

    def prefix(self, snapshot: str) -> str:  # noqa: ARG002 - the same shape as Folders
        """No prefix; see Folders."""
        return ""


@dataclass(frozen=True, slots=True)
class Everything:
    """All raw objects are one snapshot, `all`."""

    def split(self, name: str) -> tuple[str, str]:
        """The snapshot of a raw object; see Folders."""
        return "all", name

    def prefix(self, snapshot: str) -> str:  # noqa: ARG002 - the same shape as Folders
        """No prefix; see Folders."""
        return ""


@dataclass(frozen=True, kw_only=True)
class Revision(Selection):
    """The selection that makes one dataset version from the version before.

    Attributes:
        version: `v1`, `v2`, ...
    """

    version: str


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where documents come from, and how raw objects become documents.

    Attributes:
        name: name of the source. Ids are unique within it (within a snapshot, if snapshots replace each other).
        convert: yields the documents of one raw object.
        shards: to which shard a raw object goes.
        description: for people.
        licence: SPDX expression, or words.
        owners: mail addresses or `team:name`.
        select: a pattern for the names of raw objects below their snapshot; only matching ones are read. None: all.
        partition: to which snapshot a raw object belongs.
        snapshots: `accumulate`: ids are unique over all snapshots; `replace`: each snapshot is a complete edition.
        quarantine_limit: share of refused rows, or of their bytes, above which a shard fails. Ten refused rows of
            together 64 KiB are always allowed, but a shard that would keep no row at all fails. 1.0 allows everything.
        row_limit: longest row of a raw object in bytes, at most 1 GiB. A longer row is skipped and refused. A value
            other than the default is part of the recipe, because it changes which rows are kept.
        unpack_limit: unpacked bytes for each byte of a packed raw object. An object of more is an error, because it may
            be a decompression bomb. gzip cannot reach the default.
        parameters: everything else that changes the output, as JSON.
        revisions: v1, v2, ... in order; empty if v0 is used as it is.
        raw: another folder or s3:// prefix that holds the raw snapshots; it is only read.
        watched: whether the raw-arrival sensor watches this source.
        draft: whether the recipe may change under its name.
        quiet: seconds for which a snapshot's listing must not change before the sensor reports it, for slow uploads.
        marker: name of the file, such as `_SUCCESS`, that marks a snapshot as complete; it is not data.
        mounted: name of a hidden file, such as `.mounted`, at the top of the raw data. Without it, their disk counts as
            not mounted: nothing is read or decided.
        inventory: `s3://` address of an S3 Inventory of the bucket that holds the raw snapshots; the sensor reads it.
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
    row_limit: int = Limits().row
    unpack_limit: int = Limits().unpack
    parameters: Mapping[str, Any] = field(default_factory=dict)
    revisions: tuple[Revision, ...] = ()
    raw: str | None = None
    watched: bool = True
    draft: bool = False
    quiet: float = 0.0
    marker: str | None = None
    mounted: str | None = None
    inventory: str | None = None

    def __post_init__(self) -> None:
        """Checks names and the order of versions.

        Raises:
            RecipeError: the name, the revisions, a limit, quiet, a marker, raw or the inventory is not valid.
        """
        check_name(self.name, "source")
        if not 0 < self.row_limit <= ROW_LIMIT:
            raise RecipeError(f"source {self.name!r}: row_limit is {self.row_limit!r}; give 1 to {ROW_LIMIT} bytes")
        if self.unpack_limit < 1:
            raise RecipeError(f"source {self.name!r}: unpack_limit is {self.unpack_limit!r}; give 1 or more")
        if not 0 <= self.quiet < math.inf:
            raise RecipeError(f"source {self.name!r}: quiet is {self.quiet!r}; give seconds, 0 or more")
        if self.marker is not None and (not self.marker or "/" in self.marker):
            raise RecipeError(f"source {self.name!r}: marker is {self.marker!r}; give a file name, without folders")
        if self.mounted is not None and (not self.mounted.startswith(".") or "/" in self.mounted):
            raise RecipeError(
                f"source {self.name!r}: mounted is {self.mounted!r}; give a file name that begins with '.'"
            )
        for field_name, address in (("raw", self.raw), ("inventory", self.inventory)):
            check_lake_url(address or "", f"source {self.name!r}: {field_name}")
        if self.inventory is not None and not self.inventory.startswith("s3://"):
            raise RecipeError(f"source {self.name!r}: inventory is {self.inventory!r}; give s3://bucket/...")
        expected = [f"v{i + 1}" for i in range(len(self.revisions))]
        if [r.version for r in self.revisions] != expected:
            declared = ", ".join(r.version for r in self.revisions)
            raise RecipeError(
                f"source {self.name!r}: revisions are {declared}; name them {', '.join(expected)}, in order"
            )
        if self.select is not None:
            re.compile(self.select)

    @property
    def versions(self) -> tuple[str, ...]:
        """The names of all versions, in order: v0 and the revisions."""
        return ("v0", *(r.version for r in self.revisions))

    @property
    def current(self) -> str:
        """The newest version."""
        return self.versions[-1]

    @property
    def limits(self) -> Limits:
        """The limits of its raw objects."""
        return Limits(self.row_limit, self.unpack_limit)

    def conversion_parameters(self) -> dict[str, Any]:
        """All that changes v0, as JSON, for the recipe. The default row_limit is left out: older ledgers lack it."""
        limit = {} if self.row_limit == Limits().row else {"row_limit": self.row_limit}
        return {"shards": self.shards.parameters(), "select": self.select, **limit, **self.parameters}

    def is_marker(self, name: str) -> bool:
        """Whether a raw object is the file that marks its snapshot as complete."""
        return self.marker is not None and name.rpartition("/")[2] == self.marker

    def wants(self, name: str) -> bool:
        """Whether a raw object is read. Markers and hidden files are not.

        Args:
            name: its name below the snapshot.
        """
        if self.is_marker(name):
            return False
        hidden = any(part.startswith(".") for part in name.split("/"))
        return not hidden and (self.select is None or re.search(self.select, name) is not None)
