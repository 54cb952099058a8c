"""The step of carrying: it makes an attribute set of a version from the set of the version before.

It reads both versions, and applies only the edits again. So the documents need not be made again when a set is carried.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from gristmill.errors import OutOfDate
from gristmill.execution.checks import Check, alignment_check_with_asset
from gristmill.execution.one_asset import OneAssetStep, ShardPlan, wanted_shards
from gristmill.execution.plan import Target
from gristmill.lake.address import Place, attributes_asset, documents_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Ledger, Recipe, Shard, Upstream
from gristmill.lake.store.protocol import Store
from gristmill.recipes.edits.carried import carried_name
from gristmill.recipes.label import Score, Spans
from gristmill.recipes.selection import set_of_column
from gristmill.recipes.source import Source
from gristmill.stages.mixing.carrying.carrier import CarrySpec
from gristmill.stages.mixing.carrying.grinder import CarryingItem, CarryingSpec
from gristmill.stages.mixing.step import check_aligned, revision_step

CARRYING = 1
"""Version of the way we carry spans. Raising it rebuilds all carried sets."""


@dataclass(frozen=True)
class CarryingStep(OneAssetStep):
    """A carried set of one snapshot.

    Attributes:
        source: the recipe of the source.
        version: the version whose texts get the spans.
        name: name of the set that is carried.
        snapshot: key of the snapshot.
        declared: the labels of the set, as its maker declares them; None: not declared.
        shelves: the packages that hold the recipes.
    """

    source: Source
    version: str
    name: str
    snapshot: str
    declared: tuple[Score | Spans, ...] | None
    shelves: tuple[str, ...]
    stage: str = "mixing.carrying"

    @property
    def version_before(self) -> str:
        """The version that the set belongs to."""
        return self.source.versions[self.source.versions.index(self.version) - 1]

    @property
    def asset(self) -> str:
        """The address of the carried set."""
        return attributes_asset(self.source.name, self.version, carried_name(self.name))

    @property
    def documents(self) -> tuple[Place, Place]:
        """The documents of both versions."""
        before, after = self.reads[:2]
        return place(before, self.snapshot), place(after, self.snapshot)

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets that are read: the one that is carried, and those that have the spans of edits."""
        revision = self.source.revision(self.version)
        edited = {set_of_column(edit.column) for edit in revision.edits} if revision else set[str]()
        return tuple(sorted({self.name, *edited}))

    @property
    def reads(self) -> tuple[str, ...]:
        return (
            documents_asset(self.source.name, self.version_before),
            documents_asset(self.source.name, self.version),
            *(attributes_asset(self.source.name, self.version_before, name) for name in self.sets),
        )

    @property
    def labels(self) -> Sequence[Score | Spans] | None:
        """The labels of the carried set; None: they are not declared."""
        return None if self.declared is None else [each for each in self.declared if each.kind == "spans"]

    @property
    def carry_spec(self) -> CarrySpec:
        """The description of what is carried."""
        revision = self.source.revision(self.version)
        kinds = None if self.declared is None else {each.name: each.kind for each in self.declared}
        if revision is None:
            return CarrySpec((), kinds=kinds)
        edits = tuple(edit.parameters() for edit in revision.edits)
        return CarrySpec(edits, bool(revision.transforms), revision.overlaps, kinds)

    @property
    def recipe(self) -> Recipe:
        """The recipe of the set, for its ledger."""
        carry = self.carry_spec
        parameters = {
            "set": self.name,
            "edits": list(carry.edits),
            "transforms": carry.transforms,
            "labels": None if carry.kinds is None else dict(carry.kinds),
            **({} if carry.overlaps == "union" else {"overlaps": carry.overlaps}),
        }
        name = f"{self.source.name}/{self.version}/{carried_name(self.name)}"
        return Recipe(name, CARRYING, parameters, self.source.draft)

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        return {"row_alignment": alignment_check_with_asset(documents_asset(self.source.name, self.version))}

    def plan(self, store: Store) -> ShardPlan[CarryingItem]:
        """See Step.

        Raises:
            DataError: the version was made by another recipe or from other documents, or a set does not belong to the
                documents.
        """
        before, after = self.documents
        old, old_shards = read_ledger(store, before)
        new, new_shards = read_ledger(store, after)
        above: list[Upstream] = [old.upstream, new.upstream]
        sets: dict[str, dict[str, Shard]] = {}
        for name in self.sets:
            partition = place(attributes_asset(self.source.name, self.version_before, name), self.snapshot)
            head, rows = read_ledger(store, partition)
            sets[name] = {row.name: row for row in rows}
            check_aligned(old_shards, sets[name], partition)
            above.append(head.upstream)
        self._check_current(new, above)
        by_name = {shard.name: shard for shard in old_shards}
        bodies: dict[str, CarryingItem] = {}
        for shard in new_shards:
            beside = {name: rows[shard.name] for name, rows in sets.items()}
            read = [(before.asset, by_name[shard.name]), (after.asset, shard)]
            read += [
                (attributes_asset(self.source.name, self.version_before, name), row) for name, row in beside.items()
            ]
            inputs = tuple(Input(asset, row.name, row.content) for asset, row in read)
            bodies[shard.name] = CarryingItem(by_name[shard.name], shard, beside, inputs)
        target = Target(self.made_place, self.recipe, tuple(above), wanted_shards(bodies))
        spec = partial(CarryingSpec, name=self.name, before=before, after=after, carry=self.carry_spec)
        return ShardPlan(target, spec, bodies, lambda body: body.before.length + body.after.length)

    def _check_current(self, new: Ledger, above: Sequence[Upstream]) -> None:
        """Checks that the version was made by its recipe as it is now, from documents and sets as they are now."""
        parameters = revision_step(self.source, self.version, self.snapshot, self.shelves).recipe.parameters
        if new.recipe.parameters != parameters:
            raise OutOfDate(f"{new.asset} ({self.snapshot}): was made by another recipe; make it again first")
        read = {each.asset: each for each in new.inputs}
        for each in above:
            if read.get(each.asset, each) != each:
                raise OutOfDate(
                    f"{new.asset} ({self.snapshot}): {each.asset} has changed since it was made; make it again first"
                )
