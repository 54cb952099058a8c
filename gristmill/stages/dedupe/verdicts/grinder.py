"""The grinder of verdicts: it compares one bucket of the snapshots of a round with that of all earlier snapshots.

A part has a file for each new snapshot, named by its rank: FOUND in gristmill.stages.dedupe.columns.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Item, Outcome
from gristmill.execution.write_shards import write_shards
from gristmill.lake.ledger.model import Input
from gristmill.lake.store.json_object import Integer
from gristmill.lake.store.protocol import Store
from gristmill.stages.dedupe.columns import COUNTS, FOUND, HASHES, POSITIONS, ColumnFile, ColumnWriter, Spill
from gristmill.stages.dedupe.comparison import Comparison, Keepers, count_first_occurrences, counts_by_power
from gristmill.stages.dedupe.hash_order import Places, are_ascending, bucket_range
from gristmill.stages.dedupe.merging import merge_windows
from gristmill.stages.dedupe.verdicts.old_run import OldRun
from gristmill.stages.fingerprints.binary_part import BinaryPart
from gristmill.stages.fingerprints.compared import Family
from gristmill.stages.fingerprints.repeated_unit import LARGEST, RepeatedUnit, most_repeated

NEW_BYTES = 160
"""Bytes of memory that a new hash takes, at most."""


class StoredFile(msgspec.Struct, frozen=True):
    """A file of a run, with the XXH3-128 of its bytes and its size."""

    path: str
    digest: str
    bytes: Integer


class NewRun(msgspec.Struct, frozen=True):
    """The files of a new snapshot's run that are read."""

    hashes: StoredFile
    positions: StoredFile
    counts: StoredFile


class VerdictsSpec(OneAssetSpec, frozen=True):
    """What all parts share.

    Attributes:
        buckets: number of buckets.
        memory: bytes that a worker may use.
        families: families of snapshots that are compared.
    """

    buckets: Integer
    memory: Integer
    families: tuple[Family, ...]


class VerdictsItem(msgspec.Struct, frozen=True):
    """One bucket.

    Attributes:
        bucket: its number.
        inputs: sources of the content of its part.
        new: the runs of the new snapshots, by rank.
        old: the hashes of the earlier snapshots, by rank.
    """

    bucket: Integer
    inputs: tuple[Input, ...]
    new: dict[int, NewRun]
    old: dict[int, StoredFile]


class VerdictsGrinder(ShardGrinder[VerdictsSpec, VerdictsItem]):
    """Grinds the buckets of one round."""

    def grind(self, item: Item, body: VerdictsItem) -> Outcome:
        spec = self._spec
        part = BinaryPart(self._store, spec, item.name, body.inputs)
        with Spill(spec.memory) as spill:

            def write() -> None:
                bucket = _Bucket(self._store, spec, body, spill)
                bucket.compare_all_hashes()
                for rank, found in sorted(bucket.found.items()):
                    found.copy_to(part.file(str(rank)))
                part.rows = sum(found.rows for found in bucket.found.values())
                part.facts = {
                    "matrix": bucket.family_count_matrix,
                    "histogram": bucket.histogram.tolist(),
                    "largest": msgspec.to_builtins(bucket.largest.found),
                }

            ground = write_shards(self._store, [part], write)
        return Outcome(ground, facts={"bytes spilled": spill.bytes} if spill.bytes else {})


class _New:
    """The run of a new snapshot that is being compared."""

    def __init__(self, store: Store, files: NewRun, spill: Spill | None) -> None:
        def opened(file: StoredFile, types: Sequence[str]) -> ColumnFile:
            return ColumnFile(store, file.path, file.digest, types, spill)

        self.hashes = opened(files.hashes, HASHES)
        self.positions = opened(files.positions, POSITIONS)
        self._counts, self._counted = opened(files.counts, COUNTS), 0
        if self.positions.rows != self.hashes.rows:
            raise DataError(
                f"{files.positions.path}: has {self.positions.rows:,} rows, but {files.hashes.path} has"
                f" {self.hashes.rows:,}; make the runs again"
            )

    def hash_occurrence_counts(self, start: int, stop: int) -> NDArray[np.int64]:
        """How often each of the hashes [start, stop) occurs in the snapshot. Ranges are asked for in their order."""
        times = np.ones(stop - start, np.int64)
        indexes, counts = self._counts.read(self._counted, self._counted + stop - start)
        own = int(np.searchsorted(indexes, stop))
        times[indexes[:own].astype(np.int64) - start] += counts[:own].astype(np.int64)
        self._counted += own
        return times


class _Bucket:
    """One bucket that is being compared.

    Attributes:
        found: the verdicts of each new snapshot, by rank.
        matrix: [rank, first rank, fingerprints].
        histogram: how many hashes occur 2**k to 2**(k + 1) - 1 times, by k.
        largest: the hashes that occur most often.
    """

    def __init__(self, store: Store, spec: VerdictsSpec, body: VerdictsItem, spill: Spill) -> None:
        self._range, self._families = bucket_range(body.bucket, spec.buckets), spec.families
        size = sum(each.hashes.bytes for each in body.new.values()) // 16
        self._most = max(1, spec.memory // NEW_BYTES)
        held = spill if size > self._most else None
        self._new = {rank: _New(store, files, held) for rank, files in body.new.items()}
        self._old = {
            rank: OldRun(store, file.path, file.digest, spill if held or file.bytes > spec.memory // 4 else None, size)
            for rank, file in body.old.items()
        }
        self.found = {rank: ColumnWriter(FOUND, spill, spec.memory // 8 // len(body.new)) for rank in body.new}
        self._matrix: dict[tuple[int, int], int] = {}
        self.histogram = np.zeros(0, np.int64)
        self.largest = MostRepeated(
            lambda rank, place: int(self._new[rank].positions.read_column_range(0, place, place + 1)[0])
        )

    @property
    def family_count_matrix(self) -> list[list[int]]:
        return [[*pair, count] for pair, count in sorted(self._matrix.items())]

    def compare_all_hashes(self) -> None:
        """Compares everything, one range of hashes after another."""
        for window in merge_windows([each.hashes for each in self._new.values()], self._most):
            for new, (_, hi, lo) in zip(self._new.values(), window, strict=True):
                self._check_new_hashes(new, hi, lo)
            comparison = Comparison(list(self._new), window)
            times: dict[int, NDArray[np.int64]] = {}
            for rank, newcomer in comparison.newcomers.items():
                times[rank] = self._new[rank].hash_occurrence_counts(
                    newcomer.start, newcomer.start + len(newcomer.places)
                )
                comparison.add_snapshot(rank, newcomer.places, times[rank])
            self._judge_hash_range(comparison)
            for rank, first, count in count_first_occurrences(comparison, times):
                self._matrix[rank, first] = self._matrix.get((rank, first), 0) + count
            self._add_counts(counts_by_power(comparison.times))
            self.largest.add(comparison, times)

    def _judge_hash_range(self, comparison: Comparison) -> None:
        """Finds the verdicts of a range. Each earlier snapshot is in one family at most, and is read once."""
        left = dict(self._old)
        for family in self._families:
            keepers = Keepers(comparison)
            for member in family:
                newcomer = comparison.newcomers.get(member.rank)
                if newcomer is not None:
                    self._write_verdicts(member.rank, *keepers.find_kept_hashes(newcomer))
                    places = newcomer.places
                    indexes = np.arange(newcomer.start, newcomer.start + len(places))
                else:
                    places, indexes = left.pop(member.rank).shared_hashes(comparison.hi, comparison.lo)
                    comparison.add_snapshot(member.rank, places, 1)
                if member.keeps:
                    keepers.add_kept_hashes(member.rank, places, indexes)
        for rank, run in left.items():
            comparison.add_snapshot(rank, run.shared_hashes(comparison.hi, comparison.lo)[0], 1)

    def _write_verdicts(self, rank: int, at: Places, ranks: NDArray[np.int32], indexes: NDArray[np.uint32]) -> None:
        if len(at):
            begin = int(at[0])
            positions = self._new[rank].positions.read_column_range(0, begin, int(at[-1]) + 1)[at - begin]
            self.found[rank].write(positions, ranks, indexes)

    def _check_new_hashes(self, new: _New, hi: NDArray[np.uint64], lo: NDArray[np.uint64]) -> None:
        low, high = self._range
        if len(hi) and not (are_ascending(hi, lo) and low <= int(hi[0]) and int(hi[-1]) < high):
            raise DataError(f"{new.hashes.path}: its hashes are not those of its bucket in order; make the runs again")

    def _add_counts(self, more: NDArray[np.int64]) -> None:
        size = max(len(more), len(self.histogram))
        self.histogram = np.pad(self.histogram, (0, size - len(self.histogram)))
        self.histogram[: len(more)] += more


PositionOf = Callable[[int, int], int]
"""The position of a hash, by the rank of a new snapshot and the place of the hash in the file `hashes` of its run."""


class MostRepeated:
    """The hashes of one bucket that occur most often, and at least twice.

    Args:
        position_of: function that reads a position.

    Attributes:
        found: units that occur most often, at most LARGEST, the most frequent first; of equal ones the lower hash.
    """

    def __init__(self, position_of: PositionOf) -> None:
        self._position_of = position_of
        self.found: list[RepeatedUnit] = []

    def add(self, comparison: Comparison, times: Mapping[int, NDArray[np.int64]]) -> None:
        """Looks at the next range of hashes. Positions are read for those alone that are among the first.

        Args:
            comparison: the range, of which all snapshots have been seen.
            times: number of times that each hash of a new snapshot occurs in it, by rank (n).
        """
        least = self.found[-1].times + 1 if len(self.found) == LARGEST else 2
        some = np.flatnonzero(comparison.times >= least)
        if len(some) > LARGEST:
            some = some[comparison.times[some] >= np.partition(comparison.times[some], -LARGEST)[-LARGEST]]
        some = some[np.argsort(-comparison.times[some], kind="stable")][:LARGEST]
        if len(some):
            self.found = most_repeated(
                self.found + [self._repeated_unit(comparison, times, at) for at in some.tolist()]
            )

    def _repeated_unit(self, comparison: Comparison, times: Mapping[int, NDArray[np.int64]], at: int) -> RepeatedUnit:
        new, first = 0, (0, 0)
        for rank, newcomer in sorted(comparison.newcomers.items(), reverse=True):
            place = int(np.searchsorted(newcomer.places, at))
            if place < len(newcomer.places) and newcomer.places[place] == at:
                new += int(times[rank][place])
                first = rank, newcomer.start + place
        key = f"{int(comparison.hi[at]):016x}{int(comparison.lo[at]):016x}"
        return RepeatedUnit(key, int(comparison.times[at]), new, first[0], self._position_of(*first))


grinder = VerdictsGrinder
