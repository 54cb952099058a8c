"""The step that gathers the duplicates of a snapshot by shard: repeats within the snapshot, and verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.execution.checks import Check
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item, raw
from gristmill.lake.address import Place, documents_asset, place
from gristmill.lake.asset_kinds import DOCUMENTS, FINGERPRINTS, HASH_RUNS, MARKS, VERDICTS, kind_of
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import read_head, read_ledger
from gristmill.lake.ledger.model import Input, Recipe, Upstream
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import MIB, Dedupe
from gristmill.stages.dedupe.columns import FOUND, row_bytes
from gristmill.stages.dedupe.fingerprint_blocks import hash_files
from gristmill.stages.dedupe.marks.grinder import Confirm, MarksItem, MarksSpec
from gristmill.stages.dedupe.neighbours import neighbours
from gristmill.stages.dedupe.verdicts.grinder import StoredFile
from gristmill.stages.dedupe.verdicts.step import SnapshotRuns, VerdictsStep, stored_file
from gristmill.stages.fingerprints.order import Order, round_key

_ITEMS = 4
"""Items of a snapshot, at most, if all of it fits in memory: each reads the duplicates of the whole snapshot."""

_CONFIRMED_BYTES = 128
"""Bytes of memory that a hash may take while texts are compared."""


_NUMBERED_BYTES = 16
"""Bytes of memory that a hash may take while the documents of each key are numbered."""


@dataclass(frozen=True)
class MarksStep:
    """The marks of one snapshot.

    Attributes:
        recipe: the dedupe recipe.
        order: the order that has the snapshot.
        source: name of the source.
        snapshot: key of the snapshot.
        shelves: the packages that hold the recipes.
    """

    recipe: Dedupe
    order: Order
    source: str
    snapshot: str
    shelves: tuple[str, ...]
    stage: str = "dedupe.marks"

    @property
    def asset(self) -> str:
        """The address of the marks."""
        return MARKS.at(dedupe=self.recipe.name, source=self.source)

    @property
    def makes(self) -> tuple[str, ...]:
        """See Step."""
        return (self.asset,)

    @property
    def reads(self) -> tuple[str, ...]:
        """See Step."""
        name = self.recipe.name
        fingerprints, runs = (kind.at(dedupe=name, source=self.source) for kind in (FINGERPRINTS, HASH_RUNS))
        texts = [documents_asset(*each) for each in self.recipe.versions.items() if self.recipe.confirm]
        return fingerprints, runs, VERDICTS.at(dedupe=name), *texts

    @property
    def made_by(self) -> Recipe:
        """The recipe of the marks, for ledgers: that of the verdicts, and whether texts are compared."""
        of = VerdictsStep(self.recipe, self.order, 1, self.shelves).made_by
        parameters = {**of.parameters, "confirm": True} if self.recipe.confirm else of.parameters
        return Recipe(of.name, of.version, parameters, of.draft)

    def code_version(self, asset: str) -> str:  # noqa: ARG002 - makes one asset
        """See Step."""
        return self.made_by.digest

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - what is read is checked as it is read
        """See Step."""
        return {}

    def plan(self, store: Store) -> "MarksPlan":
        """See Step.

        Raises:
            RecipeError: the order has no such snapshot.
            DataError: the runs were made from other fingerprints, or the verdicts from other runs.
        """
        rank = self._rank()
        prints = place(FINGERPRINTS.at(dedupe=self.recipe.name, source=self.source), self.snapshot)
        ledger, shards = read_ledger(store, prints)
        recipe = self.recipe.fingerprint_recipe.digest
        hashes = [file.hashes for file in hash_files(shards, prints.table, recipe)]
        runs = SnapshotRuns(store, self.recipe, self.source, self.snapshot)
        round_ = place(VERDICTS.at(dedupe=self.recipe.name), round_key(self.order.entries[rank].round))
        verdicts, parts = read_ledger(store, round_)
        of = VerdictsStep(self.recipe, self.order, 1, self.shelves).made_by.digest
        wrong = next((row for row in parts if row.recipe != of or row.bytes != row_bytes(FOUND) * row.rows), None)
        if wrong is not None:
            raise DataError(
                f"{round_.table}: part {wrong.name}: not the verdicts of this recipe, or its {wrong.bytes:,} bytes are"
                f" not {wrong.rows:,} rows; make {round_.asset} ({round_.snapshot}) again"
            )
        _check_upstream(runs.place, runs.ledger.inputs, ledger.upstream)
        _check_upstream(round_, verdicts.inputs, runs.ledger.upstream)
        repeats = tuple(runs.file(bucket, "repeats") for bucket in range(self.recipe.buckets))
        found = tuple(stored_file(row, round_.table, str(rank)) for row in parts)
        inputs: tuple[Input, ...] = (
            Input(runs.place.asset, "repeats", digest_of([file.digest for file in repeats])),
            Input(round_.asset, f"{round_.snapshot}/{rank}", digest_of([file.digest for file in found])),
        )
        names = sorted(shard.name for shard in shards)
        firsts: tuple[StoredFile, ...] = ()
        if self.recipe.numbered:  # the names of the shards draw the order
            firsts = tuple(runs.file(bucket, "positions") for bucket in range(self.recipe.buckets))
            read = digest_of([self.snapshot, names, [file.digest for file in firsts]])
            inputs = (*inputs, Input(runs.place.asset, "positions", read))
        texts = self._texts(store, rank) if self.recipe.confirm else {}
        if texts:
            read = digest_of([[each, *msgspec.to_builtins(texts[each])] for each in sorted(texts)])
            inputs = (*inputs, Input(texts[rank].asset, "texts", read))
        own = [Input(prints.asset, "hashes", digest_of(pair)) for pair in enumerate(hashes)]
        wants = tuple(Want(name, (each, *inputs)) for name, each in zip(names, own, strict=True))
        upstream = (ledger.upstream, runs.ledger.upstream, verdicts.upstream, *texts.values())
        target = Target(place(self.asset, self.snapshot), self.made_by, upstream, wants)
        documents = {each: upstream.fingerprint for each, upstream in texts.items()}
        confirm = Confirm(self.recipe.name, self.recipe.recipe.digest, self.order, rank, documents)
        confirmed = confirm if self.recipe.confirm else None
        return MarksPlan(self, target, tuple(hashes), repeats, found, confirmed, firsts)

    def _texts(self, store: Store, rank: int) -> dict[int, Upstream]:
        """The documents of the snapshots that are compared with one, by rank, as their fingerprints name them."""
        mine, found = self.order.entries[rank], dict[int, Upstream]()
        for other, entry in enumerate(self.order.entries):
            near = other == rank or (self.recipe.scope != "snapshot" and entry.source == mine.source)
            if entry.round > mine.round or not (near or self.recipe.scope == "group"):
                continue
            prints = place(FINGERPRINTS.at(dedupe=self.recipe.name, source=entry.source), entry.snapshot)
            head = read_head(store, prints)
            found.update((other, up) for up in (head.inputs if head else ()) if kind_of(up.asset) is DOCUMENTS)
        return found

    def _rank(self) -> int:
        for rank, entry in enumerate(self.order.entries):
            if (entry.source, entry.snapshot) == (self.source, self.snapshot):
                return rank
        raise RecipeError(
            f"dedupe {self.recipe.name!r}: its order has no snapshot {self.snapshot} of {self.source}; resolve it first"
        )


def _check_upstream(made: Place, inputs: Sequence[Upstream], wanted: Upstream) -> None:
    """Checks that a partition was made from the present state of another."""
    if wanted not in inputs:
        raise DataError(
            f"{made.ledger}: made before {wanted.asset} ({wanted.snapshot}) was changed; make {made.asset}"
            f" ({made.snapshot}) again"
        )


@dataclass(frozen=True)
class MarksPlan:
    """The plan of one snapshot.

    Attributes:
        step: the step that was planned.
        target: the partition as it should be.
        hashes: how many hashes each shard has, in the order of the shards' names.
        repeats: the file `repeats` of each bucket.
        found: the snapshot's verdicts of each bucket.
        confirm: what texts are compared with; None: they are not.
        firsts: see MarksSpec.
    """

    step: MarksStep
    target: Target
    hashes: tuple[int, ...]
    repeats: tuple[StoredFile, ...]
    found: tuple[StoredFile, ...]
    confirm: Confirm | None
    firsts: tuple[StoredFile, ...] = ()

    @property
    def targets(self) -> tuple[Target, ...]:
        """See StepPlan."""
        return (self.target,)

    def spec(self, token: str) -> MarksSpec:
        """See StepPlan."""
        return MarksSpec(
            place=self.target.place,
            token=token,
            recipe=self.target.recipe.digest,
            memory=self.step.recipe.memory * MIB,
            shards=tuple((want.name, want.inputs or ()) for want in self.target.wants),
            hashes=self.hashes,
            repeats=self.repeats,
            found=self.found,
            confirm=self.confirm,
            firsts=self.firsts,
        )

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:  # noqa: ARG002
        """See StepPlan. An item has the name of its last shard: if that one is finished, so are the others."""
        numbers = {want.name: number for number, want in enumerate(self.target.wants)}
        missing = [numbers[want.name] for want in todo[self.target.place.asset]]
        weights = {number: self.hashes[number] for number in missing}
        each = _CONFIRMED_BYTES if self.confirm else _NUMBERED_BYTES if self.firsts else 2
        memory = self.step.recipe.memory * MIB // each
        most = min(memory, -(-sum(self.hashes) // _ITEMS))
        names = [want.name for want in self.target.wants]
        return [
            Item(names[last - 1], sum(self.hashes[first:last]), raw(MarksItem(first, last)))
            for first, last in neighbours(weights, most)
        ]
