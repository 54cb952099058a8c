"""The grinder of hash runs: it merges neighbouring buckets of all shards of a snapshot, each into its part.

Files of a part: `hashes`, `positions`, `repeats` and `counts`; see gristmill.stages.dedupe.columns.
"""

from collections.abc import Iterator

from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Ground, Item, Outcome
from gristmill.execution.write_shards import write_shards
from gristmill.lake.ledger.model import Input
from gristmill.lake.store.json_object import Integer
from gristmill.stages.dedupe.columns import Spill
from gristmill.stages.dedupe.fingerprint_blocks import (
    HASH_BYTES,
    BlockIndex,
    BucketReader,
    HashFile,
    PlacedHashes,
    read_index,
)
from gristmill.stages.dedupe.merging import RunWriter
from gristmill.stages.dedupe.neighbours import Neighbours
from gristmill.stages.fingerprints.binary_part import BinaryPart
from gristmill.threads import thread_pool

_THREADS = 8
"""Requests at once: a bucket answers a small one after 10 to 50 ms."""
_PIECE = 512
"""The share of the memory that the hashes of one shard may have, in hashes a byte: 1 / 512."""


class RunsSpec(OneAssetSpec, frozen=True):
    """What all parts share.

    Attributes:
        fingerprints: address of the asset that is read.
        contents: digest of the hashes of each bucket.
        memory: bytes that a worker may use.
        files: the hashes of all shards.
    """

    fingerprints: str
    contents: tuple[str, ...]
    memory: Integer
    files: tuple[HashFile, ...]


def bucket_name(bucket: int) -> str:
    """The name of a bucket's part.

    >>> bucket_name(7)
    '00007'
    """
    return f"{bucket:05d}"


class RunsGrinder(ShardGrinder[RunsSpec, Neighbours]):
    """Grinds the buckets of one snapshot."""

    def grind(self, item: Item, body: Neighbours) -> Outcome:  # noqa: ARG002 - the name is that of its last shard
        spec = self._spec
        ground: list[Ground] = []
        numbers = range(body.first, body.last)
        with Spill(spec.memory) as spill, thread_pool(_THREADS) as threads:
            indexes = list(threads.map(lambda file: read_index(self._store, file, len(spec.contents)), spec.files))
            readers = {number: BucketReader(self._store, spec.files, indexes, number) for number in numbers}
            blocks: list[memoryview] | None = None
            if len(numbers) > 1 and HASH_BYTES * sum(each.hashes for each in readers.values()) <= spec.memory // 4:
                blocks = list(threads.map(lambda *each: self._read_bucket_blocks(body, *each), spec.files, indexes))
            for number, reader in readers.items():
                if blocks is None:
                    pieces = reader.read_ordered_hashes(max(1, spec.memory // _PIECE), spill)
                else:
                    cuts = zip(blocks, indexes, strict=True)
                    pieces = reader.read_given_blocks(
                        [_slice_bucket_block(block, index, body.first, number) for block, index in cuts]
                    )
                ground += self._write_bucket_run(number, pieces, reader.hashes, spill)
        return Outcome(tuple(ground), facts={"bytes spilled": spill.bytes} if spill.bytes else {})

    def _read_bucket_blocks(self, body: Neighbours, file: HashFile, index: BlockIndex) -> memoryview:
        """The blocks of all buckets of an item, one after another."""
        begin, end = (HASH_BYTES * int(index.offsets[bucket]) for bucket in (body.first, body.last))
        return memoryview(self._store.read_range(file.path, begin, end) if end > begin else b"")

    def _write_bucket_run(
        self, number: int, pieces: Iterator[PlacedHashes], hashes: int, spill: Spill
    ) -> tuple[Ground, ...]:
        spec, name = self._spec, bucket_name(number)
        inputs = (Input(spec.fingerprints, "hashes", spec.contents[number]),)
        part = BinaryPart(self._store, spec, name, inputs)

        def write() -> None:
            run = RunWriter(spill)
            run.write_bucket(pieces)
            for file in ("hashes", "positions", "repeats", "counts"):
                getattr(run, file).copy_to(part.file(file))
            part.rows = hashes
            part.counts = {"distinct": run.hashes.rows, "repeats": run.repeats.rows}

        return write_shards(self._store, [part], write)


def _slice_bucket_block(block: memoryview, index: BlockIndex, first: int, bucket: int) -> memoryview:
    """The block of a bucket among the blocks of buckets from `first` on."""
    begin, end = (HASH_BYTES * int(index.offsets[at] - index.offsets[first]) for at in (bucket, bucket + 1))
    return block[begin:end]


grinder = RunsGrinder
