"""The planner: what must be made for some targets, in order. `plan` shows its tasks, and `make` does them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from gristmill.errors import RecipeError, StoreError
from gristmill.execution.step import Step
from gristmill.lake.address import documents_asset, place, raw_asset, tokenizer_asset
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.ledger.files import read_head
from gristmill.lake.store.open import Lake
from gristmill.pipeline.dry_run import Prospect, Prospects
from gristmill.pipeline.foreseen import foreseen_refusals, suggested_first_rules
from gristmill.pipeline.graph import RecipeGraph
from gristmill.pipeline.indexes import MixIndexes
from gristmill.pipeline.models import inputs_of_folder, model_recipes, model_state, needed_model_addresses
from gristmill.pipeline.steps import (
    cache_steps,
    check_snapshots_exist,
    export_steps,
    has_vanished,
    mix_steps,
    snapshots_with_ledger,
    source_steps,
)
from gristmill.pipeline.targets import Targets
from gristmill.pipeline.task_order import OrderedTask, TaskOrder
from gristmill.pipeline.tasks import FolderTask, IndexTask, ResolutionTask, Task, TokenizerTask
from gristmill.pipeline.tokenizers import tokenizer_state
from gristmill.pipeline.volume import Volume, source_of_address, volume_check_of_address
from gristmill.raw_data.endings import NOT_SELECTED
from gristmill.raw_data.moved import moved_snapshots
from gristmill.raw_data.snapshots import raw_snapshots
from gristmill.raw_data.unclaimed import UNREAD, remarks_beside_raw, remarks_on_unclaimed
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.mixture.held_out import remark_on_share
from gristmill.recipes.source import Source
from gristmill.stages.mixing.blocklist_matches import unmatched_entries
from gristmill.stages.models.ledger import model_address
from gristmill.stages.tagging.step import TaggingStep


class Planner:
    """Finds what must be made in a lake for some targets. Inputs come before what is made from them.

    Args:
        catalogue: the recipes.
        shelves: the packages that hold them.
        lake: the lake.
        targets: targets that were asked for; by default everything.
        vanished: snapshots, as `source/snapshot`, whose raw data people removed on purpose.

    Raises:
        RecipeError: a snapshot was asked for that no source of the targets has; or one that is said to have vanished
            was never made, or has raw data.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        shelves: tuple[str, ...],
        lake: Lake,
        targets: Targets | None = None,
        vanished: Sequence[str] = (),
    ) -> None:
        self.catalogue, self.shelves, self._lake = catalogue, shelves, lake
        self._targets = targets or Targets()
        self._store = lake.store()
        self._graph = RecipeGraph(catalogue, shelves)
        self._foreseen = foreseen_refusals(self._store, catalogue)
        self.states = Prospects(self._store, self._foreseen)
        self.strays: list[Prospect] = []
        """What is in the raw data of the sources, but in no snapshot."""
        self.remarks = [*suggested_first_rules(self._store, catalogue)]
        """What people should know of raw data, folders, dedupe recipes and mixes, though nothing is wrong with them."""
        self.unlisted: list[Prospect] = []
        """The raw data that cannot be listed."""
        self._known: dict[str, list[str]] = {}
        self._vanished, self._absent = set(vanished), list[str]()
        asked = self._graph.target_assets(self._targets)
        sources = self._graph.sources_of_assets(asked)
        for name in self._graph.sources_of_assets(self._graph.with_all_inputs(asked, self._store, self._targets)):
            self._known[name] = self._snapshots_of_source(catalogue.sources[name])
        if self._targets == Targets():
            self.remarks += remarks_on_unclaimed(self._store, catalogue)
        self.remarks += (
            each for name in self._known for each in remarks_beside_raw(self._store, catalogue.sources[name])
        )
        self.remarks += filter(None, (remark_on_share(name, mix.validation) for name, mix in catalogue.mixes.items()))
        check_snapshots_exist(self._targets.snapshots, {name: self._known[name] for name in sources})
        self._check_vanished()

    @cached_property
    def _wanted_snapshots(self) -> dict[str, set[str]] | None:
        """The snapshots of each asset that are asked for or needed for that; None: everything."""
        if self._targets == Targets():
            return None
        return self._graph.needed(self._targets, self._known, self._store)

    def _check_vanished(self) -> None:
        """Checks what people say to have vanished: it was made, has no raw data now, and the targets reach it.

        Raises:
            RecipeError: one is not so.
        """
        for name in sorted(self._vanished):
            source, _, snapshot = name.partition("/")
            if name not in self._absent:
                why = [f"; {reason}" for each in self.unlisted for reason in each.why]
                raise RecipeError(
                    f"--vanished {name}: no snapshot of this name was made and has no raw data now; these are:"
                    f" {', '.join(self._absent) or 'none'}{''.join(why)}"
                )
            if not self._is_wanted(documents_asset(source, self.catalogue.sources[source].versions[0]), snapshot):
                raise RecipeError(f"--vanished {name}: the targets do not reach this snapshot; leave them out")

    @property
    def notes(self) -> list[str]:
        """The notes for people on the recipes and the lake. They are no faults."""
        return [*self.catalogue.notes, *self.unmatched_entries(), *self.remarks]

    def unmatched_entries(self) -> list[str]:
        """The entries of blocklists that match no document now, if everything was asked for."""
        asked = self._targets.addresses is None
        return [str(each) for each in unmatched_entries(self._store, self.catalogue)] if asked else []

    def check_something(self) -> None:
        """Checks that the lake has raw data or ledgers of the targets: an empty plan may be that of another lake.

        Raises:
            RecipeError: it has neither; or `select` of the recipes leaves out every file.
        """
        if self._known and not any(self._known.values()) and not (self.strays or self.unlisted):
            unread = [remark for remark in self.remarks if NOT_SELECTED in remark or UNREAD in remark]
            if unread:
                raise RecipeError("\n".join(unread))
            raise RecipeError(
                f"{self._store.url}: neither raw data nor ledgers of {', '.join(self._known)}; put raw data under"
                " sources/<source>/raw/<snapshot>/, or check the lake and --shelves"
            )

    def foreseen_refusals(self) -> Iterator[Prospect]:
        """The prospects of new assets of which the recipes alone show that they are refused."""
        for asset, source in self.catalogue.partitioned_assets():
            new = (key for key in self._known.get(source, ()) if self._is_wanted(asset, key))
            if asset in self._foreseen and any(read_head(self._store, place(asset, key)) is None for key in new):
                yield Prospect(asset, "", "refused", why=(self._foreseen[asset],))
        for tokenizer in self.catalogue.tokenizers.values():
            asset = tokenizer_asset(tokenizer.name)
            found = tokenizer_state(self._store, tokenizer) if self._is_wanted(asset) else None
            if found and found.state == "refused":
                yield Prospect(asset, "", "refused", why=found.why)
        for recipe in model_recipes(self.catalogue):
            found = model_state(self._store, recipe) if self._is_wanted(model_address(recipe)) else None
            if found and found.state == "refused":
                yield Prospect(model_address(recipe), "", "refused", why=found.why)

    def survey_all(self) -> Iterator[Prospect]:
        """The prospects: faults of raw data, then the state of each target, and of each of their inputs that is due."""
        yield from (*self.strays, *self.unlisted)
        for task in self.tasks():
            yield from (each for each in self.survey_task(task) if self.was_asked_for(each) or each.state != "finished")

    def was_asked_for(self, prospect: Prospect) -> bool:
        """Whether a partition was asked for, and is not only needed for what was."""
        snapshot = prospect.snapshot
        return self._targets.asks_for(prospect.asset) and (not snapshot or self._targets.asks_for_snapshot(snapshot))

    def was_named(self, prospect: Prospect) -> bool:
        """Whether a partition was asked for by its name, or by the name of something that it belongs to."""
        return self._targets.addresses is not None and self.was_asked_for(prospect)

    def volume_check_of_asset(self, asset: str) -> Volume:
        """The check that compares a partition of an asset with those of earlier snapshots."""
        return volume_check_of_address(self.catalogue, asset, self._known[source_of_address(self.catalogue, asset)])

    def survey_task(self, task: Task) -> list[Prospect]:
        """The state of each partition of a task now. The tasks before it must be surveyed, and may be done."""
        match task:
            case TokenizerTask():
                return [self.states.tokenizer(task.tokenizer, needed=task.needed, named=task.named)]
            case FolderTask():
                return [self.states.folder(task.recipe, needed=task.needed, named=task.named)]
            case ResolutionTask():
                return [self.states.resolution(task.dedupe, task.editions, task.fingerprints, task.scores)]
            case IndexTask():
                found = self.states.index(task.indexes, task.address)
                return [found] if found else []
            case _:
                return self.states.step(task)

    def tasks(self) -> Iterator[Task]:
        """The tasks that make the targets and their inputs, in order: documents and sets, tokenizers, tokens, indexes.

        Labelled sets, models and resolutions come before the sets that need them.
        """
        order = TaskOrder(self._wanted_steps, self._graph.source_of_asset, self._wanted_other_tasks())
        for source in self.catalogue.sources.values():
            for snapshot in self._known.get(source.name, ()):
                yield from order.snapshot(source.name, snapshot)
        yield from order.remaining_tasks()
        yield from self._tokenizer_tasks()
        for source in self.catalogue.sources.values():
            for snapshot in self._known.get(source.name, ()):
                yield from self._token_and_export_steps(source, snapshot)
        for mix in self.catalogue.mixes.values():
            yield from self._index_tasks(mix)

    def _wanted_other_tasks(self) -> dict[str, OrderedTask]:
        """The resolutions, models and labelled sets that are wanted, by address, each with what it is made of."""
        found: dict[str, OrderedTask] = {}
        for dedupe in self.catalogue.dedupes.values():
            asset = dedupe.asset
            reads = [(above, key) for above in self._graph.inputs(asset) for key in self._snapshot_keys(above)]
            prints = tuple(node for node in reads if "dedupe" in names_in_asset_address(node[0]))
            scores = tuple(node for node in reads if node not in prints)
            resolution = ResolutionTask(dedupe, self.catalogue.edition_sources_of_dedupe(dedupe), prints, scores)
            found[asset] = OrderedTask(resolution, ((asset, ""),), tuple(reads))
        needed = needed_model_addresses(self.catalogue)
        for recipe in model_recipes(self.catalogue):
            asset, reads = model_address(recipe), [*inputs_of_folder(recipe)]
            named = self._targets.has_named(asset)
            found[asset] = OrderedTask(FolderTask(recipe, asset in needed, named), ((asset, ""),), tuple(reads))
            needed |= {above for above, key in reads if named and not key}
        return {asset: entry for asset, entry in found.items() if self._is_wanted(asset)}

    def _snapshot_keys(self, asset: str) -> Sequence[str]:
        return self._known.get(self._graph.source_of_asset(asset), ())

    def _snapshots_of_source(self, source: Source) -> list[str]:
        """The keys of the snapshots of a source. If its raw data cannot be listed: those that have a ledger."""
        asset = raw_asset(source.name)
        try:
            there = raw_snapshots(
                self._lake,
                source,
                lambda stray: self.strays.append(Prospect(asset, "", "wrong", why=(str(stray),))),
                lambda remark: self.remarks.append(str(remark)),
            )
            made = snapshots_with_ledger(self._store, source)
            self._absent += (f"{source.name}/{snapshot}" for snapshot in sorted(made - there))
            confirmed = {snapshot for snapshot in made if f"{source.name}/{snapshot}" in self._vanished}
            documents = documents_asset(source.name, source.versions[0])
            for snapshot, why in moved_snapshots(self._lake, source, made - confirmed, there).items():
                self.states.refuse(documents, snapshot, why)
            return sorted(made | there)
        except (RecipeError, StoreError) as error:
            self.unlisted.append(self.states.unlisted(source, error))
            return sorted(snapshots_with_ledger(self._store, source))

    def _is_wanted(self, asset: str, snapshot: str = "") -> bool:
        return self._wanted_snapshots is None or snapshot in self._wanted_snapshots.get(asset, ())

    def _only_wanted(self, steps: Iterable[Step]) -> Iterator[Step]:
        """The steps without the assets that nobody needs: of a tagging step, some sets may be left."""
        for step in steps:
            wanted = [self._is_wanted(asset, step.snapshot) for asset in step.makes]
            if all(wanted):
                yield step
            elif isinstance(step, TaggingStep) and any(wanted):
                taggers = tuple(tagger for tagger, want in zip(step.taggers, wanted, strict=True) if want)
                yield replace(step, taggers=taggers)

    def _wanted_steps(self, name: str, snapshot: str) -> Iterator[Step]:
        """The wanted steps that make the documents of a snapshot, their attribute sets, and the documents of mixes."""
        source, shelves, options = self.catalogue.sources[name], self.shelves, self._lake.options
        if self._wanted_snapshots is not None and not any(
            snapshot in self._wanted_snapshots.get(a, ()) for a in self._graph.assets_of_source(source)
        ):
            return
        vanished = f"{name}/{snapshot}" in self._vanished or has_vanished(self._store, source, snapshot)
        steps = source_steps(self.catalogue, source, snapshot, shelves, options, vanished=vanished)
        yield from self._only_wanted(steps)
        for mix, stream in self._streams_of_source(source):
            yield from self._only_wanted(mix_steps(mix, stream.key, snapshot, shelves))

    def _token_and_export_steps(self, source: Source, snapshot: str) -> Iterator[Step]:
        """The steps that make the token caches of a snapshot, and its exports."""
        for mix, stream in self._streams_of_source(source):
            tokenizers = self.catalogue.tokenizers_of_mix(mix)
            yield from self._only_wanted(cache_steps(tokenizers, mix, stream.key, snapshot, self.shelves))
            exports = self.catalogue.exports_of_mix(mix)
            yield from self._only_wanted(export_steps(exports, mix, stream.key, snapshot, self.shelves))

    def _streams_of_source(self, source: Source) -> list[tuple[Mix, Stream]]:
        return [(mix, stream) for mix, stream in self.catalogue.streams() if stream.source == source.name]

    def _tokenizer_tasks(self) -> Iterator[TokenizerTask]:
        used = {t.name for mix in self.catalogue.mixes.values() for t in self.catalogue.tokenizers_of_mix(mix)}
        for tokenizer in self.catalogue.tokenizers.values():
            asset = tokenizer_asset(tokenizer.name)
            if self._is_wanted(asset):
                named = self._targets.has_named(asset)
                yield TokenizerTask(tokenizer, tokenizer.name in used, named)

    def _index_tasks(self, mix: Mix) -> Iterator[IndexTask]:
        sources = {stream.key: self.catalogue.sources[stream.source] for stream in mix.streams}
        known = {stream: self._known.get(source.name, []) for stream, source in sources.items()}
        exports = self.catalogue.exports_of_mix(mix)
        indexes = MixIndexes(mix, self.catalogue.tokenizers_of_mix(mix), sources, known, exports)
        yield from (IndexTask(indexes, address) for address in indexes.addresses if self._is_wanted(address))
