"""The graph of the recipes: which asset is made from which, by their addresses.

It asks the lake for one thing only: whether a tokenizer, a model or a labelled set is there already.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from gristmill.execution.step import Step
from gristmill.lake.address import (
    cache_asset,
    cache_index,
    export_asset,
    export_index,
    mix_asset,
    mix_index,
    tokenizer_asset,
)
from gristmill.lake.asset_kinds import LABELS, MODEL, kind_of, ledger_of_asset, names_in_asset_address
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.models import folder_recipe_of_address, inputs_of_folder
from gristmill.pipeline.steps import cache_steps, export_steps, mix_steps, source_steps
from gristmill.pipeline.targets import Targets, addresses_of_assets
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.stages.dedupe.resolution import read_assets
from gristmill.stages.tagging.step import TaggingStep
from gristmill.stages.tokenization.files import ledger_path

Node = tuple[str, str]
"""An asset, and a snapshot; the snapshot of tokenizers, models, labelled sets and indexes is empty."""


class RecipeGraph:
    """The assets of a catalogue, and what each of them is made from.

    Args:
        catalogue: the recipes.
        shelves: the packages that hold them.
    """

    def __init__(self, catalogue: Catalogue, shelves: tuple[str, ...]) -> None:
        self._catalogue, self._shelves = catalogue, shelves
        self._source: Mapping[str, str] = dict(catalogue.partitioned_assets())  # source of each partitioned asset

    def assets_of_source(self, source: Source) -> Iterator[str]:
        """The assets whose partitions are the snapshots of a source."""
        return (asset for asset, name in self._source.items() if name == source.name)

    def source_of_asset(self, asset: str) -> str:
        """The name of the source whose snapshots are the partitions of an asset; empty if it has no partitions."""
        return self._source.get(asset, "")

    def inputs(self, asset: str) -> tuple[str, ...]:
        """The addresses of the assets from which an asset is made; none for tokenizers, models and labelled sets."""
        return self._inputs_by_asset.get(asset, ())

    def target_assets(self, targets: Targets) -> set[str]:
        """The addresses of all assets that the targets ask for."""
        return {asset for asset in addresses_of_assets(self._catalogue) if targets.asks_for(asset)}

    def sources_of_assets(self, assets: Iterable[str]) -> list[str]:
        """The names of the sources whose snapshots are the partitions of some assets, in the catalogue's order.

        An index has no partitions: the assets from which it is made count instead.
        """
        slices = {
            each for asset in assets for each in (asset, *(self._inputs_by_asset[asset] if _is_index(asset) else ()))
        }
        found = {self._source[each] for each in slices if each in self._source}
        return [name for name in self._catalogue.sources if name in found]

    def with_all_inputs(self, assets: Iterable[str], store: Store, targets: Targets) -> set[str]:
        """The addresses of some assets and all that they are made from, whatever the snapshot.

        Args:
            assets: addresses.
            store: the lake. If it has a tokenizer, model or labelled set, what that was made from is left out.
            targets: targets that were asked for. For an asset that they name, nothing is left out.
        """
        found: set[str] = set()
        todo = list(assets)
        while todo:
            asset = todo.pop()
            if asset not in found:
                found.add(asset)
                todo += self._inputs_by_asset.get(asset, ())
                todo += [address for address, _ in self._training_inputs(asset, store, targets)]
        return found

    def needed(self, targets: Targets, known: Mapping[str, Sequence[str]], store: Store) -> dict[str, set[str]]:
        """The snapshots that are asked for, and those that are needed to make them, by the address of the asset.

        Args:
            targets: targets that were asked for.
            known: the snapshots of each source, by its name.
            store: the lake, as in with_all_inputs().
        """
        todo = [node for asset in self.target_assets(targets) for node in self._target_nodes(asset, targets, known)]
        found: dict[str, set[str]] = {}
        while todo:
            asset, snapshot = todo.pop()
            if snapshot in found.setdefault(asset, set()):
                continue
            found[asset].add(snapshot)
            for above in self._inputs_by_asset.get(asset, ()):  # `above` is an input of the asset
                todo += (
                    self._target_nodes(above, targets, known)
                    if _is_index(asset)
                    else [self._asset_node(above, snapshot)]
                )
            training = self._training_inputs(asset, store, targets)
            # training may name a snapshot that the lake does not have: it is left out
            partitions = ((above, key, self._source.get(above)) for above, key in training)
            todo += [(above, key) for above, key, of in partitions if of is None or key in known.get(of, ())]
        return found

    def _asset_node(self, asset: str, snapshot: str) -> Node:
        """The asset with the snapshot, or with the empty one if it has no partitions."""
        return (asset, snapshot if asset in self._source else "")

    def _target_nodes(self, asset: str, targets: Targets, known: Mapping[str, Sequence[str]]) -> list[Node]:
        """An asset's partitions of the snapshots that are asked for."""
        if asset not in self._source:
            return [(asset, "")]
        return [(asset, key) for key in known.get(self._source[asset], ()) if targets.asks_for_snapshot(key)]

    def _training_inputs(self, asset: str, store: Store, targets: Targets) -> list[Node]:
        """What a tokenizer, model or labelled set is made from; nothing if the lake has it and no target names it."""
        kind = kind_of(asset)
        if kind in {LABELS, MODEL}:
            made = store.head(ledger_of_asset(asset)) is not None and not targets.has_named(asset)
            recipe = folder_recipe_of_address(self._catalogue, asset)
            return [] if recipe is None or made else list(inputs_of_folder(recipe))
        tokenizer = self._catalogue.tokenizers.get(names_in_asset_address(asset).get("tokenizer", ""))
        if tokenizer is None or asset != tokenizer_asset(tokenizer.name) or tokenizer.training is None:
            return []
        if not targets.has_named(asset) and store.head(ledger_path(tokenizer.name)) is not None:
            return []
        training = tokenizer.training
        return [(mix_asset(training.mix, stream), key) for stream, keys in training.snapshots.items() for key in keys]

    @cached_property
    def _inputs_by_asset(self) -> dict[str, tuple[str, ...]]:
        """What each asset is made from. The steps get an empty snapshot: their inputs are the same for each."""
        found: dict[str, tuple[str, ...]] = {}
        for source in self._catalogue.sources.values():
            for step in source_steps(self._catalogue, source, "", self._shelves):
                for each in step.split_by_inputs() if isinstance(step, TaggingStep) else (step,):
                    found |= dict.fromkeys(each.makes, each.reads)
        for dedupe in self._catalogue.dedupes.values():
            found[dedupe.asset] = read_assets(dedupe)
        for mix in self._catalogue.mixes.values():
            for step in self._steps_of_mix(mix):
                found |= dict.fromkeys(step.makes, step.reads)
            streams = [stream.key for stream in mix.streams]
            found[mix_index(mix.name)] = tuple(mix_asset(mix.name, stream) for stream in streams)
            for name in (tokenizer.name for tokenizer in self._catalogue.tokenizers_of_mix(mix)):
                caches = (cache_asset(mix.name, name, stream) for stream in streams)
                found[cache_index(mix.name, name)] = (tokenizer_asset(name), *caches)
            for name in (export.name for export in self._catalogue.exports_of_mix(mix)):
                found[export_index(mix.name, name)] = tuple(export_asset(mix.name, name, each) for each in streams)
        return found

    def _steps_of_mix(self, mix: Mix) -> Iterator[Step]:
        for stream in mix.streams:
            yield from mix_steps(mix, stream.key, "", self._shelves)
            yield from cache_steps(self._catalogue.tokenizers_of_mix(mix), mix, stream.key, "", self._shelves)
            yield from export_steps(self._catalogue.exports_of_mix(mix), mix, stream.key, "", self._shelves)


def _is_index(asset: str) -> bool:
    """Whether an asset is an index: it closes the partitions of another kind, and is made from all of them at once."""
    kind = kind_of(asset)
    return kind is not None and kind.closes is not None
