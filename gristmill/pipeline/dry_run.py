"""The dry run: which partitions would be rebuilt, and why. It reads ledgers and listings, and claims nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.execution.step import Step
from gristmill.execution.survey import survey
from gristmill.lake.address import export_asset, mix_asset, place, raw_asset, tokenizer_asset
from gristmill.lake.asset_kinds import MIX, TOKEN_CACHE, names_of
from gristmill.lake.ledger.files import changed_fields, read_head
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.indexes import MixIndexes
from gristmill.pipeline.steps import all_snapshots, cache_steps, has_vanished, made_snapshots, mix_steps, source_steps
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.tagging.step import TaggingStep
from gristmill.stages.tokenization.files import read_tokenizer
from gristmill.stages.tokenization.training import recipe_of

State = Literal["finished", "make", "follow", "wait", "refused", "wrong"]
"""The state of a partition in a dry run.

finished  it is up to date
make      it would be made: shards must be ground or removed, or the ledger must be written
follow    something that it reads would be made first; only then is it known what must be done
wait      it, or something that it reads, is missing, and no step would make it
refused   a declaration is not valid: the recipe of what is no draft changed, or it names a missing blocklist
wrong     its ledger or an input is not valid or cannot be read; or raw data are in no snapshot
"""

_STUCK = frozenset({"wait", "refused", "wrong"})


class Prospect(msgspec.Struct, frozen=True):
    """The dry run's result for one partition, tokenizer or index, or for the raw data of a source if they are wrong.

    Attributes:
        asset: address of the asset.
        snapshot: key of the snapshot; empty for a tokenizer, for an index, and for all raw data of a source.
        state: see State.
        kept: number of shards that would be kept.
        missing: number of shards that would be ground. It is a lower bound while an input must be made first.
        again: number of shards whose raw data would be read again, and that are kept if it has not changed.
        gone: number of shards that would be removed.
        why: reasons, for people; empty if it is up to date.
    """

    asset: str
    snapshot: str
    state: State
    kept: int = 0
    missing: int = 0
    again: int = 0
    gone: int = 0
    why: tuple[str, ...] = ()


class Prospects:
    """Surveys steps, one after another. A later step takes into account what an earlier one would make.

    Args:
        store: the lake.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._states: dict[tuple[str, str], State] = {}

    def tokenizer(self, tokenizer: Tokenizer) -> Prospect:
        """The state of a tokenizer. Only a person makes one, so it is never `make`."""
        return self._noted(_tokenizer(self._store, tokenizer))

    def step(self, step: Step) -> list[Prospect]:
        """The state of each partition of a step. Steps that make its inputs must be surveyed before it."""
        return [self._noted(prospect) for prospect in self._survey(step)]

    def unlisted(self, source: Source, error: StoreError) -> Prospect:
        """The state of raw data that cannot be listed. No step makes them, so documents wait for them."""
        return self._noted(Prospect(raw_asset(source.name), "", "wrong", why=(str(error),)))

    def export(self, export: Export, mix: Mix, stream: str, snapshot: str) -> Prospect:
        """The state of one snapshot of an export. No step makes it: its ledger is compared with the documents."""
        partition = place(export_asset(mix.name, export.name, stream), snapshot)
        documents = place(mix_asset(mix.name, stream), snapshot)
        due = self._state(documents.asset, snapshot) != "finished"
        try:
            head, documents_head = read_head(self._store, partition), read_head(self._store, documents)
        except DataError as error:
            return self._noted(Prospect(partition.asset, snapshot, "wrong", why=(str(error),)))
        why = (f"after {documents.asset}",) if due else ()
        if head is None:
            why = (*why, "never made")
        elif documents_head is None or documents_head.upstream not in head.inputs:
            why = (*why, f"{documents.asset} changed")
        if not why and head is not None:
            return self._noted(Prospect(partition.asset, snapshot, "finished", kept=head.totals.get("shards", 0)))
        try:
            export.check_format()
        except RecipeError as error:
            why = (*why, str(error))
        return self._noted(Prospect(partition.asset, snapshot, "wait", why=why))

    def indexes(self, indexes: MixIndexes) -> Iterator[Prospect]:
        """The states of the indexes of a mix. Their slices must be surveyed before them."""
        slices = [(stream, key) for stream, keys in indexes.known.items() for key in keys]
        for address in indexes.addresses if slices else ():
            names = names_of(address)
            tokenizer = names.get("tokenizer")
            if tokenizer and self._state(tokenizer_asset(tokenizer), "") in _STUCK:
                yield Prospect(address, "", "wait", why=(f"for {tokenizer_asset(tokenizer)}",))
                continue
            kind = TOKEN_CACHE if tokenizer else MIX
            made_from = [(kind.at(**names, stream=stream), key) for stream, key in slices]
            due = [asset for asset, key in made_from if self._state(asset, key) in {"make", "follow"}]
            yield self._index(indexes, address, list(dict.fromkeys(due)))

    def _index(self, indexes: MixIndexes, address: str, due: Sequence[str]) -> Prospect:
        if due:
            return Prospect(address, "", "follow", why=tuple(f"after {asset}" for asset in due))
        try:
            why = indexes.why_open(self._store, address)
        except DataError as error:
            return Prospect(address, "", "wrong", why=(str(error),))
        return Prospect(address, "", "make" if why else "finished", why=why)

    def _noted(self, prospect: Prospect) -> Prospect:
        self._states[prospect.asset, prospect.snapshot] = prospect.state
        return prospect

    def _survey(self, step: Step) -> list[Prospect]:
        due, stuck = self._above(step)
        try:
            surveys = survey(step, self._store)
        except (DataError, RecipeError, StoreError) as error:
            if stuck:
                return self._alike(step, "wait", tuple(f"for {each}" for each in stuck))
            if due:
                return self._alike(step, "follow", tuple(f"after {each}" for each in due))
            return self._alike(step, "refused" if isinstance(error, RecipeError) else "wrong", (str(error),))
        return [
            Prospect(
                partition.asset,
                partition.snapshot,
                "wrong" if partition.torn else "follow" if due else "finished" if partition.finished else "make",
                kept=partition.kept,
                missing=len(partition.missing),
                again=len(partition.again),
                gone=len(partition.gone),
                why=(partition.torn,) if partition.torn else (*(f"after {asset}" for asset in due), *partition.why),
            )
            for partition in surveys
        ]

    def _alike(self, step: Step, state: State, why: tuple[str, ...]) -> list[Prospect]:
        return [Prospect(asset, step.snapshot, state, why=why) for asset in step.makes]

    def _above(self, step: Step) -> tuple[list[str], list[str]]:
        """The inputs of a step that would be made first, and those that no step would make."""
        states = {asset: self._state(asset, step.snapshot) for asset in step.reads}
        due = [asset for asset, state in states.items() if state in {"make", "follow"}]
        return due, [asset for asset, state in states.items() if state in _STUCK]

    def _state(self, asset: str, snapshot: str) -> State:
        """The state of a partition, or of a tokenizer, which has no snapshot."""
        return self._states.get((asset, snapshot)) or self._states.get((asset, ""), "finished")


def survey_steps(steps: Iterable[Step], store: Store) -> list[Prospect]:
    """The state of each partition of some steps. A step must come after those that make its inputs."""
    prospects = Prospects(store)
    return [prospect for step in steps for prospect in prospects.step(step)]


@dataclass
class DryRun:
    """The dry run of all recipes of a catalogue in a lake.

    Attributes:
        catalogue: the recipes.
        shelves: the packages that hold them.
        lake: the lake.
    """

    catalogue: Catalogue
    shelves: tuple[str, ...]
    lake: Lake

    def __post_init__(self) -> None:
        self._store = self.lake.store()
        self._prospects = Prospects(self._store)

    def everything(self) -> Iterator[Prospect]:
        """The state of each tokenizer, partition and index of the lake; inputs come before what is made from them."""
        yield from self.tokenizers()
        known: dict[str, list[str]] = {}
        for name, source in self.catalogue.sources.items():
            known[name], wrong = self.snapshots(source)
            yield from wrong
        for name, source in self.catalogue.sources.items():
            yield from self.partitions(source, known[name])
        for mix in self.catalogue.mixes.values():
            yield from self.indexes(mix, known)

    def tokenizers(self) -> Iterator[Prospect]:
        """The state of each tokenizer. Call it before partitions(): token caches depend on tokenizers."""
        for tokenizer in self.catalogue.tokenizers.values():
            yield self._prospects.tokenizer(tokenizer)

    def snapshots(self, source: Source) -> tuple[list[str], list[Prospect]]:
        """The keys of the snapshots of a source, and what is wrong with its raw data beside them.

        If the raw data cannot be listed, they are the snapshots that have a ledger. Call it before partitions().
        """
        asset, wrong = raw_asset(source.name), list[Prospect]()
        try:
            keys = all_snapshots(
                self.lake, source, lambda stray: wrong.append(Prospect(asset, "", "wrong", why=(str(stray),)))
            )
        except StoreError as error:
            return sorted(made_snapshots(self._store, source)), [self._prospects.unlisted(source, error)]
        return keys, wrong

    def partitions(self, source: Source, snapshots: Sequence[str]) -> Iterator[Prospect]:
        """The state of each partition that is made from a source; inputs come before what is made from them.

        Args:
            source: the recipe.
            snapshots: keys of the snapshots.
        """
        for snapshot in snapshots:
            for step in self._steps(source, snapshot):
                yield from self._prospects.step(step)
            for mix, stream in self.catalogue.streams():
                if stream.source == source.name:
                    for export in self.catalogue.exports_of(mix):
                        yield self._prospects.export(export, mix, stream.key, snapshot)

    def indexes(self, mix: Mix, known: Mapping[str, Sequence[str]]) -> Iterator[Prospect]:
        """The state of the index of a mix, and of those of its token caches. Call it after partitions() of its sources.

        Args:
            mix: the recipe.
            known: the keys of the snapshots of each source, by the source's name.
        """
        sources = {stream.key: self.catalogue.sources[stream.source] for stream in mix.streams}
        snapshots = {stream: known[source.name] for stream, source in sources.items()}
        tokenizers = self.catalogue.tokenizers_of(mix)
        yield from self._prospects.indexes(MixIndexes(mix, tokenizers, sources, snapshots))

    def _steps(self, source: Source, snapshot: str) -> Iterator[Step]:
        """The steps of a snapshot, with one step for each attribute set: one may be refused while others are not."""
        vanished = has_vanished(self._store, source, snapshot)
        options = self.lake.options
        for step in source_steps(self.catalogue, source, snapshot, self.shelves, options, vanished=vanished):
            if isinstance(step, TaggingStep):
                yield from (replace(step, taggers=(tagger,)) for tagger in step.taggers)
            else:
                yield step
        for mix, stream in self.catalogue.streams():
            if stream.source == source.name:
                yield from mix_steps(mix, stream.key, snapshot, self.shelves)
                yield from cache_steps(self.catalogue.tokenizers_of(mix), mix, stream.key, snapshot, self.shelves)


def _tokenizer(store: Store, tokenizer: Tokenizer) -> Prospect:
    asset = tokenizer_asset(tokenizer.name)
    try:
        ledger, _ = read_tokenizer(store, tokenizer.name)
    except DataError as error:
        exists = store.head(f"{asset}/ledger.json") is not None
        return Prospect(asset, "", "wrong" if exists else "wait", why=(str(error),))
    recipe = recipe_of(tokenizer, tokenizer.training.snapshots if tokenizer.training else {})
    # A run may choose the snapshots to train on, so they are no change.
    changed = [name for name in changed_fields(ledger.recipe, recipe) if name != "snapshots"]
    if not changed:
        return Prospect(asset, "", "finished")
    draft = ledger.recipe.draft and tokenizer.draft
    why = f"the recipe changed: {', '.join(changed)}; " + (
        "train it by hand" if draft else "it was not made by a draft"
    )
    return Prospect(asset, "", "wait" if draft else "refused", why=(why,))
