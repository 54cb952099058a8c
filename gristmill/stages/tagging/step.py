"""The step of tagging: it makes several attribute sets of one snapshot, and reads the documents once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gristmill.errors import DataError
from gristmill.execution.checks import Check, alignment_check_with_asset
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item, encode_raw
from gristmill.lake.address import Place, attributes_asset, documents_asset, place
from gristmill.lake.asset_kinds import MODEL
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Shard, Upstream
from gristmill.lake.store.protocol import Store
from gristmill.recipes.code.digest import code_of
from gristmill.recipes.label import Score, Spans
from gristmill.recipes.tagger import Tagger
from gristmill.stages.models.ledger import read_folder
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
        models = dict.fromkeys(MODEL.at(model=name) for tagger in self.taggers for name in tagger.models)
        return (documents_asset(self.source, self.version), *models)

    @property
    def labels(self) -> Sequence[Score | Spans] | None:
        """The labels of its set, if it makes one alone; None: they are not declared."""
        [tagger] = self.taggers
        return tagger.labels

    def split_by_inputs(self) -> Iterator["TaggingStep"]:
        """The same work as steps of which each reads the same: one for the sets without models, and one for each other.

        So a model that is missing or made anew concerns its own sets alone.
        """
        plain = tuple(tagger for tagger in self.taggers if not tagger.models)
        if plain:
            yield replace(self, taggers=plain)
        yield from (replace(self, taggers=(tagger,)) for tagger in self.taggers if tagger.models)

    def code_version(self, asset: str) -> str:
        """See Step."""
        return self.taggers[self.makes.index(asset)].recipe.digest

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - all sets have the same
        """See Step."""
        return {"row_alignment": alignment_check_with_asset(documents_asset(self.source, self.version))}

    def plan(self, store: Store) -> "TaggingPlan":
        """See Step. A model that cannot be read fails its own set, when it is ground; the others are made."""
        ledger, shards = read_ledger(store, self.documents)
        targets: list[Target] = []
        models: dict[str, dict[str, str]] = {}
        for asset, tagger in zip(self.makes, self.taggers, strict=True):
            upstream = self._model_inputs(store, tagger)
            read = tuple(Input(each.asset, "model", each.fingerprint) for each in upstream or ())
            known = [(Input(self.documents.asset, shard.name, shard.content), *read) for shard in shards]
            wants = tuple(
                Want(shard.name, None if upstream is None else inputs)
                for shard, inputs in zip(shards, known, strict=True)
            )
            above = (ledger.upstream, *(upstream or ()))
            targets.append(Target(place(asset, self.snapshot), tagger.recipe, above, wants, code_of(tagger)))
            models[tagger.name] = dict(zip(tagger.models, (each.fingerprint for each in upstream or ()), strict=False))
        return TaggingPlan(self, tuple(targets), {shard.name: shard for shard in shards}, models)

    def _model_inputs(self, store: Store, tagger: Tagger) -> tuple[Upstream, ...] | None:
        """The models of a tagger as inputs; None if one of them cannot be read, which fails this set alone.

        Raises:
            DataError: a model cannot be read, and there is no other set to make.
        """
        try:
            ledgers = [read_folder(store, MODEL.at(model=name)) for name in tagger.models]
        except DataError:
            if len(self.taggers) == 1:
                raise
            return None
        return tuple(Upstream(ledger.asset, "", ledger.fingerprint) for ledger in ledgers)


@dataclass(frozen=True)
class TaggingPlan:
    """The attribute sets, and the documents that they are made from.

    Attributes:
        step: the step that was planned.
        targets: the partitions as they should be, one for each set.
        shards: the shards of the documents, by name.
        models: the fingerprint of each model, by tagger and by the model's name; empty for models that cannot be read.
    """

    step: TaggingStep
    targets: tuple[Target, ...]
    shards: Mapping[str, Shard]
    models: Mapping[str, Mapping[str, str]]

    def spec(self, token: str) -> TaggingSpec:
        """See StepPlan."""
        sets = [
            SetSpec(
                place=target.place,
                token=token,
                recipe=target.recipe.digest,
                tagger=tagger.name,
                code=target.code.digest,
                models=self.models[tagger.name],
            )
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
            Item(name, self.shards[name].length, encode_raw(TaggingItem(self.shards[name], tuple(taggers))))
            for name, taggers in sorted(missing.items())
        ]
