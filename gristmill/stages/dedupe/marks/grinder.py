"""The grinder of marks: it reads the duplicates of a snapshot, and writes those of neighbouring shards.

File `marks` of a part: u32 ordinals of the hashes of the shard that are duplicates, ascending. If documents are
numbered by a key, KEY_MARK records of gristmill.stages.dedupe.marks.key_numbers.
"""

from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError, RecipeError
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Ground, Item, Outcome
from gristmill.execution.write_shards import write_shards
from gristmill.lake.ledger.model import Input
from gristmill.lake.store.json_object import Integer
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.shelf import find_recipe
from gristmill.stages.dedupe.columns import FOUND, POSITIONS, REPEATS, ColumnFile, Spill, write_array
from gristmill.stages.dedupe.hash_order import U64
from gristmill.stages.dedupe.marks.confirmation import Confirmation
from gristmill.stages.dedupe.marks.first_occurrences import FirstOccurrences
from gristmill.stages.dedupe.marks.key_numbers import KeyNumbers
from gristmill.stages.dedupe.neighbours import Neighbours
from gristmill.stages.dedupe.verdicts.grinder import StoredFile
from gristmill.stages.fingerprints.binary_part import BinaryPart
from gristmill.stages.fingerprints.order import Order

NOT_CONFIRMED = "not confirmed"
"""Counter of the duplicates whose texts differ from their first occurrences."""

_READ_BYTES = 64
"""Bytes of memory that a position takes while it is looked at."""


class Confirm(msgspec.Struct, frozen=True):
    """What is needed to compare texts.

    Attributes:
        dedupe: name of the recipe.
        made_by: digest of the recipe.
        order: the order of the snapshots.
        rank: rank of the snapshot.
        documents: the fingerprint of each snapshot's documents, as its units were compared, by rank.
    """

    dedupe: str
    made_by: str
    order: Order
    rank: Integer
    documents: dict[int, str]


class MarksSpec(OneAssetSpec, frozen=True):
    """What all parts share.

    Attributes:
        memory: bytes that a worker may use.
        shards: name and inputs of each part, in the order of the names.
        hashes: number of hashes of each shard.
        repeats: the file `repeats` of each bucket.
        found: the snapshot's verdicts of each bucket.
        confirm: texts to compare with; None: they are not.
        firsts: the file `positions` of each bucket, if the documents of each key are numbered.
    """

    memory: Integer
    shards: tuple[tuple[str, tuple[Input, ...]], ...]
    hashes: tuple[Integer, ...]
    repeats: tuple[StoredFile, ...]
    found: tuple[StoredFile, ...]
    confirm: Confirm | None = None
    firsts: tuple[StoredFile, ...] = ()


class MarksGrinder(ShardGrinder[MarksSpec, Neighbours]):
    """Grinds the shards of one snapshot."""

    def grind(self, item: Item, body: Neighbours) -> Outcome:  # noqa: ARG002 - the name is that of its last shard
        spec = self._spec
        if spec.firsts:
            return self._number_key_documents(body)
        marks = _Marks(spec.hashes, body.first, body.last)
        with Spill(spec.memory) as spill:
            for number, types, files in ((1, REPEATS, spec.repeats), (0, FOUND, spec.found)):
                for each in files:
                    held = spill if each.bytes > spec.memory // 4 else None
                    file = ColumnFile(self._store, each.path, each.digest, types, held)
                    most = max(1, spec.memory // 4 // _READ_BYTES)
                    for start in range(0, file.rows, most):
                        marks.add(file.read_column_range(number, start, start + most), each.path)
        if spec.confirm:
            marks.remove_marks(self._refuted_positions(spec.confirm, body))
        ground: list[Ground] = []
        for number in range(body.first, body.last):
            ground += self._write_mark_part(number, marks)
        return Outcome(tuple(ground), facts={"bytes spilled": spill.bytes} if spill.bytes else {})

    def _number_key_documents(self, body: Neighbours) -> Outcome:
        """Numbers the documents of each key."""
        spec = self._spec
        most = spec.memory // 4 // _READ_BYTES
        names = [name for name, _ in spec.shards]
        numbers = KeyNumbers(spec.place.snapshot, names, spec.hashes, body.first, body.last, most)
        with Spill(spec.memory) as spill:
            for first, again in zip(spec.firsts, spec.repeats, strict=True):
                held = spill if first.bytes + again.bytes > spec.memory // 4 else None
                firsts = ColumnFile(self._store, first.path, first.digest, POSITIONS, held)
                numbers.add(firsts, ColumnFile(self._store, again.path, again.digest, REPEATS, held))
        ground: list[Ground] = []
        for number in range(body.first, body.last):
            records = numbers.shard_key_marks(number)
            part = self._open_fingerprint_part(number)
            part.rows = int((records["number"] > 1).sum())
            ground += write_shards(self._store, [part], partial(_write_records, part, records))
        return Outcome(tuple(ground), facts={"bytes spilled": spill.bytes} if spill.bytes else {})

    def _open_fingerprint_part(self, number: int) -> BinaryPart:
        name, inputs = self._spec.shards[number]
        return BinaryPart(self._store, self._spec, name, inputs)

    def _refuted_positions(self, confirm: Confirm, body: Neighbours) -> U64:
        """The positions of duplicates whose texts differ from their first occurrences."""
        recipe = find_recipe("dedupes", Dedupe, self._shelves, confirm.dedupe)
        if recipe.recipe.digest != confirm.made_by:
            raise RecipeError(f"dedupe {recipe.name!r}: this worker has another recipe than the run; update it")
        shards = (body.first, body.last)
        found = FirstOccurrences.read(self._store, recipe, confirm.order, confirm.rank, shards)
        return Confirmation(self._store, recipe, confirm.order, confirm.documents).false_duplicates(confirm.rank, found)

    def _write_mark_part(self, number: int, marks: "_Marks") -> tuple[Ground, ...]:
        spec, part = self._spec, self._open_fingerprint_part(number)

        def write() -> None:
            ordinals = marks.shard_marks(number)
            write_array(part.file("marks"), ordinals)
            part.rows = len(ordinals)
            if spec.confirm:
                part.counts = {NOT_CONFIRMED: marks.removed_mark_count(number)}

        return write_shards(self._store, [part], write)


def _write_records(part: BinaryPart, records: NDArray[np.void]) -> None:
    part.file("marks").write(records.tobytes())


class _Marks:
    """The duplicates among the hashes of the shards [first, last).

    Args:
        hashes: how many hashes each shard of the snapshot has.
        first: number of the first shard.
        last: number after the last one.
    """

    def __init__(self, hashes: tuple[int, ...], first: int, last: int) -> None:
        self._hashes = np.array(hashes, np.int64)
        self._first, self._last = first, last
        self._begins = np.concatenate([[0], np.cumsum(self._hashes[first:last])])
        self._marked = np.zeros(int(self._begins[-1]), bool)
        self._refuted = np.zeros(len(self._hashes), np.int64)

    def add(self, positions: U64, path: str) -> None:
        """Marks positions; those of other shards are checked and left.

        Raises:
            DataError: a position is not in the snapshot.
        """
        shards = (positions >> np.uint64(32)).astype(np.int64)
        ordinals = (positions & np.uint64(0xFFFFFFFF)).astype(np.int64)
        if len(shards) and (int(shards.max()) >= len(self._hashes) or (ordinals >= self._hashes[shards]).any()):
            raise DataError(f"{path}: a position that the snapshot does not have; make its partition again")
        if (self._first, self._last) != (0, len(self._hashes)):
            mine = np.flatnonzero((shards >= self._first) & (shards < self._last))
            shards, ordinals = shards[mine], ordinals[mine]
        self._marked[self._begins[shards - self._first] + ordinals] = True

    def remove_marks(self, positions: U64) -> None:
        """Takes the marks of some positions away."""
        shards = (positions >> np.uint64(32)).astype(np.int64)
        places = self._begins[shards - self._first] + (positions & np.uint64(0xFFFFFFFF)).astype(np.int64)
        self._marked[places] = False
        self._refuted = np.bincount(shards, minlength=len(self._hashes))

    def removed_mark_count(self, number: int) -> int:
        """How many marks of a shard were taken away."""
        return int(self._refuted[number])

    def shard_marks(self, number: int) -> NDArray[np.uint32]:
        """The marked hashes of a shard, ascending."""
        begin, end = self._begins[number - self._first : number - self._first + 2]
        return np.flatnonzero(self._marked[begin:end]).astype("<u4")


grinder = MarksGrinder
