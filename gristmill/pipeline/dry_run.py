"""The dry run: what would be rebuilt and why, partition by partition, from the ledgers alone; it claims nothing."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.execution.step import Step
from gristmill.execution.survey import survey
from gristmill.lake.address import export_asset, mix_asset, place, tokenizer_asset
from gristmill.lake.ledger.files import changed_fields, read_head
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.steps import cache_steps, has_vanished, mix_steps, source_steps
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.tagging.step import TaggingStep
from gristmill.stages.tokenization.files import read_tokenizer
from gristmill.stages.tokenization.training import recipe_of

State = Literal["finished", "make", "follow", "wait", "refused", "wrong"]
"""What would become of a partition.

finished  its ledger says what it should
make      it would be made: shards to grind, shards to go, or a ledger to write
follow    what it reads would be made first; then it is looked at
wait      it or something that it reads is not there, and nothing would make it
refused   a declaration is wrong: its recipe changed under its name and is no draft, or names a list that is not there
wrong     what it would be made from is wrong
"""

_STUCK = frozenset({"wait", "refused", "wrong"})


class Prospect(msgspec.Struct, frozen=True):
    """What would become of one partition.

    Attributes:
        asset: the address.
        snapshot: the key; empty for a tokenizer.
        state: see State.
        kept: shards that would be kept.
        missing: shards that would be ground, as far as is known before what it reads is made.
        gone: shards that would go.
        why: reasons, for people.
    """

    asset: str
    snapshot: str
    state: State
    kept: int = 0
    missing: int = 0
    gone: int = 0
    why: tuple[str, ...] = ()


class Prospects:
    """Surveys steps, one after another: what an earlier step would make counts for the later ones.

    Args:
        store: the lake.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._states: dict[tuple[str, str], State] = {}

    def tokenizer(self, tokenizer: Tokenizer) -> Prospect:
        """What would become of a tokenizer. Only a person makes one."""
        return self._noted(_tokenizer(self._store, tokenizer))

    def step(self, step: Step) -> list[Prospect]:
        """What would become of the partitions of a step; the steps that make what it reads come before it."""
        return [self._noted(found) for found in self._survey(step)]

    def export(self, export: Export, mix: Mix, stream: str, snapshot: str) -> Prospect:
        """What would become of a slice of an export. No step makes it: its ledger is set against what it names."""
        here = place(export_asset(mix.name, export.name, stream), snapshot)
        documents = place(mix_asset(mix.name, stream), snapshot)
        due = self._state(documents.asset, snapshot) != "finished"
        head, above = read_head(self._store, here), read_head(self._store, documents)
        why = (f"after {documents.asset}",) if due else ()
        if head is None:
            why = (*why, "never made")
        elif above is None or above.upstream not in head.inputs:
            why = (*why, f"{documents.asset} changed")
        if not why and head is not None:
            return self._noted(Prospect(here.asset, snapshot, "finished", kept=head.totals.get("shards", 0)))
        try:
            export.check_format()
        except RecipeError as error:
            why = (*why, str(error))
        return self._noted(Prospect(here.asset, snapshot, "wait", why=why))

    def _noted(self, found: Prospect) -> Prospect:
        self._states[found.asset, found.snapshot] = found.state
        return found

    def _survey(self, step: Step) -> list[Prospect]:
        due, stuck = self._above(step)
        try:
            found = survey(step, self._store)
        except (DataError, RecipeError) as error:
            if stuck:
                return self._alike(step, "wait", tuple(f"for {each}" for each in stuck))
            if due:
                return self._alike(step, "follow", tuple(f"after {each}" for each in due))
            return self._alike(step, "refused" if isinstance(error, RecipeError) else "wrong", (str(error),))
        return [
            Prospect(
                each.asset,
                each.snapshot,
                "follow" if due else "finished" if each.finished else "make",
                each.kept,
                len(each.missing),
                len(each.gone),
                (*(f"after {asset}" for asset in due), *each.why),
            )
            for each in found
        ]

    def _alike(self, step: Step, state: State, why: tuple[str, ...]) -> list[Prospect]:
        return [Prospect(asset, step.snapshot, state, why=why) for asset in step.makes]

    def _above(self, step: Step) -> tuple[list[str], list[str]]:
        """What a step reads that would be made first; and what it reads that would not be made at all."""
        states = {asset: self._state(asset, step.snapshot) for asset in step.reads}
        due = [asset for asset, state in states.items() if state in {"make", "follow"}]
        return due, [asset for asset, state in states.items() if state in _STUCK]

    def _state(self, asset: str, snapshot: str) -> State:
        """Of a partition, or of a tokenizer, which has no snapshot."""
        return self._states.get((asset, snapshot)) or self._states.get((asset, ""), "finished")


def survey_steps(steps: Iterable[Step], store: Store) -> list[Prospect]:
    """What would become of the partitions of some steps, in an order that works."""
    prospects = Prospects(store)
    return [found for step in steps for found in prospects.step(step)]


@dataclass
class DryRun:
    """The survey of everything that a catalogue makes in a lake."""

    catalogue: Catalogue
    shelves: tuple[str, ...]
    lake: Lake

    def __post_init__(self) -> None:
        self._store = self.lake.store()
        self._prospects = Prospects(self._store)

    def tokenizers(self) -> Iterator[Prospect]:
        """The tokenizers. They come before the partitions that they tokenize."""
        for tokenizer in self.catalogue.tokenizers.values():
            yield self._prospects.tokenizer(tokenizer)

    def partitions(self, source: Source, snapshots: Sequence[str]) -> Iterator[Prospect]:
        """Everything that is made of a source, snapshot by snapshot, in an order that works; after tokenizers()."""
        for snapshot in snapshots:
            for step in self._steps(source, snapshot):
                yield from self._prospects.step(step)
            for mix, stream in self.catalogue.streams():
                if stream.source == source.name:
                    for export in self.catalogue.exports_of(mix):
                        yield self._prospects.export(export, mix, stream.key, snapshot)

    def _steps(self, source: Source, snapshot: str) -> Iterator[Step]:
        """A step for each attribute set: one that is refused says nothing of the others."""
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
        there = store.head(f"{asset}/ledger.json") is not None
        return Prospect(asset, "", "wrong" if there else "wait", why=(str(error),))
    recipe = recipe_of(tokenizer, tokenizer.training.snapshots if tokenizer.training else {})
    changed = [name for name in changed_fields(ledger.recipe, recipe) if name != "snapshots"]  # those, a run may choose
    if not changed:
        return Prospect(asset, "", "finished")
    why = f"the recipe changed: {', '.join(changed)}; " + ("train it by hand" if tokenizer.draft else "it is no draft")
    return Prospect(asset, "", "wait" if tokenizer.draft else "refused", why=(why,))
