"""A lake with fingerprints of given hashes, and what dedupe must make of them, found the slow way."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray
from testkit import Mill

from gristmill.execution.one_asset import OneAssetSpec
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import FINGERPRINTS, MARKS
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table
from gristmill.lake.ledger.model import Input, Ledger, Shard, Upstream
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import ParagraphUnits
from gristmill.stages.dedupe.marks.step import MarksStep
from gristmill.stages.dedupe.runs.step import RunsStep
from gristmill.stages.dedupe.verdicts.reader import VerdictReader
from gristmill.stages.dedupe.verdicts.step import VerdictsStep
from gristmill.stages.fingerprints.binary_part import BinaryPart, BinaryPartRecord, read_part_file
from gristmill.stages.fingerprints.order import Order

SHELVES = ("gristmill",)
Hash = tuple[int, int]
Shards = Mapping[str, Sequence[Hash]]
"""The hashes of each shard of a snapshot, in their order."""


def hash_files(hi: NDArray[np.uint64], lo: NDArray[np.uint64], buckets: int) -> dict[str, bytes]:
    """The files `hashes` and `buckets` of a shard with these hashes."""
    bucket = np.array([int(high) * buckets >> 64 for high in hi.tolist()], np.int64)
    order = np.argsort(bucket, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=buckets))])
    blocks = [
        hi[at].astype("<u8").tobytes() + lo[at].astype("<u8").tobytes() + at.astype("<u4").tobytes()
        for at in (order[begin:end] for begin, end in itertools.pairwise(ends.tolist()))
    ]
    digests = b"".join(xxhash.xxh3_128_digest(block) for block in blocks)
    return {"hashes": b"".join(blocks), "buckets": ends.astype("<u8").tobytes() + digests}


def put_fingerprints(
    store: Store, recipe: Dedupe, source: str, snapshot: str, shards: Mapping[str, Mapping[str, bytes]]
) -> Ledger:
    """Publishes fingerprints: the files of each shard."""
    where = place(FINGERPRINTS.at(dedupe=recipe.name, source=source), snapshot)
    made_by = recipe.fingerprint_recipe
    rows: list[Shard] = []
    for name, files in sorted(shards.items()):
        inputs = (Input(f"sources/{source}/v0/documents", name, xxhash.xxh3_128_hexdigest(files["hashes"])),)
        spec = OneAssetSpec(place=where, token="run", recipe=made_by.digest)
        part = BinaryPart(store, spec, name, inputs)
        for file, data in files.items():
            part.file(file).write(data)
        part.facts = {"hashes": len(files["hashes"]) // 20}
        rows.append(part.close().row)
    return publish_rows(store, recipe, where, rows)


def publish_rows(store: Store, recipe: Dedupe, where: Place, rows: list[Shard]) -> Ledger:
    """Publishes a table of fingerprints."""
    documents = Upstream(f"sources/{where.asset.rpartition('/')[2]}/v0/documents", where.snapshot, "f")
    ledger = compose_ledger(where, recipe.fingerprint_recipe, (documents,), rows)
    store.put(where.table, pack_table(rows))
    store.put(where.ledger, as_json(ledger))
    return ledger


class HashLake:
    """A lake with the fingerprints of a recipe. It remembers the hashes that it was given."""

    def __init__(
        self, root: Path, recipe: Dedupe, url: str | None = None, options: dict[str, str] | None = None
    ) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.mill, self.recipe, self.order = Mill(root, url, options), recipe, Order()
        self.given: dict[tuple[str, str], Shards] = {}

    def give(self, source: str, snapshot: str, shards: Shards) -> None:
        """Publishes the fingerprints of a snapshot."""
        self.given[source, snapshot] = shards
        halves = {name: np.array(hashes, np.uint64).reshape(-1, 2) for name, hashes in shards.items()}
        files = {name: hash_files(each[:, 0], each[:, 1], self.recipe.buckets) for name, each in halves.items()}
        put_fingerprints(self.mill.store, self.recipe, source, snapshot, files)

    def runs(self, source: str, snapshot: str) -> Ledger:
        return self.mill.make(RunsStep(self.recipe, source, snapshot, SHELVES))

    def resolve(self, *new: tuple[str, str, bool]) -> None:
        """One more round: runs, verdicts and marks of new snapshots."""
        self.order = self.order.with_round(new)
        self.again(self.order.round_count)

    def again(self, number: int) -> None:
        """Makes what a round needs."""
        entries = [self.order.entries[rank] for rank in self.order.ranks_of_round(number)]
        for entry in entries:
            self.runs(entry.source, entry.snapshot)
        self.mill.make(self.verdicts(number))
        for entry in entries:
            self.mill.make(MarksStep(self.recipe, self.order, entry.source, entry.snapshot, SHELVES))

    def verdicts(self, number: int) -> VerdictsStep:
        return VerdictsStep(self.recipe, self.order, number, SHELVES)

    def marks(self, source: str, snapshot: str) -> dict[str, list[int]]:
        """The marks of each shard."""
        where = place(MARKS.at(dedupe=self.recipe.name, source=source), snapshot)
        rows = self.mill.table(where)
        return {
            name: np.frombuffer(read_part_file(self.mill.store, row, where.table, "marks"), "<u4").tolist()
            for name, row in rows.items()
        }

    def matrix(self, number: int) -> dict[tuple[int, int], int]:
        """The matrix of a round."""
        found: Counter[tuple[int, int]] = Counter()
        for row in self.mill.table(self.verdicts(number).made_place).values():
            for rank, first, count in BinaryPartRecord.decode_from_row(row, "").facts["matrix"]:
                found[rank, first] += count
        return dict(found)

    def histogram(self, number: int) -> dict[int, int]:
        """The histogram of a round."""
        found: Counter[int] = Counter()
        for row in self.mill.table(self.verdicts(number).made_place).values():
            found.update(dict(enumerate(BinaryPartRecord.decode_from_row(row, "").facts["histogram"])))
        return {power: count for power, count in found.items() if count}

    def largest(self, number: int) -> dict[str, list[list[Any]]]:
        """The hashes of each bucket that occur most often."""
        table = self.mill.table(self.verdicts(number).made_place)
        return {name: BinaryPartRecord.decode_from_row(row, "").facts["largest"] for name, row in table.items()}

    def verdict_pairs(self, number: int, rank: int) -> dict[int, tuple[int, int]]:
        """The verdicts of a new snapshot: position to the rank and the position that is kept."""
        reader = VerdictReader(self.mill.store, self.recipe, self.order, number)
        found: dict[int, tuple[int, int]] = {}
        for bucket in range(self.recipe.buckets):
            positions, ranks, keepers = (column.tolist() for column in reader.pairs(rank, bucket))
            assert positions == sorted(positions)
            found.update(zip(positions, zip(ranks, keepers, strict=True), strict=True))
        return found


def recipe_of(scope: str = "group", buckets: int = 3, memory: int = 16) -> Dedupe:
    """A recipe over three sources."""
    sources = ("wiki/v0", "news/v0", "web/v0")
    options: dict[str, Any] = {"scope": scope, "buckets": buckets, "memory": memory}
    return Dedupe(name="paragraphs-1", unit=ParagraphUnits(), sources=sources, **options)


class SlowDedupe:
    """Compares every hash with every other, one after another, as the words of the documentation say."""

    def __init__(self, lake: HashLake) -> None:
        self.order, self.scope = lake.order, lake.recipe.scope
        self.given, self.buckets = lake.given, lake.recipe.buckets

    def hashes(self, rank: int) -> list[tuple[Hash, int]]:
        """The hashes of a snapshot with their positions, in order."""
        entry = self.order.entries[rank]
        shards = sorted(self.given[entry.source, entry.snapshot].items())
        return [
            ((hi, lo), number << 32 | ordinal)
            for number, (_, hashes) in enumerate(shards)
            for ordinal, (hi, lo) in enumerate(hashes)
        ]

    def firsts(self, rank: int) -> dict[Hash, int]:
        found: dict[Hash, int] = {}
        for each, position in self.hashes(rank):
            found.setdefault(each, position)
        return found

    def before(self, rank: int) -> list[int]:
        """The ranks that a snapshot is compared with, in the order in which they keep."""
        entries, mine = self.order.entries, self.order.entries[rank]
        known = [other for other, entry in enumerate(entries) if entry.round <= mine.round]
        if self.scope == "snapshot":
            return []
        if self.scope == "source":
            return [] if mine.edition else [o for o in known if o < rank and entries[o].source == mine.source]
        first = {s: min(o for o in known if entries[o].source == s) for s in {entries[o].source for o in known}}
        slots = {other: first[entries[other].source] if entries[other].edition else other for other in known}
        chosen = []
        for other in known:
            entry = entries[other]
            editions = [entries[o].snapshot for o in known if entries[o].source == entry.source and self.hashes(o)]
            if slots[other] < slots[rank] and (not entry.edition or (editions and entry.snapshot == max(editions))):
                chosen.append(other)
        return sorted(chosen, key=slots.__getitem__)

    def verdicts(self, rank: int) -> dict[int, tuple[int, int]]:
        """Position of each distinct hash that occurs before, to the rank and the position that is kept."""
        found: dict[int, tuple[int, int]] = {}
        others = [(other, self.firsts(other)) for other in self.before(rank)]
        for each, position in self.firsts(rank).items():
            kept = [(other, known[each]) for other, known in others if each in known]
            if kept:
                found[position] = kept[0]
        return found

    def marks(self, rank: int) -> dict[str, list[int]]:
        """The marks of each shard of a snapshot."""
        entry = self.order.entries[rank]
        firsts, before = self.firsts(rank), self.verdicts(rank)
        names = sorted(self.given[entry.source, entry.snapshot])
        found: dict[str, list[int]] = {name: [] for name in names}
        for each, position in self.hashes(rank):
            if position != firsts[each] or position in before:
                found[names[position >> 32]].append(position & 0xFFFFFFFF)
        return found

    def matrix(self, number: int) -> dict[tuple[int, int], int]:
        found: Counter[tuple[int, int]] = Counter()
        for rank in self.order.ranks_of_round(number):
            for each, _ in self.hashes(rank):
                found[rank, min(o for o in range(rank + 1) if each in self.firsts(o))] += 1
        return dict(found)

    def histogram(self, number: int) -> dict[int, int]:
        new = self.order.ranks_of_round(number)
        times = Counter(each for rank in new for each, _ in self.hashes(rank))
        for rank in range(min(new)):
            times.update(each for each in self.firsts(rank) if each in times)
        return dict(Counter(count.bit_length() - 1 for count in times.values()))

    def largest(self, number: int) -> dict[str, list[list[Any]]]:
        """By bucket: hash, times with one for each earlier snapshot, new times, first new rank and position."""
        new = self.order.ranks_of_round(number)
        found: dict[str, list[list[Any]]] = {f"{bucket:05d}": [] for bucket in range(self.buckets)}
        firsts = {rank: self.firsts(rank) for rank in range(max(new) + 1)}
        for each in {each for rank in new for each in firsts[rank]}:
            mine = [position for rank in new for other, position in self.hashes(rank) if other == each]
            old = sum(each in firsts[rank] for rank in range(min(new)))
            first = next(rank for rank in new if each in firsts[rank])
            row: list[Any] = [f"{each[0]:016x}{each[1]:016x}", len(mine) + old, len(mine), first, firsts[first][each]]
            if row[1] > 1:
                found[f"{each[0] * self.buckets >> 64:05d}"].append(row)
        return {name: sorted(rows, key=lambda row: (-row[1], row[0]))[:10] for name, rows in found.items()}
