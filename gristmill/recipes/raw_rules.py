"""Rules for raw objects: to which snapshot an object belongs, and which shards it becomes."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

import xxhash
from msgspec import Meta

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.address import check_shard
from gristmill.lake.rows.raw_parts import RawPart, cut_into_parts, object_name_and_offset, part_name
from gristmill.lake.store.protocol import check_path
from gristmill.recipes.option_types import check_pattern, check_types
from gristmill.recipes.reader import Reader
from gristmill.text.desktop_names import is_of_desktop

PACKED = (".jsonl.gz", ".json.gz", ".jsonl.zst", ".jsonl.zstd", ".jsonl", ".json")
"""The endings that shards are named without. None is added: shards of finished partitions have it in their names."""


def is_hidden(name: str) -> bool:
    """Whether a raw object is hidden: a part of its name begins with a dot, or is a desktop's own file.

    >>> [is_hidden(name) for name in ("a/.DS_Store", "a/Thumbs.db", "a/tales.db")]
    [True, True, False]
    """
    return name.startswith(".") or "/." in name or is_of_desktop(name)


def check_readable(name: str) -> str:
    """Checks that a store reads an object of this name, and returns it unchanged.

    Args:
        name: name of a raw object below its snapshot.

    Returns:
        The name.

    Raises:
        DataError: no store reads it, though it may list it.
    """
    try:
        return check_path(name)
    except StoreError:
        raise DataError(
            "a name has no backslash, no NUL, and no part that is empty, '.' or '..'; rename the raw object"
        ) from None


@dataclass(frozen=True, slots=True)
class Folders:
    """The snapshot is the first folder of a raw object's name, or its first `count` folders joined by '.'.

    Attributes:
        count: number of folders.
    """

    count: Annotated[int, Meta(ge=1)] = 1

    def __post_init__(self) -> None:
        check_types(self, "Folders")

    def split(self, name: str) -> tuple[str, str] | None:
        """The snapshot of a raw object.

        Args:
            name: its name below `raw/`.

        Returns:
            (snapshot, name); None if the object is in no snapshot.

        >>> Folders(2).split("en/2024-01/a.jsonl")
        ('en.2024-01', 'en/2024-01/a.jsonl')
        """
        parts = name.split("/")
        if len(parts) <= self.count:
            return None
        return ".".join(parts[: self.count]), name

    def prefix(self, snapshot: str) -> str:
        """The prefix of all names of a snapshot's objects below `raw/`; empty without one."""
        return f"{snapshot}/" if self.count == 1 else ""


@dataclass(frozen=True, slots=True)
class Matching:
    """The snapshot is the group `snapshot` of a pattern that is searched in a raw object's name.

    Attributes:
        pattern: a regular expression with a group `snapshot`.
    """

    pattern: str

    def __post_init__(self) -> None:
        check_types(self, "Matching")
        if "snapshot" not in check_pattern(self.pattern, "Matching: pattern").groupindex:
            raise RecipeError(f"Matching: pattern is {self.pattern!r}; give it a group (?P<snapshot>...)")

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


@dataclass(frozen=True, slots=True)
class OneToOne:
    """Each raw object becomes one shard of the same name without an ending of PACKED; other endings stay."""

    def shard(self, name: str) -> str:
        """The shard of a raw object.

        Args:
            name: its name below the snapshot.

        Raises:
            DataError: the name cannot be a shard's name.

        >>> OneToOne().shard("en/tales.jsonl.gz")
        'en/tales'
        >>> OneToOne().shard("tales.json.zst")
        'tales.json.zst'
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

    count: Annotated[int, Meta(ge=1)]

    def __post_init__(self) -> None:
        check_types(self, "Hashed")

    def shard(self, name: str) -> str:
        """The shard of a raw object: XXH3-64 of its name, modulo the number of shards.

        Args:
            name: its name below the snapshot.

        Raises:
            DataError: no store reads an object of this name.

        >>> [Hashed(24).shard(name) for name in ("a.jsonl.gz", "b.jsonl.gz")]
        ['16', '05']
        """
        width = max(2, len(str(self.count - 1)))
        return f"{xxhash.xxh3_64_intdigest(check_readable(name).encode()) % self.count:0{width}d}"

    def parameters(self) -> list[Any]:
        """The parameters in a recipe, as JSON."""
        return ["hashed", self.count]


@dataclass(frozen=True, slots=True)
class Split(OneToOne):
    """As OneToOne, but an object of more than `bytes` becomes several shards, so that several workers convert it.

    It is cut at lines, gzip members, Zstandard frames, bz2 blocks or row groups; see the reader for what it cuts. The
    shards of a cut object have the first byte of their part in their names. A gzip file of one member cannot be cut:
    its first shard holds all rows, and the others are empty.

    Attributes:
        bytes: size of a part in bytes, as the object is stored. Part of the recipe: another size gives other shards.
    """

    bytes: Annotated[int, Meta(ge=1)] = 256 << 20

    def __post_init__(self) -> None:
        check_types(self, "Split")

    def parts(self, size: int) -> tuple[RawPart, ...]:
        """The parts of an object; empty if it becomes one shard.

        Args:
            size: size of the object in bytes.

        >>> Split(bytes=100).parts(100), len(Split(bytes=100).parts(101))
        ((), 2)
        """
        return cut_into_parts(size, self.bytes) if size > self.bytes else ()

    def shard(self, name: str) -> str:
        """The shard of a raw object, or of a part.

        Args:
            name: name of the object, or of the part.

        Raises:
            DataError: the name cannot be a shard's name.

        >>> Split().shard("en/tales.jsonl.gz@0000268435456")
        'en/tales@0000268435456'
        """
        whole, start = object_name_and_offset(name)
        shard = OneToOne.shard(self, whole)
        return shard if start is None else part_name(shard, start)

    def parameters(self) -> list[Any]:
        """The parameters in a recipe, as JSON."""
        return ["split", self.bytes]


def check_cuts(reader: Reader, what: str) -> None:
    """Checks that a reader can read parts of objects.

    Args:
        reader: the reader of a source.
        what: names the source, for the message.

    Raises:
        RecipeError: it cannot.
    """
    try:
        reader.cut_by("")
    except NotImplementedError as error:
        raise RecipeError(
            f"{what}: shards=Split(...), but its converter cannot read parts of an object (it has no method cut_by);"
            " use shards=OneToOne(), or a reader that can, such as JsonLines, ParquetRows or a reader of WARC files"
        ) from error
