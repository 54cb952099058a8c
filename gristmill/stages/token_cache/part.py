"""A part of a token cache: a Levanter cache a split, over some shards of a snapshot, and where each lies in it."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import xxhash

from gristmill.errors import DataError
from gristmill.formats.levanter.cache import CacheWriter
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.receipts import Stamp
from gristmill.lake.store.hashing import HashedUpload
from gristmill.lake.store.protocol import Entry, Store
from gristmill.stages.token_cache.part_record import PartRecord, PartShard, Range
from gristmill.stages.token_cache.rows import Values
from gristmill.stages.token_cache.statistics import Facts
from gristmill.text.utf8 import Lengths

CLEVEL = 1
"""Of zstd, in parts: level 3 costs 9% less space, and a fifth more of the time that a cache takes. It stands in
the parts' names: what has one name has one content, to the byte."""


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

    def append_batch(self, batch: Mapping[str, tuple[Values, Lengths]]) -> None:
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

    def update(self, batch: Mapping[str, tuple[Values, Lengths]]) -> None:
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
