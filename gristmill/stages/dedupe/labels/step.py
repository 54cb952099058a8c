"""The step that writes the attribute set of a dedupe recipe for one snapshot. It reads no documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from gristmill.errors import DataError
from gristmill.execution.checks import Check, alignment_check_with_asset
from gristmill.execution.one_asset import OneAssetStep, ShardPlan, wanted_shards
from gristmill.execution.plan import Target
from gristmill.lake.address import attributes_asset, documents_asset, place
from gristmill.lake.asset_kinds import FINGERPRINTS, MARKS, RESOLUTION
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Ledger, Recipe
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.label import Score, Spans
from gristmill.stages.dedupe.labels.grinder import LabelsItem, LabelsSpec
from gristmill.stages.dedupe.resolution import read_resolution
from gristmill.stages.fingerprints.binary_part import check_recipes

LABELLING = 1
"""Version of the way we write the sets of dedupe recipes. Raising it rebuilds all of them."""


@dataclass(frozen=True)
class DedupeLabelsStep(OneAssetStep):
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
    def reads(self) -> tuple[str, ...]:
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

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        return {"row_alignment": alignment_check_with_asset(documents_asset(self.source, self.version))}

    def plan(self, store: Store) -> ShardPlan[LabelsItem]:
        """See Step. The fingerprints and the marks must be those of the last resolution, and of these documents."""
        names = {"dedupe": self.dedupe.name, "source": self.source}
        documents, shards = read_ledger(store, place(documents_asset(self.source, self.version), self.snapshot))
        fingerprints, made = place(FINGERPRINTS.at(**names), self.snapshot), place(MARKS.at(**names), self.snapshot)
        prints, printed = read_ledger(store, fingerprints)
        marks, marked = read_ledger(store, made)
        self._check_resolved(store, documents, prints, marks)
        for head, rows in ((prints, printed), (marks, marked)):
            check_recipes(head, rows, place(head.asset, head.snapshot).table)
        prints_of, marks_of = {row.name: row for row in printed}, {row.name: row for row in marked}
        bodies: dict[str, LabelsItem] = {}
        for shard in shards:
            if shard.name not in prints_of or shard.name not in marks_of:
                raise DataError(
                    f"{marks.asset} ({self.snapshot}): no marks of shard {shard.name};"
                    f" run {RESOLUTION.at(**names)} again"
                )
            inputs = (
                Input(documents.asset, shard.name, shard.content),
                Input(marks.asset, shard.name, marks_of[shard.name].content),
            )
            bodies[shard.name] = LabelsItem(
                msgspec.structs.replace(prints_of[shard.name], inputs=()),
                msgspec.structs.replace(marks_of[shard.name], inputs=()),
                shard.ids,
                inputs,
            )
        target = Target(self.made_place, self.recipe, (documents.upstream, marks.upstream), wanted_shards(bodies))
        spec = partial(
            LabelsSpec,
            dedupe=self.dedupe.name,
            fingerprints=fingerprints,
            marks=made,
            made_by=self.dedupe.recipe.digest,
        )
        return ShardPlan(target, spec, bodies, lambda body: body.fingerprints.bytes)

    def _check_resolved(self, store: Store, documents: Ledger, prints: Ledger, marks: Ledger) -> None:
        """Checks that the last resolution is over these documents.

        Raises:
            DataError: it is not.
        """
        resolution = read_resolution(store, self.dedupe.name)
        found = resolution.find_resolved_snapshot(self.source, self.snapshot) if resolution else None
        now = (documents.fingerprint, prints.fingerprint, marks.fingerprint)
        if found is None or (found.documents, found.fingerprints, found.marks) != now:
            again = RESOLUTION.at(dedupe=self.dedupe.name)
            raise DataError(
                f"{documents.asset} ({self.snapshot}): {again} has not compared these documents yet; run"
                f" {prints.asset} for this snapshot, then {again}"
            )
