"""The step of mixing: one snapshot of a stream, or of the next version of a source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gristmill.errors import DataError
from gristmill.execution.commit import Making
from gristmill.execution.plan import Known, Target, Want
from gristmill.execution.work import Item, raw
from gristmill.lake.address import Place, attributes_asset, blocklist_asset, documents_asset, mix_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe, Shard, Upstream
from gristmill.lake.rows.blocklist import Blocklist, read_blocklist
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix, selection_recipe
from gristmill.recipes.selection import Selection
from gristmill.recipes.source import Source
from gristmill.stages.mixing.blocklist_inputs import blocked_inputs, hashes_by_name
from gristmill.stages.mixing.grinder import Body, Spec


@dataclass
class MixingStep:
    """A selection applied to one snapshot of a dataset version.

    Attributes:
        source: the source.
        version: the version that is read.
        snapshot: the key.
        selection: which rows go on.
        asset: the address of what is made.
        recipe: what changes it.
        shelves: packages whose shelves hold the recipe.
    """

    source: str
    version: str
    snapshot: str
    selection: Selection
    asset: str
    recipe: Recipe
    shelves: tuple[str, ...]
    stage: str = "mixing"
    _bodies: dict[str, Body] = field(default_factory=dict)
    _blocklists: dict[str, Blocklist] = field(default_factory=dict)

    @property
    def _documents(self) -> Place:
        return place(documents_asset(self.source, self.version), self.snapshot)

    def _set(self, name: str) -> Place:
        return place(attributes_asset(self.source, self.version, name), self.snapshot)

    def targets(self, store: Store) -> list[Target]:
        """See Step.

        Raises:
            DataError: a set has not the shards, rows or ids of the documents.
        """
        ledger, shards = read_ledger(store, self._documents)
        upstream = [ledger.upstream]
        sets: dict[str, dict[str, Shard]] = {}
        self._bodies, self._blocklists = {}, {}
        for name in self.selection.sets:
            head, rows = read_ledger(store, self._set(name))
            sets[name] = {row.name: row for row in rows}
            upstream.append(head.upstream)
            _check_aligned(shards, sets[name], self._set(name))
        for name in self.selection.blocklists:
            self._blocklists[name] = read_blocklist(store, name)
            upstream.append(Upstream(blocklist_asset(name), "", ""))  # what of it stands in the shards, and no more
        blocked = hashes_by_name(self._blocklists.values())
        documents, assets = self._documents, {name: self._set(name).asset for name in sets}
        for shard in shards:
            inputs = [Input(documents.asset, shard.name, shard.content)]
            inputs += [Input(assets[n], shard.name, rows[shard.name].content) for n, rows in sets.items()]
            inputs += blocked_inputs(store, documents, shard, blocked)
            sha256 = {name: rows[shard.name].sha256 for name, rows in sets.items()}
            self._bodies[shard.name] = Body(shard, sha256, tuple(inputs))
        wants = tuple(Want(name, body.inputs) for name, body in self._bodies.items())
        return [Target(place(self.asset, self.snapshot), self.recipe, tuple(upstream), wants)]

    def spec(self, makings: Sequence[Making]) -> Spec:
        """See Step."""
        making = makings[0]
        return Spec(
            documents=self._documents,
            place=making.place,
            token=making.token,
            recipe=making.recipe,
            blocklists={name: b.digest for name, b in self._blocklists.items()},
        )

    def items(self, todo: Mapping[str, Sequence[Want]], known: Mapping[str, Known]) -> list[Item]:  # noqa: ARG002
        """See Step."""
        bodies = (self._bodies[want.name] for want in next(iter(todo.values())))
        return [Item(body.documents.name, body.documents.length, raw(body)) for body in bodies]


def _check_aligned(documents: Sequence[Shard], rows: Mapping[str, Shard], where: Place) -> None:
    """The ledgers' word that a set stands beside these documents; the bytes are compared while they are read."""
    for shard in documents:
        row = rows.get(shard.name)
        if row is None:
            raise DataError(f"{where.asset} ({where.snapshot}): no shard {shard.name}; materialize the set again")
        if (row.rows, row.ids) != (shard.rows, shard.ids):
            raise DataError(
                f"{where.asset} ({where.snapshot}): shard {shard.name} has {row.rows} rows of ids {row.ids[:8]}, its"
                f" documents {shard.rows} of ids {shard.ids[:8]}; materialize the set again"
            )


def revision_step(source: Source, version: str, snapshot: str, shelves: tuple[str, ...]) -> MixingStep:
    """The step that makes a version of a source from the one before."""
    number = source.versions.index(version)
    revision = source.revisions[number - 1]
    return MixingStep(
        source=source.name,
        version=source.versions[number - 1],
        snapshot=snapshot,
        selection=revision,
        asset=documents_asset(source.name, version),
        recipe=selection_recipe(f"{source.name}/{version}", revision, draft=source.draft),
        shelves=shelves,
    )


def stream_step(mix: Mix, stream: str, snapshot: str, shelves: tuple[str, ...]) -> MixingStep:
    """The step that makes one snapshot of a mix's stream."""
    chosen = mix.stream(stream)
    return MixingStep(
        source=chosen.source,
        version=chosen.version,
        snapshot=snapshot,
        selection=chosen,
        asset=mix_asset(mix.name, stream),
        recipe=selection_recipe(f"{mix.name}/{stream}", chosen, draft=mix.draft),
        shelves=shelves,
    )
