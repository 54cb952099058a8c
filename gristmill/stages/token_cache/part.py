"""A part of a token cache: a Levanter cache a split, over some shards of a snapshot, and where each lies in it."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
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
from gristmill.stages.token_cache.rows import Values
from gristmill.stages.token_cache.statistics import Facts
from gristmill.text.utf8 import Lengths

CLEVEL = 1
"""Of zstd, in parts: level 3 costs 9% less space, and a fifth more of the time that a cache takes. It stands in
the parts' names: what has one name has one content, to the byte."""

Range = tuple[int, int, int, int]
"""First row, rows, first token, tokens: where a shard lies in a part."""


class OldPart(msgspec.Struct, frozen=True):
    """What the ledger says of the part as it was: where, which shards lie where in it, and each object's sha256."""

    folders: dict[str, str]
    shards: dict[str, "OldShard"]
    objects: dict[str, tuple[str, int]]


class OldShard(msgspec.Struct, frozen=True, omit_defaults=True):
    """A shard in a finished part.

    Attributes:
        content: what it was tokenized from.
        ranges: where it lies in each split.
        facts: counted over its rows.
        dropped: numbers of the documents that have no row.
        held: the documents that went to the validation split, as `row_sets` packs flags; "" where there is none.
    """

    content: str
    ranges: dict[str, Range]
    facts: Facts = Facts()
    dropped: tuple[int, ...] = ()
    held: str = ""

    @property
    def is_counted(self) -> bool:
        """Whether facts and held documents are known: version 0.1 wrote neither."""
        rows = sum(spot[1] for spot in self.ranges.values())
        return not rows or bool(self.facts.lengths)


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
        self.shards: dict[str, OldShard] = {}
        self.shard_rows: dict[str, dict[str, int]] = {split: {} for split in splits}
        self._starts: dict[str, tuple[int, int]] = {}

    def begin(self) -> None:
        """A shard begins."""
        self._starts = {split: (writer.rows, writer.tokens) for split, writer in self.writers.items()}

    def end(self, shard: Shard, facts: Facts, dropped: tuple[int, ...], held: str) -> None:
        """The shard that began is whole; the arguments are those of OldShard.

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
        self.shards[shard.name] = OldShard(shard.content, ranges, facts, dropped, held)

    def abort(self) -> None:
        """Leaves nothing that counts."""
        for writer in self.writers.values():
            writer.abort()


_UNREADABLE = (msgspec.ValidationError, KeyError, TypeError)


class PartClaim(msgspec.Struct, frozen=True):
    """What a row of the table says of its part.

    Attributes:
        folders: the folder of each split, with its closing slash.
        objects: (sha256, size) of each object.
        shards: where each shard lies.
    """

    folders: dict[str, str]
    objects: dict[str, tuple[str, int]]
    shards: dict[str, OldShard]

    def rows(self, shard: str) -> int:
        """Documents of a shard over all splits, with those that have no row."""
        old = self.shards[shard]
        return sum(spot[1] for spot in old.ranges.values()) + len(old.dropped)

    def in_order(self, split: str) -> list[tuple[str, tuple[int, int, int, int]]]:
        """(shard, range) of a split as they should follow each other; empty ranges first where they begin."""
        spots = [(name, old.ranges[split]) for name, old in self.shards.items() if split in old.ranges]
        return sorted(spots, key=lambda spot: (spot[1], spot[0]))


def claim_of(part: Shard) -> PartClaim | None:
    """What a row of the table says of its part; None if it says nothing that can be read."""
    try:
        return msgspec.convert(
            {key: part.extra[key] for key in ("folders", "objects", "shards")}, PartClaim, strict=False
        )
    except _UNREADABLE:
        return None
