"""A part of a token cache: one Levanter cache for each split, made from some shards of a snapshot.

The shards of a snapshot are divided among at most `Mix.parts` parts, by the hashes of their names (`part_name`). So a
changed shard rebuilds one part. `Part` writes a part.

The ledger's table has one row for each part. `PartRecord` is what the row's field `extra` holds (see `Shard` in
lake/ledger/model.py). Only this module encodes and decodes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import xxhash

from gristmill.errors import DataError
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.part_output import PartOutput
from gristmill.formats.levanter.cache import CacheWriter
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.folders.pinned_upload import PinnedUpload
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.ledger.stored_part import StoredPart
from gristmill.lake.store.hashing import Uploads
from gristmill.lake.store.json_object import Integer
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.rows import RowLengths, Values
from gristmill.stages.token_cache.statistics import TokenStatistics, add_statistics

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
        inputs: sources of the part's content.
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
        """The number of rows in all splits."""
        return sum(bounds[1] for bounds in self.ranges.values())

    @property
    def documents(self) -> int:
        """The number of documents in the shard, including those that were dropped."""
        return self.rows + len(self.dropped)

    @property
    def is_counted(self) -> bool:
        """Whether `facts` and `held` were recorded: Gristmill 0.1 wrote neither. True if there are no rows to count."""
        return not self.rows or bool(self.facts.lengths)


class PartObjects(StoredPart, frozen=True):
    """Where a part is stored. These are the first fields of its record; they can be decoded without the others.

    Attributes:
        folders: the folder of each split, with a closing slash, by the split's name.
    """

    says = "where its folders, objects and shards are"
    mend = "make this slice of the token cache again"

    folders: dict[str, str]

    def split_folder(self, split: str, part: str, table: str) -> str:
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

    def in_order(self, split: str) -> list[tuple[str, Range]]:
        """The name and range of each shard of a split, in the order of the ranges.

        An empty range comes before the range of the next shard, which begins at the same row.
        """
        ranges = [(name, shard.ranges[split]) for name, shard in self.shards.items() if split in shard.ranges]
        return sorted(ranges, key=lambda pair: (pair[1], pair[0]))


def part_records(rows: Iterable[Shard]) -> dict[str, PartRecord]:
    """The records of all rows, by the part's name. Rows without a valid record are left out: checks report them."""
    records: dict[str, PartRecord] = {}
    for row in rows:
        try:
            records[row.name] = msgspec.convert(row.extra, PartRecord)
        except msgspec.ValidationError:
            continue
    return records


def _named_record_values(row: Shard, field: str) -> Mapping[str, Any]:
    """What a row's record names, by name; nothing if the record is not valid."""
    named = row.extra.get(field)
    return named if isinstance(named, dict) else {}


def row_with_shard(rows: Iterable[Shard], name: str) -> Shard | None:
    """The row of the part that contains a shard of documents; None if no row names the shard.

    It decodes no record, because a table may have thousands of rows.
    """
    return next((row for row in rows if name in _named_record_values(row, "shards")), None)


def row_with_folder(rows: Iterable[Shard], split: str, folder: str) -> Shard | None:
    """The row of the part whose split is in this folder; None if there is no such row. It decodes no record."""
    return next((row for row in rows if _named_record_values(row, "folders").get(split) == folder), None)


class _Split(CacheWriter):
    """Writes one split of a part: a Levanter cache. It also computes the digests of the rows.

    Args:
        uploads: the objects of the part.
        folder: the folder of the split, with a closing slash.
        dtypes: type of each field, the token ids first.
    """

    def __init__(self, uploads: Uploads, folder: str, dtypes: Mapping[str, DType]) -> None:
        super().__init__(lambda name: uploads.open(folder + name), dtypes, clevel=CLEVEL)
        self._digests = RowDigests(dtypes)
        self._ids_field = next(iter(dtypes))
        self.tokens = 0

    def append_batch(self, batch: Mapping[str, tuple[Values, RowLengths]]) -> None:
        self._digests.update(batch)
        self.tokens += len(batch[self._ids_field][0])
        super().append_batch(batch)

    def field_digests(self) -> list[str]:
        return self._digests.field_hex_digests()


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

    def field_hex_digests(self) -> list[str]:
        """The two digests of each field, in the order of the fields: elements, then lengths."""
        return [digest.hexdigest() for pair in self._hashers.values() for digest in pair]


class Part(PartOutput):
    """Writes a part: one cache for each split. It records the range of each shard in each split.

    For each shard the caller calls `begin`, appends batches to the `writers`, and calls `end`.

    Args:
        store: the lake.
        spec: settings of the partition of the token cache.
        name: name of the part in the table.
        inputs: sources of the part's content.
        folder: name of the part's folder, such as `part-00000-c9bae7ffc3964489`.
        splits: the splits to write.
        dtypes: type of each field, the token ids first.
        metadata: Levanter's `preprocessor_metadata`.
    """

    def __init__(
        self,
        store: Store,
        spec: OneAssetSpec,
        name: str,
        inputs: tuple[Input, ...],
        folder: str,
        splits: Sequence[str],
        dtypes: Mapping[str, DType],
        metadata: Mapping[str, Any],
    ) -> None:
        super().__init__(store, spec, name, inputs, PinnedUpload)
        self._metadata = metadata
        self._folders = {split: f"{spec.place.part_folder(split)}{folder}/" for split in splits}
        self.writers = {split: _Split(self.uploads, path, dtypes) for split, path in self._folders.items()}
        self._shards: dict[str, PartShard] = {}
        self._ids: list[str] = []
        self._shard_rows: dict[str, dict[str, int]] = {split: {} for split in splits}
        self._starts: dict[str, tuple[int, int]] = {}

    def begin_shard(self) -> None:
        """Starts a shard: the rows that are appended until `end` belong to it."""
        self._starts = {split: (writer.rows, writer.tokens) for split, writer in self.writers.items()}

    def end_shard(self, shard: Shard, facts: TokenStatistics, dropped: tuple[int, ...], held: str) -> None:
        """Ends the shard, after all its rows were appended.

        Args:
            shard: the shard's row in the table of the documents.
            facts: statistics of the shard's tokens, as in PartShard.
            dropped: row numbers of the dropped documents, as in PartShard.
            held: flags of held-out rows, as in PartShard.

        Raises:
            DataError: the appended rows and the dropped documents together are not as many as the shard's documents.
        """
        ranges: dict[str, Range] = {}
        for split, writer in self.writers.items():
            rows, tokens = self._starts[split]
            ranges[split] = (rows, writer.rows - rows, tokens, writer.tokens - tokens)
            self._shard_rows[split][shard.name] = writer.rows - rows
        documents = sum(bounds[1] for bounds in ranges.values()) + len(dropped)
        if documents != shard.rows:
            raise DataError(
                f"{self.place.asset} ({self.place.snapshot}): shard {shard.name}: {shard.rows} documents in its ledger,"
                f" but {documents} were tokenized; make the mix's slice again"
            )
        self._shards[shard.name] = PartShard(shard.identity, ranges, facts, dropped, held)
        self._ids.append(shard.ids)

    def close(self) -> Receipt:
        digests: list[str] = []
        for split, writer in self.writers.items():
            writer.close(self._shard_rows[split], self._metadata)
            self.counts |= {f"{split} tokens": writer.tokens, f"{split} rows": writer.rows}
            digests += [split, *writer.field_digests()]
        tokens = sum(writer.tokens for writer in self.writers.values())
        rows = sum(writer.rows for writer in self.writers.values())
        facts = add_statistics(shard.facts for shard in self._shards.values())
        self.dropped, self.counts = facts.dropped, {"tokens": tokens, **self.counts, **facts.counts}
        record = PartRecord(self.uploads.objects, self._folders, self._shards)
        ids, content = digest_of(self._ids), digest_of(digests)
        return self.part_receipt(record, rows=rows, length=TOKEN_BYTES * tokens, content=content, ids=ids)
