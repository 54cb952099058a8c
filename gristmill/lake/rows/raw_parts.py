"""Parts of a large raw object: each becomes a shard of its own. See gristmill.recipes.raw_rules.Split.

A part has nominal bounds, which follow from the object's size alone. Its reader takes each record that begins between
them, and reads on behind the end to finish the last one. Where it began and where it stopped are the part's edges. The
edges of neighbours are found independently, so their comparison proves that no record was lost or taken twice.
"""

import hashlib
import re
from typing import NamedTuple

import msgspec

from gristmill.lake.store.protocol import Store

_WIDTH = 13  # digits: 10 TB
_NAME = re.compile(rf"(.+)@([0-9]{{{_WIDTH}}})", re.DOTALL)


class RawPart(NamedTuple):
    """Bytes [`start`, `end`) of a raw object as it is stored, packed or not."""

    start: int
    end: int


class Edge(NamedTuple):
    """A place between two records of a raw object.

    Attributes:
        unit: the byte of the object at which a unit begins: a gzip member, a zstd frame, a bz2 block (in this byte), a
            row group; or a line of an object that is not packed. The size of the object is its end.
        plain: unpacked bytes between the begin of the unit and the place.
    """

    unit: int
    plain: int = 0


class BlockSum(NamedTuple):
    """The checksums of blocks of a bz2 stream that follow each other in a part, combined by bzip2's rule.

    Attributes:
        blocks: number of blocks.
        crc: their checksums, combined.
        stated: the checksum at the end of the stream, if the last block is the last one of its stream; else None.
    """

    blocks: int
    crc: int
    stated: int | None = None

    def combined_with(self, before: int) -> int:
        """The combined checksum of these blocks and of those before them.

        Args:
            before: combined checksum of the blocks of the same stream before these; 0 if these begin it.

        >>> BlockSum(1, 5).combined_with(1 << 31), BlockSum(33, 0).combined_with(3)
        (4, 6)
        """
        turn = self.blocks % 32
        return ((before << turn | before >> (32 - turn)) & 0xFFFFFFFF) ^ self.crc


class PartEdges(msgspec.Struct, frozen=True, array_like=True):
    """The part that a shard was made from, and its edges.

    Attributes:
        object: name of the raw object.
        size: size of the object in bytes.
        part: its nominal bounds.
        first: place where its first record begins; None if no record begins in it.
        last: place where its last record ends; None if no record begins in it.
        sums: checksums of a part of a bz2 file: of the stream that begins before the part, and of the stream that ends
            behind it.
    """

    object: str
    size: int
    part: RawPart
    first: Edge | None = None
    last: Edge | None = None
    sums: tuple[BlockSum, ...] = ()


def cut_into_parts(size: int, most: int) -> tuple[RawPart, ...]:
    """The parts of an object.

    Args:
        size: size of the object in bytes.
        most: size of each part but the last.

    >>> cut_into_parts(250, 100)
    (RawPart(start=0, end=100), RawPart(start=100, end=200), RawPart(start=200, end=250))
    """
    return tuple(RawPart(start, min(start + most, size)) for start in range(0, size, most))


def part_name(name: str, start: int) -> str:
    """The name of a part.

    Args:
        name: name of the object, or of its shard.
        start: first byte of the part.

    >>> part_name("dump.jsonl", 1 << 28)
    'dump.jsonl@0000268435456'
    """
    return f"{name}@{start:0{_WIDTH}d}"


def object_name_and_offset(name: str) -> tuple[str, int | None]:
    """The name of the object of a part, and the part's first byte; or a name unchanged and None.

    >>> object_name_and_offset("dump.jsonl@0000268435456")
    ('dump.jsonl', 268435456)
    """
    match = _NAME.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)


def sha256_of_part(store: Store, path: str, part: RawPart) -> str:
    """The sha256 (hex) of the bytes of a part.

    Args:
        store: store of the object.
        path: path of the object.
        part: part of the object.

    Raises:
        StoreError: the object is not there, or is shorter.
    """
    digest, left = hashlib.sha256(), part.end - part.start
    for piece in store.stream(path, start=part.start):
        digest.update(piece[:left])
        left -= min(left, len(piece))
        if not left:
            break
    return digest.hexdigest()
