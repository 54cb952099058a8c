"""The step that makes the fingerprints of one snapshot of a source: one part for each shard of documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from gristmill.execution.checks import Check, Verdict, row_alignment
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item, raw
from gristmill.lake.address import Place, documents_asset, place
from gristmill.lake.asset_kinds import FINGERPRINTS
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe, Shard
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import FINGERPRINTING, Dedupe
from gristmill.stages.fingerprints.grinder import FingerprintItem, FingerprintSpec


@dataclass(frozen=True)
class FingerprintStep:
    """The fingerprints of one snapshot.

    Attributes:
        dedupe: the recipe.
        source: name of one of its sources.
        snapshot: key of the snapshot.
        shelves: the packages that hold the recipes.
    """

    dedupe: Dedupe
    source: str
    snapshot: str
    shelves: tuple[str, ...]
    stage: str = "fingerprints"

    @property
    def documents(self) -> Place:
        """The partition that is read."""
        return place(documents_asset(self.source, self.dedupe.versions[self.source]), self.snapshot)

    @property
    def asset(self) -> str:
        """The address of the fingerprints."""
        return FINGERPRINTS.at(dedupe=self.dedupe.name, source=self.source)

    @property
    def makes(self) -> tuple[str, ...]:
        """See Step."""
        return (self.asset,)

    @property
    def reads(self) -> tuple[str, ...]:
        """See Step."""
        return (documents_asset(self.source, self.dedupe.versions[self.source]),)

    @property
    def recipe(self) -> Recipe:
        """The recipe, for the ledger: what changes a fingerprint."""
        return Recipe(self.dedupe.name, FINGERPRINTING, self.dedupe.fingerprint_parameters, self.dedupe.draft)

    def code_version(self, asset: str) -> str:  # noqa: ARG002 - makes one asset
        """See Step."""
        return self.recipe.digest

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        """See Step."""
        return {"row_alignment": self._row_alignment}

    def _row_alignment(self, store: Store, partition: Place, parts: Sequence[Shard]) -> Verdict:
        documents = place(documents_asset(self.source, self.dedupe.versions[self.source]), partition.snapshot)
        return row_alignment(read_ledger(store, documents)[1], parts)

    def plan(self, store: Store) -> "FingerprintPlan":
        """See Step."""
        ledger, shards = read_ledger(store, self.documents)
        bodies: dict[str, FingerprintItem] = {}
        for shard in shards:
            inputs = (Input(self.documents.asset, shard.name, shard.content),)
            bodies[shard.name] = FingerprintItem(msgspec.structs.replace(shard, members=(), inputs=()), inputs)
        wants = tuple(Want(name, body.inputs) for name, body in bodies.items())
        target = Target(place(self.asset, self.snapshot), self.recipe, (ledger.upstream,), wants)
        return FingerprintPlan(self, target, bodies)


@dataclass(frozen=True)
class FingerprintPlan:
    """The plan of one snapshot.

    Attributes:
        step: the step that was planned.
        target: the partition as it should be.
        bodies: the work for each part, by the name of the documents' shard.
    """

    step: FingerprintStep
    target: Target
    bodies: Mapping[str, FingerprintItem]

    @property
    def targets(self) -> tuple[Target, ...]:
        """See StepPlan."""
        return (self.target,)

    def spec(self, token: str) -> FingerprintSpec:
        """See StepPlan."""
        return FingerprintSpec(
            documents=self.step.documents,
            place=self.target.place,
            token=token,
            recipe=self.target.recipe.digest,
            unit=self.step.dedupe.unit.fingerprint_parameters,
            buckets=self.step.dedupe.buckets,
        )

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:  # noqa: ARG002
        """See StepPlan."""
        bodies = (self.bodies[want.name] for want in todo[self.target.place.asset])
        return [Item(body.documents.name, body.documents.length, raw(body)) for body in bodies]
