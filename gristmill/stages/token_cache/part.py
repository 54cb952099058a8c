"""A part of a token cache: one Levanter cache for each split, over some shards of a snapshot.

`PartRecord` is what the row of the cache's table says of a part. Only this module reads and writes that piece of the
row (`extra` of lake/ledger/model.py). `Part` writes a part.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import xxhash

from gristmill.errors import DataError
from gristmill.formats.levanter.cache import CacheWriter
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.address import Place
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.receipts import Stamp
from gristmill.lake.store.hashing import HashedUpload
from gristmill.lake.store.protocol import Entry, Store
from gristmill.stages.token_cache.rows import RowLengths, Values
from gristmill.stages.token_cache.statistics import Facts

CLEVEL = 1
"""Of zstd, in parts: level 3 costs 9% less space, and a fifth more of the time that a cache takes. It stands in
the parts' names: what has one name has one content, to the byte."""

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


class _Split(CacheWriter):
    """One split of a part: a Levanter cache, and the digests of its rows."""

    def __init__(
        self, store: Store, folder: str, dtypes: Mapping[str, DType], objects: dict[str, tuple[str, int, Stamp]]
    ) -> None:
        def opened(name: str) -> HashedUpload:
            path = folder + name

            def done(sha256: str, entry: Entry) -> None:
                objects[path] = (sha256, entry.size, (entry.size, entry.etag))

            return HashedUpload(store.upload(path), done)

        super().__init__(opened, dtypes, clevel=CLEVEL)
        self._digests = RowDigests(dtypes)
        self._ids = next(iter(dtypes))
        self.tokens = 0

    def append_batch(self, batch: Mapping[str, tuple[Values, RowLengths]]) -> None:
        self._digests.update(batch)
        self.tokens += len(batch[self._ids][0])
        super().append_batch(batch)

    def digests(self) -> list[str]:
        return self._digests.hexdigests()


class RowDigests:
    """Digests over all rows of a split, however they are divided: of each field's elements, and of its lengths.

    Args:
        fields: their names, ids first.
    """

    def __init__(self, fields: Iterable[str]) -> None:
        self._of = {name: (xxhash.xxh3_128(), xxhash.xxh3_128()) for name in fields}

    def update(self, batch: Mapping[str, tuple[Values, RowLengths]]) -> None:
        """Adds rows."""
        for name, (flat, lengths) in batch.items():
            elements, rows = self._of[name]
            elements.update(np.ascontiguousarray(flat).data)
            rows.update(np.ascontiguousarray(lengths).data)

    def hexdigests(self) -> list[str]:
        """Two a field."""
        return [each.hexdigest() for pair in self._of.values() for each in pair]


class Part:
    """A part while it is written: a cache a split, and where each shard lies in them."""

    def __init__(
        self, store: Store, place: Place, folder: str, splits: Sequence[str], dtypes: Mapping[str, DType]
    ) -> None:
        self.objects: dict[str, tuple[str, int, Stamp]] = {}
        self.folders = {split: f"{place.part_folder(split)}{folder}/" for split in splits}
        self.writers = {split: _Split(store, path, dtypes, self.objects) for split, path in self.folders.items()}
        self.shards: dict[str, PartShard] = {}
        self.shard_rows: dict[str, dict[str, int]] = {split: {} for split in splits}
        self._starts: dict[str, tuple[int, int]] = {}

    def begin(self) -> None:
        """A shard begins."""
        self._starts = {split: (writer.rows, writer.tokens) for split, writer in self.writers.items()}

    def end(self, shard: Shard, facts: Facts, dropped: tuple[int, ...], held: str) -> None:
        """The shard that began is whole; the arguments are those of PartShard.

        Raises:
            DataError: rows and dropped documents are not as many as the shard has.
        """
        ranges: dict[str, Range] = {}
        for split, writer in self.writers.items():
            rows, tokens = self._starts[split]
            ranges[split] = (rows, writer.rows - rows, tokens, writer.tokens - tokens)
            self.shard_rows[split][shard.name] = writer.rows - rows
        found = sum(r[1] for r in ranges.values()) + len(dropped)
        if found != shard.rows:
            raise DataError(f"shard {shard.name}: {shard.rows} documents in its ledger, {found} rows tokenized")
        self.shards[shard.name] = PartShard(shard.content, ranges, facts, dropped, held)

    def record(self) -> PartRecord:
        """What the table's row says of the part: complete when all splits are closed."""
        objects = {path: (sha256, size) for path, (sha256, size, _) in sorted(self.objects.items())}
        return PartRecord(self.folders, objects, self.shards)

    def abort(self) -> None:
        """Leaves nothing that counts."""
        for writer in self.writers.values():
            writer.abort()
