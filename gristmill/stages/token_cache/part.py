"""A part of a token cache: one Levanter cache for each split, made from some shards of a snapshot.

The shards of a snapshot are divided among at most `Mix.parts` parts, by the hashes of their names (`part_name`). So a
changed shard rebuilds one part. `Part` writes a part.

The ledger's table has one row for each part. `PartRecord` is what the row's field `extra` holds (see `Shard` in
lake/ledger/model.py). Only this module encodes and decodes it.
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
from gristmill.lake.ledger.folders.pinned_upload import PinnedUpload
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.store.json_object import Integer
from gristmill.lake.store.protocol import Entry, ObjectVersion, Store
from gristmill.stages.token_cache.rows import RowLengths, Values
from gristmill.stages.token_cache.statistics import TokenStatistics

CLEVEL = 1
"""The zstd level of parts. Level 3 would save 9% of space, but building a cache would take 20% longer. The digest in
the name of a part's folder includes the level, so that two parts with the same name have the same bytes."""

Range = tuple[Integer, Integer, Integer, Integer]
"""The rows of a shard in one split of a part: (first row, number of rows, first token, number of tokens)."""


TOKEN_BYTES = 4
"""Bytes of a token in the `length` of a part, whatever the types of its arrays."""


def part_name(shard: str, parts: int) -> str:
    """The name of a shard's part, from the hash of the shard's name. It does not depend on other shards.

    Args:
        shard: the shard's name.
        parts: number of parts.
    """
    return f"part-{xxhash.xxh3_64_intdigest(shard.encode()) % parts:05d}"


def folder_names(name: str, recipe: str, inputs: Sequence[Input]) -> tuple[str, str]:
    """The two names that a part's folder may have: today's, and the earlier one, which left out the compression level.

    Args:
        name: the name of the part.
        recipe: digest of the recipe.
        inputs: what the part is made from.
    """
    made_of = [recipe, msgspec.to_builtins(tuple(inputs))]
    return f"{name}-{digest_of([*made_of, CLEVEL])[:16]}", f"{name}-{digest_of(made_of)[:16]}"


class PartShard(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a finished part records about one of its shards of documents.

    Attributes:
        content: content digest of the shard that was tokenized.
        ranges: the shard's range in each split, by the split's name.
        facts: statistics of its rows.
        dropped: row numbers in the shard of the documents that became no row of the cache, because of a row error.
        held: one flag per document of the shard: whether it was held out for the validation split. Encoded by
            `pack_bits`; "" if there is no such split.
    """

    content: str
    ranges: dict[str, Range]
    facts: TokenStatistics = TokenStatistics()
    dropped: tuple[Integer, ...] = ()
    held: str = ""

    @property
    def rows(self) -> int:
        """Number of rows in all splits."""
        return sum(bounds[1] for bounds in self.ranges.values())

    @property
    def documents(self) -> int:
        """Number of documents in the shard, including those that were dropped."""
        return self.rows + len(self.dropped)

    @property
    def is_counted(self) -> bool:
        """Whether `facts` and `held` were recorded: Gristmill 0.1 wrote neither. True if there are no rows to count."""
        return not self.rows or bool(self.facts.lengths)


class PartObjects(msgspec.Struct, frozen=True):
    """Where a part is stored. These are the first fields of its record; they can be decoded without the others.

    Attributes:
        folders: the folder of each split, with a closing slash, by the split's name.
        objects: (sha256, size in bytes) of each object, by its path.
    """

    folders: dict[str, str]
    objects: dict[str, tuple[str, Integer]]

    def folder(self, split: str, part: str, table: str) -> str:
        """The folder of a split.

        Args:
            split: its name.
            part: the part's name, for the message.
            table: the table's path, for the message.

        Raises:
            DataError: the record names no folder of this split.
        """
        if split not in self.folders:
            raise DataError(
                f"{table}: part {part}: its row names no folder of {split}; make this slice of the token cache again"
            )
        return self.folders[split]


class PartRecord(PartObjects, frozen=True):
    """The record of a part: the field `extra` of its row in the table.

    Attributes:
        shards: the shards in the part, by name.
    """

    shards: dict[str, PartShard]

    def __post_init__(self) -> None:
        unplaced = {split for shard in self.shards.values() for split in shard.ranges} - self.folders.keys()
        if unplaced:
            raise ValueError(f"it has rows of {min(unplaced)}, but no folder")

    @property
    def bytes(self) -> int:
        """Total size of all objects, in bytes."""
        return sum(size for _, size in self.objects.values())

    @property
    def sha256(self) -> str:
        """One digest over the paths and digests of all objects."""
        return digest_of([[path, sha256] for path, (sha256, _) in sorted(self.objects.items())])

    def in_order(self, split: str) -> list[tuple[str, Range]]:
        """(name, range) of each shard of a split, in the order of the ranges.

        An empty range comes before the range of the next shard, which begins at the same row.
        """
        ranges = [(name, shard.ranges[split]) for name, shard in self.shards.items() if split in shard.ranges]
        return sorted(ranges, key=lambda pair: (pair[1], pair[0]))

    def as_extra(self) -> dict[str, Any]:
        """The record as JSON values, for the field `extra` of the table's row."""
        extra: dict[str, Any] = msgspec.to_builtins(self)
        return extra


def read_part_record(row: Shard, table: str) -> PartRecord:
    """The record of a part, decoded from its row of a token cache's table.

    Args:
        row: the row.
        table: the table's path, for the error message.

    Raises:
        DataError: the row has no record, or none that this version of Gristmill can decode.
    """
    return _convert(row, table, PartRecord)


def read_part_objects(row: Shard, table: str) -> PartObjects:
    """As read_part_record, but without the shards, which take most of the time to decode."""
    return _convert(row, table, PartObjects)


_RecordT = TypeVar("_RecordT", bound=PartObjects)


def _convert(row: Shard, table: str, record_type: type[_RecordT]) -> _RecordT:
    try:
        return msgspec.convert(row.extra, record_type)
    except msgspec.ValidationError as error:
        raise DataError(
            f"{table}: part {row.name}: its row does not say where its folders, objects and shards are ({error});"
            " make this slice of the token cache again"
        ) from error


def part_records(rows: Iterable[Shard]) -> dict[str, PartRecord]:
    """The records of all rows, by the part's name. Rows without a valid record are left out: checks report them."""
    records: dict[str, PartRecord] = {}
    for row in rows:
        try:
            records[row.name] = msgspec.convert(row.extra, PartRecord)
        except msgspec.ValidationError:
            continue
    return records


def _named(row: Shard, field: str) -> Mapping[str, Any]:
    """What a row's record names, by name; nothing if the record is not valid."""
    named = row.extra.get(field)
    return named if isinstance(named, dict) else {}


def row_with_shard(rows: Iterable[Shard], name: str) -> Shard | None:
    """The row of the part that contains a shard of documents; None if no row names the shard.

    It decodes no record, because a table may have thousands of rows.
    """
    return next((row for row in rows if name in _named(row, "shards")), None)


def row_with_folder(rows: Iterable[Shard], split: str, folder: str) -> Shard | None:
    """The row of the part whose split is in this folder; None if there is no such row. It decodes no record."""
    return next((row for row in rows if _named(row, "folders").get(split) == folder), None)


class _Split(CacheWriter):
    """Writes one split of a part: a Levanter cache. It also computes the digests of the rows.

    Args:
        store: the lake.
        folder: the folder of the split, with a closing slash.
        dtypes: type of each field, the token ids first.
        objects: gets (sha256, size, object version) of each finished upload, by its path. All splits of a part share
            it.
    """

    def __init__(
        self, store: Store, folder: str, dtypes: Mapping[str, DType], objects: dict[str, tuple[str, int, ObjectVersion]]
    ) -> None:
        def open_upload(name: str) -> PinnedUpload:
            path = folder + name

            def record_object(sha256: str, entry: Entry) -> None:
                objects[path] = (sha256, entry.size, entry.version)

            return PinnedUpload(store, path, record_object)

        super().__init__(open_upload, dtypes, clevel=CLEVEL)
        self._digests = RowDigests(dtypes)
        self._ids_field = next(iter(dtypes))
        self.tokens = 0

    def append_batch(self, batch: Mapping[str, tuple[Values, RowLengths]]) -> None:
        self._digests.update(batch)
        self.tokens += len(batch[self._ids_field][0])
        super().append_batch(batch)

    def digests(self) -> list[str]:
        return self._digests.hexdigests()


class RowDigests:
    """For each field, a digest of all elements and a digest of all row lengths of a split.

    An audit computes them again from the stored cache. They do not depend on the sizes of the batches.

    Args:
        fields: names of the fields, the token ids first.
    """

    def __init__(self, fields: Iterable[str]) -> None:
        self._hashers = {name: (xxhash.xxh3_128(), xxhash.xxh3_128()) for name in fields}

    def update(self, batch: Mapping[str, tuple[Values, RowLengths]]) -> None:
        """Adds the rows of a batch."""
        for name, (flat, lengths) in batch.items():
            elements, rows = self._hashers[name]
            elements.update(np.ascontiguousarray(flat).data)
            rows.update(np.ascontiguousarray(lengths).data)

    def hexdigests(self) -> list[str]:
        """Two digests for each field, in the order of the fields: elements, then lengths."""
        return [digest.hexdigest() for pair in self._hashers.values() for digest in pair]


class Part:
    """Writes a part: one cache for each split. It records the range of each shard in each split.

    For each shard the caller calls `begin`, appends batches to the `writers`, and calls `end`. Then it closes each
    writer with the `shard_rows` of its split, and takes the `record`.

    Args:
        store: the lake.
        place: the partition of the token cache.
        folder: name of the part's folder, such as `part-00000-c9bae7ffc3964489`.
        splits: the splits to write.
        dtypes: type of each field, the token ids first.
    """

    def __init__(
        self, store: Store, place: Place, folder: str, splits: Sequence[str], dtypes: Mapping[str, DType]
    ) -> None:
        self._what = f"{place.asset} ({place.snapshot})"
        self.objects: dict[str, tuple[str, int, ObjectVersion]] = {}
        self.folders = {split: f"{place.part_folder(split)}{folder}/" for split in splits}
        self.writers = {split: _Split(store, path, dtypes, self.objects) for split, path in self.folders.items()}
        self.shards: dict[str, PartShard] = {}
        self.shard_rows: dict[str, dict[str, int]] = {split: {} for split in splits}
        self._starts: dict[str, tuple[int, int]] = {}

    def begin(self) -> None:
        """Starts a shard: the rows that are appended until `end` belong to it."""
        self._starts = {split: (writer.rows, writer.tokens) for split, writer in self.writers.items()}

    def end(self, shard: Shard, facts: TokenStatistics, dropped: tuple[int, ...], held: str) -> None:
        """Ends the shard, after all its rows were appended.

        Args:
            shard: the shard's row in the table of the documents.
            facts: see PartShard.
            dropped: see PartShard.
            held: see PartShard.

        Raises:
            DataError: the appended rows and the dropped documents together are not as many as the shard's documents.
        """
        ranges: dict[str, Range] = {}
        for split, writer in self.writers.items():
            rows, tokens = self._starts[split]
            ranges[split] = (rows, writer.rows - rows, tokens, writer.tokens - tokens)
            self.shard_rows[split][shard.name] = writer.rows - rows
        documents = sum(bounds[1] for bounds in ranges.values()) + len(dropped)
        if documents != shard.rows:
            raise DataError(
                f"{self._what}: shard {shard.name}: {shard.rows} documents in its ledger, but {documents} were"
                " tokenized; make the mix's slice again"
            )
        self.shards[shard.name] = PartShard(shard.identity, ranges, facts, dropped, held)

    def record(self) -> PartRecord:
        """The record for the table's row. Take it after all writers are closed: it names the uploaded objects."""
        objects = {path: (sha256, size) for path, (sha256, size, _) in sorted(self.objects.items())}
        return PartRecord(self.folders, objects, self.shards)

    def abort(self) -> None:
        """Aborts all uploads. Objects that are stored already are not read: readers accept only what a ledger names."""
        for writer in self.writers.values():
            writer.abort()
