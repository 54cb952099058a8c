"""The step that gathers the duplicates of a snapshot by shard: repeats within the snapshot, and verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.execution.one_asset import OneAssetStep
from gristmill.execution.plan import Target, Want
from gristmill.lake.address import Place, documents_asset, place
from gristmill.lake.asset_kinds import DOCUMENTS, FINGERPRINTS, HASH_RUNS, MARKS, VERDICTS, kind_of
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import read_head, read_ledger
from gristmill.lake.ledger.model import Input, Ledger, Recipe, Shard, Upstream
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import MIB, Dedupe
from gristmill.stages.dedupe.columns import FOUND, row_bytes
from gristmill.stages.dedupe.fingerprint_blocks import hash_files
from gristmill.stages.dedupe.marks.grinder import Confirm, MarksSpec
from gristmill.stages.dedupe.neighbours import NeighboursPlan
from gristmill.stages.dedupe.verdicts.grinder import StoredFile
from gristmill.stages.dedupe.verdicts.step import SnapshotRuns, VerdictsStep, stored_file
from gristmill.stages.fingerprints.order import Order, round_partition_key

_ITEMS = 4
"""Items of a snapshot, at most, if all of it fits in memory: each reads the duplicates of the whole snapshot."""

_CONFIRMED_BYTES = 128
"""Bytes of memory that a hash may take while texts are compared."""


_NUMBERED_BYTES = 16
"""Bytes of memory that a hash may take while the documents of each key are numbered."""


@dataclass(frozen=True)
class MarksStep(OneAssetStep):
    """The marks of one snapshot.

    Attributes:
        dedupe: the recipe.
        order: the order that has the snapshot.
        source: name of the source.
        snapshot: key of the snapshot.
        shelves: the packages that hold the recipes.
    """

    dedupe: Dedupe
    order: Order
    source: str
    snapshot: str
    shelves: tuple[str, ...]
    stage: str = "dedupe.marks"

    @property
    def asset(self) -> str:
        """The address of the marks."""
        return MARKS.at(dedupe=self.dedupe.name, source=self.source)

    @property
    def reads(self) -> tuple[str, ...]:
        name = self.dedupe.name
        fingerprints, runs = (kind.at(dedupe=name, source=self.source) for kind in (FINGERPRINTS, HASH_RUNS))
        texts = [documents_asset(*each) for each in self.dedupe.versions.items() if self.dedupe.confirm]
        return fingerprints, runs, VERDICTS.at(dedupe=name), *texts

    @property
    def recipe(self) -> Recipe:
        """The recipe of the marks, for ledgers: that of the verdicts, and whether texts are compared."""
        of = VerdictsStep(self.dedupe, self.order, 1, self.shelves).recipe
        parameters = {**of.parameters, "confirm": True} if self.dedupe.confirm else of.parameters
        return Recipe(of.name, of.version, parameters, of.draft)

    def plan(self, store: Store) -> NeighboursPlan:
        """See Step.

        Raises:
            RecipeError: the order has no such snapshot.
            DataError: the runs were made from other fingerprints, or the verdicts from other runs.
        """
        rank = self._snapshot_rank()
        prints = place(FINGERPRINTS.at(dedupe=self.dedupe.name, source=self.source), self.snapshot)
        ledger, shards = read_ledger(store, prints)
        hashes = [file.hashes for file in hash_files(shards, prints.table, self.dedupe.fingerprint_recipe.digest)]
        runs = SnapshotRuns(store, self.dedupe, self.source, self.snapshot)
        round_ = place(VERDICTS.at(dedupe=self.dedupe.name), round_partition_key(self.order.entries[rank].round))
        verdicts, parts = self._round_verdicts(store, round_)
        _check_upstream(runs.place, runs.ledger.inputs, ledger.upstream)
        _check_upstream(round_, verdicts.inputs, runs.ledger.upstream)
        repeats = tuple(runs.file(bucket, "repeats") for bucket in range(self.dedupe.buckets))
        found = tuple(stored_file(row, round_.table, str(rank)) for row in parts)
        inputs: tuple[Input, ...] = (
            Input(runs.place.asset, "repeats", digest_of([file.digest for file in repeats])),
            Input(round_.asset, f"{round_.snapshot}/{rank}", digest_of([file.digest for file in found])),
        )
        names = sorted(shard.name for shard in shards)
        firsts = tuple[StoredFile, ...]()
        if self.dedupe.numbered:  # the names of the shards draw the order
            firsts = tuple(runs.file(bucket, "positions") for bucket in range(self.dedupe.buckets))
            read = digest_of([self.snapshot, names, [file.digest for file in firsts]])
            inputs = (*inputs, Input(runs.place.asset, "positions", read))
        texts = self._compared_documents(store, rank) if self.dedupe.confirm else {}
        if texts:
            read = digest_of([[each, *msgspec.to_builtins(texts[each])] for each in sorted(texts)])
            inputs = (*inputs, Input(texts[rank].asset, "texts", read))
        own = [Input(prints.asset, "hashes", digest_of(pair)) for pair in enumerate(hashes)]
        wants = tuple(Want(name, (each, *inputs)) for name, each in zip(names, own, strict=True))
        upstream = (ledger.upstream, runs.ledger.upstream, verdicts.upstream, *texts.values())
        target = Target(self.made_place, self.recipe, upstream, wants)
        memory = self.dedupe.memory * MIB
        spec = partial(
            MarksSpec,
            memory=memory,
            shards=tuple((want.name, want.inputs or ()) for want in wants),
            hashes=tuple(hashes),
            repeats=repeats,
            found=found,
            confirm=self._confirmation_request(rank, texts),
            firsts=firsts,
        )
        each = _CONFIRMED_BYTES if self.dedupe.confirm else _NUMBERED_BYTES if firsts else 2
        return NeighboursPlan(target, spec, tuple(hashes), min(memory // each, -(-sum(hashes) // _ITEMS)))

    def _round_verdicts(self, store: Store, round_: Place) -> tuple[Ledger, list[Shard]]:
        """The ledger and the parts of the verdicts of a round.

        Raises:
            DataError: they are those of another recipe, or their bytes are not the rows that their ledger counts.
        """
        verdicts, parts = read_ledger(store, round_)
        of = VerdictsStep(self.dedupe, self.order, 1, self.shelves).recipe.digest
        wrong = next((row for row in parts if row.recipe != of or row.bytes != row_bytes(FOUND) * row.rows), None)
        if wrong is not None:
            raise DataError(
                f"{round_.table}: part {wrong.name}: not the verdicts of this recipe, or its {wrong.bytes:,} bytes are"
                f" not {wrong.rows:,} rows; make {round_.asset} ({round_.snapshot}) again"
            )
        return verdicts, parts

    def _confirmation_request(self, rank: int, texts: Mapping[int, Upstream]) -> Confirm | None:
        documents = {each: upstream.fingerprint for each, upstream in texts.items()}
        confirm = Confirm(self.dedupe.name, self.dedupe.recipe.digest, self.order, rank, documents)
        return confirm if self.dedupe.confirm else None

    def _compared_documents(self, store: Store, rank: int) -> dict[int, Upstream]:
        """The documents of the snapshots that are compared with one, by rank, as their fingerprints name them."""
        mine, found = self.order.entries[rank], dict[int, Upstream]()
        for other, entry in enumerate(self.order.entries):
            near = other == rank or (self.dedupe.scope != "snapshot" and entry.source == mine.source)
            if entry.round > mine.round or not (near or self.dedupe.scope == "group"):
                continue
            prints = place(FINGERPRINTS.at(dedupe=self.dedupe.name, source=entry.source), entry.snapshot)
            head = read_head(store, prints)
            found.update((other, up) for up in (head.inputs if head else ()) if kind_of(up.asset) is DOCUMENTS)
        return found

    def _snapshot_rank(self) -> int:
        for rank, entry in enumerate(self.order.entries):
            if (entry.source, entry.snapshot) == (self.source, self.snapshot):
                return rank
        raise RecipeError(
            f"dedupe {self.dedupe.name!r}: its order has no snapshot {self.snapshot} of {self.source}; resolve it first"
        )


def _check_upstream(made: Place, inputs: Sequence[Upstream], wanted: Upstream) -> None:
    """Checks that a partition was made from the present state of another."""
    if wanted not in inputs:
        raise DataError(
            f"{made.ledger}: made before {wanted.asset} ({wanted.snapshot}) was changed; make {made.asset}"
            f" ({made.snapshot}) again"
        )
