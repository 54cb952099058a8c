"""The step that writes the attribute set of a dedupe recipe for one snapshot. It reads no documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from gristmill.errors import DataError
from gristmill.execution.checks import Check, Verdict, row_alignment
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item, raw
from gristmill.lake.address import Place, attributes_asset, documents_asset, place
from gristmill.lake.asset_kinds import FINGERPRINTS, MARKS, RESOLUTION
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Ledger, Recipe, Shard
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.label import Score, Spans
from gristmill.stages.dedupe.labels.grinder import LabelsItem, LabelsSpec
from gristmill.stages.dedupe.resolution import read_resolution
from gristmill.stages.fingerprints.binary_part import check_recipes

LABELLING = 1
"""Version of the way we write the sets of dedupe recipes. Raising it rebuilds all of them."""


@dataclass(frozen=True)
class DedupeLabelsStep:
    """The attribute set of a dedupe recipe for one snapshot.

    Attributes:
        dedupe: the recipe.
        source: name of the source.
        snapshot: key of the snapshot.
        shelves: the packages that hold the recipes.
    """

    dedupe: Dedupe
    source: str
    snapshot: str
    shelves: tuple[str, ...]
    stage: str = "dedupe.labels"

    @property
    def version(self) -> str:
        """The version whose documents are labelled."""
        return self.dedupe.versions[self.source]

    @property
    def asset(self) -> str:
        """The address of the set."""
        return attributes_asset(self.source, self.version, self.dedupe.name)

    @property
    def makes(self) -> tuple[str, ...]:
        """See Step."""
        return (self.asset,)

    @property
    def reads(self) -> tuple[str, ...]:
        """See Step."""
        names = {"dedupe": self.dedupe.name, "source": self.source}
        documents = documents_asset(self.source, self.version)
        return (documents, FINGERPRINTS.at(**names), RESOLUTION.at(**names))

    @property
    def recipe(self) -> Recipe:
        """The recipe of the set, for its ledger."""
        of = self.dedupe.recipe
        return Recipe(of.name, LABELLING, {**of.parameters, "version": of.version}, of.draft)

    @property
    def labels(self) -> Sequence[Score | Spans]:
        """The labels of the set."""
        return self.dedupe.labels

    def code_version(self, asset: str) -> str:  # noqa: ARG002 - makes one asset
        """See Step."""
        return self.recipe.digest

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        """See Step."""
        return {"row_alignment": self._row_alignment}

    def _row_alignment(self, store: Store, partition: Place, shards: Sequence[Shard]) -> Verdict:
        documents = place(documents_asset(self.source, self.version), partition.snapshot)
        return row_alignment(read_ledger(store, documents)[1], shards)

    def plan(self, store: Store) -> "DedupeLabelsPlan":
        """See Step. The fingerprints and the marks must be those of the last resolution, and of these documents."""
        names = {"dedupe": self.dedupe.name, "source": self.source}
        documents, shards = read_ledger(store, place(documents_asset(self.source, self.version), self.snapshot))
        prints, printed = read_ledger(store, place(FINGERPRINTS.at(**names), self.snapshot))
        marks, marked = read_ledger(store, place(MARKS.at(**names), self.snapshot))
        self._check_resolved(store, documents, prints, marks)
        for head, rows in ((prints, printed), (marks, marked)):
            check_recipes(head, rows, place(head.asset, head.snapshot).table)
        fingerprints, by_name = {row.name: row for row in printed}, {row.name: row for row in marked}
        wants: list[Want] = []
        bodies: dict[str, LabelsItem] = {}
        for shard in shards:
            if shard.name not in fingerprints or shard.name not in by_name:
                raise DataError(
                    f"{marks.asset} ({self.snapshot}): no marks of shard {shard.name};"
                    f" run {RESOLUTION.at(**names)} again"
                )
            inputs = (
                Input(documents.asset, shard.name, shard.content),
                Input(marks.asset, shard.name, by_name[shard.name].content),
            )
            wants.append(Want(shard.name, inputs))
            lean = msgspec.structs.replace(by_name[shard.name], inputs=())
            bodies[shard.name] = LabelsItem(
                msgspec.structs.replace(fingerprints[shard.name], inputs=()), lean, shard.ids, inputs
            )
        above = (documents.upstream, marks.upstream)
        target = Target(place(self.asset, self.snapshot), self.recipe, above, tuple(wants))
        return DedupeLabelsPlan(self, target, bodies)

    def _check_resolved(self, store: Store, documents: Ledger, prints: Ledger, marks: Ledger) -> None:
        """Checks that the last resolution is over these documents.

        Raises:
            DataError: it is not.
        """
        resolution = read_resolution(store, self.dedupe.name)
        found = resolution.of(self.source, self.snapshot) if resolution else None
        now = (documents.fingerprint, prints.fingerprint, marks.fingerprint)
        if found is None or (found.documents, found.fingerprints, found.marks) != now:
            again = RESOLUTION.at(dedupe=self.dedupe.name)
            raise DataError(
                f"{documents.asset} ({self.snapshot}): {again} has not compared these documents yet; run"
                f" {prints.asset} for this snapshot, then {again}"
            )


@dataclass(frozen=True)
class DedupeLabelsPlan:
    """The plan of one snapshot.

    Attributes:
        step: the step that was planned.
        target: the partition as it should be.
        bodies: the work for each shard, by name.
    """

    step: DedupeLabelsStep
    target: Target
    bodies: Mapping[str, LabelsItem]

    @property
    def targets(self) -> tuple[Target, ...]:
        """See StepPlan."""
        return (self.target,)

    def spec(self, token: str) -> LabelsSpec:
        """See StepPlan."""
        names = {"dedupe": self.step.dedupe.name, "source": self.step.source}
        return LabelsSpec(
            dedupe=self.step.dedupe.name,
            place=self.target.place,
            fingerprints=place(FINGERPRINTS.at(**names), self.step.snapshot),
            marks=place(MARKS.at(**names), self.step.snapshot),
            token=token,
            recipe=self.target.recipe.digest,
            made_by=self.step.dedupe.recipe.digest,
        )

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:  # noqa: ARG002
        """See StepPlan."""
        names = [want.name for want in todo[self.target.place.asset]]
        return [Item(name, self.bodies[name].fingerprints.bytes, raw(self.bodies[name])) for name in names]
