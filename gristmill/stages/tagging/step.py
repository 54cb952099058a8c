"""The step of tagging: it makes several attribute sets of one snapshot, and reads the documents once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gristmill.execution.checks import Check, Verdict, row_alignment
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item, raw
from gristmill.lake.address import Place, attributes_asset, documents_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.store.protocol import Store
from gristmill.recipes.code.digest import code_of
from gristmill.recipes.tagger import Tagger
from gristmill.stages.tagging.grinder import SetSpec, TaggingItem, TaggingSpec


@dataclass(frozen=True)
class TaggingStep:
    """Attribute sets of one snapshot of a dataset version.

    Attributes:
        source: name of the source.
        version: the version that is read.
        snapshot: key of the snapshot.
        taggers: the taggers, one for each set.
        shelves: the packages that hold the taggers.
    """

    source: str
    version: str
    snapshot: str
    taggers: tuple[Tagger, ...]
    shelves: tuple[str, ...]
    stage: str = "tagging"

    @property
    def documents(self) -> Place:
        """The partition that is read."""
        return place(documents_asset(self.source, self.version), self.snapshot)

    @property
    def makes(self) -> tuple[str, ...]:
        """See Step."""
        return tuple(attributes_asset(self.source, self.version, tagger.name) for tagger in self.taggers)

    @property
    def reads(self) -> tuple[str, ...]:
        """See Step."""
        return (documents_asset(self.source, self.version),)

    def code_version(self, asset: str) -> str:
        """See Step."""
        return self.taggers[self.makes.index(asset)].recipe.digest

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - all sets have the same
        """See Step."""
        return {"row_alignment": self._row_alignment}

    def _row_alignment(self, store: Store, partition: Place, shards: Sequence[Shard]) -> Verdict:
        documents = place(documents_asset(self.source, self.version), partition.snapshot)
        return row_alignment(read_ledger(store, documents)[1], shards)

    def plan(self, store: Store) -> "TaggingPlan":
        """See Step."""
        ledger, shards = read_ledger(store, self.documents)
        documents = self.documents.asset
        wants = tuple(Want(s.name, (Input(documents, s.name, s.content),)) for s in shards)
        targets = tuple(
            Target(place(asset, self.snapshot), tagger.recipe, (ledger.upstream,), wants, code_of(tagger))
            for asset, tagger in zip(self.makes, self.taggers, strict=True)
        )
        return TaggingPlan(self, targets, {shard.name: shard for shard in shards})


@dataclass(frozen=True)
class TaggingPlan:
    """The attribute sets, and the documents that they are made from.

    Attributes:
        step: the step that was planned.
        targets: the partitions as they should be, one for each set.
        shards: the shards of the documents, by name.
    """

    step: TaggingStep
    targets: tuple[Target, ...]
    shards: Mapping[str, Shard]

    def spec(self, token: str) -> TaggingSpec:
        """See StepPlan."""
        sets = [
            SetSpec(tagger.name, target.place, token, target.recipe.digest, target.code.digest)
            for tagger, target in zip(self.step.taggers, self.targets, strict=True)
        ]
        return TaggingSpec(self.step.documents, tuple(sets))

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:  # noqa: ARG002
        """See StepPlan."""
        missing: dict[str, list[str]] = {}
        for asset, tagger in zip(self.step.makes, self.step.taggers, strict=True):
            for want in todo.get(asset, ()):
                missing.setdefault(want.name, []).append(tagger.name)
        return [
            Item(name, self.shards[name].length, raw(TaggingItem(self.shards[name], tuple(taggers))))
            for name, taggers in sorted(missing.items())
        ]
