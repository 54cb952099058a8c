"""The dry run: what would be rebuilt and why, partition by partition, from the ledgers alone; it claims nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.execution.step import Step, survey
from gristmill.execution.work import Lake
from gristmill.lake.address import (
    attributes_asset,
    documents_asset,
    export_asset,
    ledger_folder,
    mix_asset,
    place,
    tokenizer_asset,
)
from gristmill.lake.ledger.files import changed_fields, list_ledgers, read_head
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.steps import cache_steps, mix_steps, source_steps
from gristmill.raw_data.scan import pass_over, present
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.mixing.step import MixingStep
from gristmill.stages.tagging.step import TaggingStep
from gristmill.stages.token_cache.step import TokenCacheStep
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


@dataclass
class DryRun:
    """A look at a lake with some recipes."""

    catalogue: Catalogue
    shelves: tuple[str, ...]
    lake: Lake
    _states: dict[tuple[str, str], State] = field(default_factory=dict)

    def snapshots(self, source: Source) -> list[str]:
        """Those that have raw data, and those that were made once."""
        store = self.lake.store()
        held = open_store(source.raw, self.lake.options) if source.raw else store
        made = {each.snapshot for each in list_ledgers(store, ledger_folder(documents_asset(source.name, "v0")))}
        return sorted(made | set(present(source, pass_over(source, held))))

    def tokenizers(self) -> Iterator[Prospect]:
        """The tokenizers. They come before the partitions that they spell; nothing but a hand makes one."""
        store = self.lake.store()
        for tokenizer in self.catalogue.tokenizers.values():
            yield self._noted(_tokenizer(store, tokenizer))

    def partitions(self, source: Source, snapshots: Sequence[str]) -> Iterator[Prospect]:
        """Everything that is made of a source, snapshot by snapshot, in an order that works; after tokenizers()."""
        store = self.lake.store()
        for snapshot in snapshots:
            for step in self._steps(source, snapshot, store):
                for found in self._look(step, store):
                    yield self._noted(found)
            for mix, stream in self.catalogue.streams():
                if stream.source == source.name:
                    for export in self.catalogue.exports_of(mix):
                        yield self._noted(self._unmade(export, mix, stream.key, snapshot))

    def _steps(self, source: Source, snapshot: str, store: Store) -> Iterator[Step]:
        """An attribute set a step: one that is refused says nothing of the others."""
        for step in source_steps(self.catalogue, source, snapshot, self.shelves, self.lake.options):
            if isinstance(step, TaggingStep):
                yield from (replace(step, taggers=(tagger,)) for tagger in step.taggers)
                continue
            if isinstance(step, ConversionStep):
                head = read_head(store, place(documents_asset(source.name, "v0"), snapshot))
                step.empty_ok = head is not None and not head.totals.get("shards")  # it has vanished, as was noticed
            yield step
        for mix, stream in self.catalogue.streams():
            if stream.source == source.name:
                yield from mix_steps(mix, stream.key, snapshot, self.shelves)
                yield from cache_steps(self.catalogue, mix, stream.key, snapshot, self.shelves)

    def _noted(self, found: Prospect) -> Prospect:
        self._states[found.asset, found.snapshot] = found.state
        return found

    def _look(self, step: Step, store: Store) -> list[Prospect]:
        due, stuck = self._above(step)
        try:
            found = survey(step, store)
        except (DataError, RecipeError) as error:
            asset, snapshot = _made(step)
            if stuck:
                return [Prospect(asset, snapshot, "wait", why=tuple(f"for {each}" for each in stuck))]
            if due:
                return [Prospect(asset, snapshot, "follow", why=tuple(f"after {each}" for each in due))]
            state: State = "refused" if isinstance(error, RecipeError) else "wrong"
            return [Prospect(asset, snapshot, state, why=(str(error),))]
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

    def _unmade(self, export: Export, mix: Mix, stream: str, snapshot: str) -> Prospect:
        """A slice of an export, which no step makes: what its ledger says, set against what it was made from."""
        store, here = self.lake.store(), place(export_asset(mix.name, export.name, stream), snapshot)
        documents = place(mix_asset(mix.name, stream), snapshot)
        due = self._states.get((documents.asset, snapshot), "finished") != "finished"
        head, above = read_head(store, here), read_head(store, documents)
        why = (f"after {documents.asset}",) if due else ()
        if head is None:
            why = (*why, "never made")
        elif above is None or above.upstream not in head.inputs:
            why = (*why, f"{documents.asset} changed")
        if not why and head is not None:
            return Prospect(here.asset, snapshot, "finished", kept=head.totals.get("shards", 0))
        try:
            export.check_format()
        except RecipeError as error:
            why = (*why, str(error))
        return Prospect(here.asset, snapshot, "wait", why=why)

    def _above(self, step: Step) -> tuple[list[str], list[str]]:
        """What a step reads that would be made first; and what it reads that would not be made at all."""
        states = {asset: self._states.get((asset, key), "finished") for asset, key in _reads(step)}
        due = [asset for asset, state in states.items() if state in {"make", "follow"}]
        return due, [asset for asset, state in states.items() if state in _STUCK]


def _made(step: Step) -> tuple[str, str]:
    """The first partition that a step makes."""
    match step:
        case ConversionStep():
            return documents_asset(step.source.name, "v0"), step.snapshot
        case TaggingStep():
            return attributes_asset(step.source, step.version, step.taggers[0].name), step.snapshot
        case MixingStep() | TokenCacheStep():
            return step.asset, step.snapshot
        case _:
            raise RecipeError(f"{step.stage}: a stage that the dry run does not know")


def _reads(step: Step) -> list[tuple[str, str]]:
    """The partitions that a step reads; a tokenizer has no snapshot."""
    match step:
        case TaggingStep():
            return [(documents_asset(step.source, step.version), step.snapshot)]
        case MixingStep():
            sets = [attributes_asset(step.source, step.version, name) for name in step.selection.sets]
            return [(asset, step.snapshot) for asset in (documents_asset(step.source, step.version), *sets)]
        case TokenCacheStep():
            return [(mix_asset(step.mix.name, step.stream), step.snapshot), (tokenizer_asset(step.tokenizer.name), "")]
        case _:
            return []


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
