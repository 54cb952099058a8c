"""PartRecord: what the row of a token cache's table says of its part. Only this module reads and writes that part of
the row (`extra` of lake/ledger/model.py).
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from gristmill.errors import DataError
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.model import Shard
from gristmill.stages.token_cache.statistics import Facts

Range = tuple[int, int, int, int]
"""First row, rows, first token, tokens: where a shard lies in a part."""


class PartShard(msgspec.Struct, frozen=True, omit_defaults=True):
    """A shard of documents in a finished part.

    Attributes:
        content: what it was tokenized from.
        ranges: where it lies in each split.
        facts: counted over its rows.
        dropped: numbers of the documents that have no row.
        held: the documents that went to the validation split, as `pack_bits` packs flags; "" where there is none.
    """

    content: str
    ranges: dict[str, Range]
    facts: Facts = Facts()
    dropped: tuple[int, ...] = ()
    held: str = ""

    @property
    def rows(self) -> int:
        """Rows over all splits."""
        return sum(spot[1] for spot in self.ranges.values())

    @property
    def documents(self) -> int:
        """Documents of the shard: its rows, and those that have no row."""
        return self.rows + len(self.dropped)

    @property
    def is_counted(self) -> bool:
        """Whether facts and held documents are known: version 0.1 wrote neither."""
        return not self.rows or bool(self.facts.lengths)


class PartRecord(msgspec.Struct, frozen=True):
    """What a row of the table says of its part.

    Attributes:
        folders: the folder of each split, with its closing slash.
        objects: (sha256, size) of each object, by its path.
        shards: the shards in the part, by name.
    """

    folders: dict[str, str]
    objects: dict[str, tuple[str, int]]
    shards: dict[str, PartShard]

    @property
    def bytes(self) -> int:
        """Bytes of all objects."""
        return sum(size for _, size in self.objects.values())

    @property
    def sha256(self) -> str:
        """One digest for all objects."""
        return digest_of([[path, sha256] for path, (sha256, _) in sorted(self.objects.items())])

    def in_order(self, split: str) -> list[tuple[str, Range]]:
        """(shard, range) of a split as they should follow each other; empty ranges first where they begin."""
        spots = [(name, shard.ranges[split]) for name, shard in self.shards.items() if split in shard.ranges]
        return sorted(spots, key=lambda spot: (spot[1], spot[0]))

    def as_extra(self) -> dict[str, Any]:
        """The record as `extra` of the table's row."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


def read_part_record(row: Shard, table: str) -> PartRecord:
    """The record in a row of a token cache's table.

    Args:
        row: the row.
        table: the table's path, for the message.

    Raises:
        DataError: the row holds no record that this version reads.
    """
    try:
        return msgspec.convert(row.extra, PartRecord)
    except msgspec.ValidationError as error:
        raise DataError(
            f"{table}: part {row.name}: its row does not say where its folders, objects and shards are ({error});"
            " materialize this slice of the token cache again"
        ) from error


def part_records(rows: Iterable[Shard]) -> dict[str, PartRecord]:
    """The records of all rows that hold one, by the part's name; a check or an audit reports the others."""
    found: dict[str, PartRecord] = {}
    for row in rows:
        try:
            found[row.name] = msgspec.convert(row.extra, PartRecord)
        except msgspec.ValidationError:
            continue
    return found


def row_with_shard(rows: Iterable[Shard], name: str) -> Shard | None:
    """The row of the part that holds a shard of documents; None if no row lists it.

    No record is decoded: a table may have thousands of rows.
    """
    return next((row for row in rows if name in row.extra.get("shards", ())), None)


def row_with_folder(rows: Iterable[Shard], split: str, folder: str) -> Shard | None:
    """The row of the part whose split lies in a folder; see row_with_shard."""
    return next((row for row in rows if row.extra.get("folders", {}).get(split) == folder), None)
