"""The step of tagging: all attribute sets asked for of one version's snapshot, over one read of the documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gristmill.execution.commit import Making
from gristmill.execution.plan import Known, Target, Want
from gristmill.execution.work import Item, raw
from gristmill.lake.address import Place, attributes_asset, documents_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.store.protocol import Store
from gristmill.recipes.tagger import Tagger
from gristmill.stages.tagging.grinder import Body, SetSpec, Spec


@dataclass
class TaggingStep:
    """Attribute sets of one snapshot of a dataset version."""

    source: str
    version: str
    snapshot: str
    taggers: tuple[Tagger, ...]
    shelves: tuple[str, ...]
    stage: str = "tagging"
    _documents: dict[str, Shard] = field(default_factory=dict)

    @property
    def _place(self) -> Place:
        return place(documents_asset(self.source, self.version), self.snapshot)

    def _asset(self, tagger: Tagger) -> str:
        return attributes_asset(self.source, self.version, tagger.name)

    def targets(self, store: Store) -> list[Target]:
        """See Step."""
        ledger, shards = read_ledger(store, self._place)
        self._documents = {shard.name: shard for shard in shards}
        above = self._place.asset
        wants = tuple(Want(s.name, (Input(above, s.name, s.content),)) for s in shards)
        return [Target(place(self._asset(t), self.snapshot), t.recipe, (ledger.upstream,), wants) for t in self.taggers]

    def spec(self, makings: Sequence[Making]) -> Spec:
        """See Step."""
        sets = [
            SetSpec(tagger.name, making.place, making.token, making.recipe.digest)
            for tagger, making in zip(self.taggers, makings, strict=True)
        ]
        return Spec(self._place, tuple(sets))

    def items(self, todo: Mapping[str, Sequence[Want]], known: Mapping[str, Known]) -> list[Item]:  # noqa: ARG002
        """See Step."""
        missing: dict[str, list[str]] = {}
        for tagger in self.taggers:
            for want in todo.get(self._asset(tagger), ()):
                missing.setdefault(want.name, []).append(tagger.name)
        return [
            Item(name, self._documents[name].length, raw(Body(self._documents[name], tuple(taggers))))
            for name, taggers in sorted(missing.items())
        ]
