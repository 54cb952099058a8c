"""A part of a token cache: one Levanter cache for each split, over some shards of a snapshot.

`PartRecord` is the record of a part in its row of the cache's table. Only this module reads and writes this piece of
the row (`extra` in lake/ledger/model.py). `Part` writes a part.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
import xxhash

from gristmill.errors import DataError
from gristmill.formats.levanter.cache import CacheWriter
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.address import Place
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.receipts import ObjectVersion
from gristmill.lake.store.hashing import HashedUpload
from gristmill.lake.store.protocol import Entry, Store
from gristmill.stages.token_cache.rows import RowLengths, Values
from gristmill.stages.token_cache.statistics import TokenStatistics

CLEVEL = 1
"""The zstd level of parts. Level 3 would save 9% of space, but building a cache would take 20% longer. The digest in
a part's name covers the level, so that two parts of one name are equal to the byte."""

Range = tuple[int, int, int, int]
"""The range of a shard in a part: (first row, rows, first token, tokens)."""


class PartShard(msgspec.Struct, frozen=True, omit_defaults=True):
    """A shard of documents in a finished part.

    Attributes:
        content: content digest of the shard that was tokenized.
        ranges: the shard's range in each split.
        facts: statistics of its rows.
        dropped: numbers of the documents that have no row.
        held: flags of the documents in the validation split, in the form of `pack_bits`; "" if there is no such split.
    """

    content: str
    ranges: dict[str, Range]
    facts: TokenStatistics = TokenStatistics()
    dropped: tuple[int, ...] = ()
    held: str = ""

    @property
    def rows(self) -> int:
        """Number of rows in all splits."""
        return sum(bounds[1] for bounds in self.ranges.values())

    @property
    def documents(self) -> int:
        """Number of documents in the shard: with a row and without."""
        return self.rows + len(self.dropped)

    @property
    def is_counted(self) -> bool:
        """Whether `facts` and `held` were recorded; Gristmill 0.1 wrote neither."""
        return not self.rows or bool(self.facts.lengths)


class PartObjects(msgspec.Struct, frozen=True):
    """Where a part is stored: the beginning of its record.

    Attributes:
        folders: the folder of each split, with a closing slash.
        objects: (sha256, size) of each object, by its path.
    """

    folders: dict[str, str]
    objects: dict[str, tuple[str, int]]


class PartRecord(PartObjects, frozen=True):
    """The record of a part in its row of the table.

    Attributes:
        shards: the shards in the part, by name.
    """

    shards: dict[str, PartShard]

    @property
    def bytes(self) -> int:
        """Total size of all objects, in bytes."""
        return sum(size for _, size in self.objects.values())

    @property
    def sha256(self) -> str:
        """One digest over the paths and digests of all objects."""
        return digest_of([[path, sha256] for path, (sha256, _) in sorted(self.objects.items())])

    def in_order(self, split: str) -> list[tuple[str, Range]]:
        """(shard, range) for each shard of a split, by position; at the same position an empty range is first."""
        ranges = [(name, shard.ranges[split]) for name, shard in self.shards.items() if split in shard.ranges]
        return sorted(ranges, key=lambda named: (named[1], named[0]))

    def as_extra(self) -> dict[str, Any]:
        """The record in the form of the field `extra` of the table's row."""
        extra: dict[str, Any] = msgspec.to_builtins(self)
        return extra


def read_part_record(row: Shard, table: str) -> PartRecord:
    """The record in a row of a token cache's table.

    Args:
        row: the row.
        table: the table's path, for the message.

    Raises:
        DataError: the row holds no record that this version reads.
    """
    return _convert(row, table, PartRecord)


def read_part_objects(row: Shard, table: str) -> PartObjects:
    """The record without its shards, which take most of the time to decode; see read_part_record."""
    return _convert(row, table, PartObjects)


R = TypeVar("R", bound=PartObjects)


def _convert(row: Shard, table: str, record_type: type[R]) -> R:
    try:
        return msgspec.convert(row.extra, record_type)
    except msgspec.ValidationError as error:
        raise DataError(
            f"{table}: part {row.name}: its row does not say where its folders, objects and shards are ({error});"
            " materialize this slice of the token cache again"
        ) from error


def part_records(rows: Iterable[Shard]) -> dict[str, PartRecord]:
    """The records of all rows that hold one, by the part's name; a check or an audit reports the others."""
    records: dict[str, PartRecord] = {}
    for row in rows:
        try:
            records[row.name] = msgspec.convert(row.extra, PartRecord)
        except msgspec.ValidationError:
            continue
    return records


def row_with_shard(rows: Iterable[Shard], name: str) -> Shard | None:
    """The row of the part that contains a shard of documents; None if no row lists the shard.

    No record is decoded: a table may have thousands of rows.
    """
    return next((row for row in rows if name in row.extra.get("shards", ())), None)


def row_with_folder(rows: Iterable[Shard], split: str, folder: str) -> Shard | None:
    """The row of the part that has a split in this folder; None if no row has. No record is decoded."""
    return next((row for row in rows if row.extra.get("folders", {}).get(split) == folder), None)


class _Split(CacheWriter):
    """Writes one split of a part: a Levanter cache, and the digests of its rows."""

    def __init__(
        self, store: Store, folder: str, dtypes: Mapping[str, DType], objects: dict[str, tuple[str, int, ObjectVersion]]
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
    """For each field, a digest of its elements and a digest of its rows' lengths, over all rows of a split.

    The digests do not depend on the sizes of the batches.

    Args:
        fields: names of the fields, the token ids first.
    """

    def __init__(self, fields: Iterable[str]) -> None:
        self._of = {name: (xxhash.xxh3_128(), xxhash.xxh3_128()) for name in fields}

    def update(self, batch: Mapping[str, tuple[Values, RowLengths]]) -> None:
        """Adds the rows of a batch."""
        for name, (flat, lengths) in batch.items():
            elements, rows = self._of[name]
            elements.update(np.ascontiguousarray(flat).data)
            rows.update(np.ascontiguousarray(lengths).data)

    def hexdigests(self) -> list[str]:
        """Two digests for each field: elements, then lengths."""
        return [digest.hexdigest() for pair in self._of.values() for digest in pair]


class Part:
    """Writes a part: one cache for each split, and the ranges of each shard in them."""

    def __init__(
        self, store: Store, place: Place, folder: str, splits: Sequence[str], dtypes: Mapping[str, DType]
    ) -> None:
        self.objects: dict[str, tuple[str, int, ObjectVersion]] = {}
        self.folders = {split: f"{place.part_folder(split)}{folder}/" for split in splits}
        self.writers = {split: _Split(store, path, dtypes, self.objects) for split, path in self.folders.items()}
        self.shards: dict[str, PartShard] = {}
        self.shard_rows: dict[str, dict[str, int]] = {split: {} for split in splits}
        self._starts: dict[str, tuple[int, int]] = {}

    def begin(self) -> None:
        """Starts a shard: rows appended from now on belong to it."""
        self._starts = {split: (writer.rows, writer.tokens) for split, writer in self.writers.items()}

    def end(self, shard: Shard, facts: TokenStatistics, dropped: tuple[int, ...], held: str) -> None:
        """Ends the shard; all its rows were appended. `facts`, `dropped` and `held` are as in PartShard.

        Raises:
            DataError: the number of rows and dropped documents differs from the number of documents of the shard.
        """
        ranges: dict[str, Range] = {}
        for split, writer in self.writers.items():
            rows, tokens = self._starts[split]
            ranges[split] = (rows, writer.rows - rows, tokens, writer.tokens - tokens)
            self.shard_rows[split][shard.name] = writer.rows - rows
        documents = sum(bounds[1] for bounds in ranges.values()) + len(dropped)
        if documents != shard.rows:
            raise DataError(
                f"shard {shard.name}: {shard.rows} documents in its ledger, but {documents} were tokenized; make the"
                " mix's slice again"
            )
        self.shards[shard.name] = PartShard(shard.content, ranges, facts, dropped, held)

    def record(self) -> PartRecord:
        """The record for the table's row. It is complete when all splits are closed."""
        objects = {path: (sha256, size) for path, (sha256, size, _) in sorted(self.objects.items())}
        return PartRecord(self.folders, objects, self.shards)

    def abort(self) -> None:
        """Aborts all uploads; readers accept none of the part's objects."""
        for writer in self.writers.values():
            writer.abort()
