"""The prospects: which partitions would be made, and why. It reads ledgers and listings, and claims nothing."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import msgspec

from gristmill.errors import DataError, OtherMaking, RecipeError, StoreError
from gristmill.execution.step import Step
from gristmill.execution.survey import Survey, survey_step
from gristmill.lake.address import mix_asset, place, raw_asset, tokenizer_asset
from gristmill.lake.asset_kinds import MIX, kind_of, ledger_of_asset, names_in_asset_address
from gristmill.lake.ledger.files import read_head
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.indexes import MixIndexes
from gristmill.pipeline.models import inputs_of_folder, model_state
from gristmill.pipeline.tokenizers import TokenizerState, tokenizer_state
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.models.model import Model
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.dedupe.resolution import fingerprinted_snapshots, read_dedupe_order, unresolved_reasons
from gristmill.stages.fingerprints.order import check_order
from gristmill.stages.models.ledger import model_address
from gristmill.stages.tagging.step import TaggingStep
from gristmill.stages.tokenization.files import training_job

State = Literal["finished", "make", "note", "follow", "wait", "refused", "wrong"]
"""The state of a partition in a dry run.

finished  it is up to date
make      it would be made: shards must be ground or removed, or the ledger must be written
note      only its run's note would be written: the code changed, and its author says that the output is the same
follow    something that it reads would be made first; only then is it known what must be done
wait      it, or something that it reads, is missing, and no command can make it now: raw data or training data are
          missing, or only a person may decide it, such as the training of a tokenizer that no mix uses
refused   a declaration is not valid: the recipe of what is no draft changed, or it names a missing file or blocklist
wrong     its ledger or an input is not valid or cannot be read; or raw data are in no snapshot
"""

_DUE = frozenset({"make", "follow"})
_STUCK = frozenset({"wait", "refused", "wrong", "failed"})
"""`failed`: this process tried to make it, and could not."""


class Prospect(msgspec.Struct, frozen=True):
    """The dry run's result for one partition, tokenizer or index, or for the raw data of a source if they are wrong.

    Attributes:
        asset: address of the asset.
        snapshot: key of the snapshot; empty for a tokenizer, for an index, and for all raw data of a source.
        state: state of the partition.
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
        foreseen: reasons why assets cannot be made, by their addresses.
    """

    def __init__(self, store: Store, foreseen: Mapping[str, str] | None = None) -> None:
        self._store, self._foreseen = store, foreseen or {}
        self._states: dict[tuple[str, str], str] = {}
        self._refused: dict[tuple[str, str], str] = {}

    def note_made(self, asset: str, snapshot: str) -> None:
        """Notes that a partition was made since it was surveyed: what reads it follows no longer."""
        self._states[asset, snapshot] = "finished"

    def note_failed(self, asset: str, snapshot: str) -> None:
        """Notes that a partition could not be made: what reads it waits."""
        self._states[asset, snapshot] = "failed"

    def refuse(self, asset: str, snapshot: str, why: str) -> None:
        """Notes that a snapshot must not be made, whatever its step says.

        Args:
            asset: address of its asset.
            snapshot: its key.
            why: the reason and the mend, for people.
        """
        self._refused[asset, snapshot] = why

    def tokenizer(self, tokenizer: Tokenizer, *, needed: bool = True, named: bool = False) -> Prospect:
        """The state of a tokenizer. Steps that make its training data must be surveyed before it.

        Args:
            tokenizer: the recipe.
            needed: whether a token cache that is asked for needs it. One that is not needed waits for a person.
            named: whether a person asked for it by name. Only then is a draft whose recipe changed made again.
        """
        asset = tokenizer_asset(tokenizer.name)
        found: TokenizerState = tokenizer_state(self._store, tokenizer)
        training = tokenizer.training
        streams = training.snapshots.items() if training else ()
        data = [(mix_asset(training.mix if training else "", stream), key) for stream, keys in streams for key in keys]
        unused = f"no mix uses it; `gristmill make LAKE {asset}` makes it, or the job `{training_job(tokenizer.name)}`"
        return self._by_hand(asset, found, data, "" if needed or named else f"{unused} in Dagster", named=named)

    def folder(self, recipe: LabelledSet | Model, *, needed: bool = True, named: bool = False) -> Prospect:
        """The state of a labelled set or a model. What it is made of must be surveyed before it.

        Args:
            recipe: the recipe.
            needed: whether a tagger needs it. One that is not needed waits for a person.
            named: whether a person asked for it by name, as for tokenizer().
        """
        found = model_state(self._store, recipe)
        asset = model_address(recipe)
        unused = "" if needed or named else f"no tagger uses it; `gristmill make LAKE {asset}` makes it"
        return self._by_hand(asset, found, list(inputs_of_folder(recipe)), unused, named=named)

    def _by_hand(
        self, asset: str, found: TokenizerState, data: Sequence[tuple[str, str]], unused: str, *, named: bool
    ) -> Prospect:
        """The state of what is made by hand. `data`: what it is trained on; `unused`: why it waits for a person."""
        if found.state != "missing":
            state: State = "make" if found.state == "changed" and named else _SHOWN.get(found.state, "finished")
            same = found.state == "unsealed" or (found.state == "changed" and not named)
            self._states[asset, ""] = "finished" if same else state  # what is made from it stays
            return Prospect(asset, "", state, why=found.why)
        stuck, due = self._training_data(data)
        if stuck:
            why = (*found.why, *(f"for {each}, to train it on" for each in stuck))
            return self._noted(Prospect(asset, "", "wait", why=why))
        if unused:
            return self._noted(Prospect(asset, "", "wait", why=(*found.why, unused)))
        after = tuple(f"after {each}" for each in due)
        return self._noted(Prospect(asset, "", "follow" if due else "make", why=(*after, *found.why)))

    def _training_data(self, data: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
        """Of what something is trained on: what nothing can make, and what is made first."""
        stuck: list[str] = []
        due: list[str] = []
        for asset, key in data:
            state = self._states.get((asset, key))
            ledger = place(asset, key).ledger if key else ledger_of_asset(asset)
            if state in _DUE:
                due.append(f"{asset} ({key})" if key else asset)
            elif state in _STUCK or (state is None and self._store.head(ledger) is None):
                stuck.append(f"{asset} ({key})" if key else asset)
        return stuck, due

    def step(self, step: Step) -> list[Prospect]:
        """The state of each partition of a step. Steps that make its inputs must be surveyed before it."""
        return [self._noted(prospect) for prospect in self._survey(step)]

    def unlisted(self, source: Source, error: RecipeError | StoreError) -> Prospect:
        """The state of raw data that cannot be listed. No step makes them, so documents wait for them."""
        return self._noted(Prospect(raw_asset(source.name), "", "wrong", why=(str(error),)))

    def resolution(
        self,
        dedupe: Dedupe,
        editions: Collection[str],
        prints: Sequence[tuple[str, str]],
        scores: Sequence[tuple[str, str]] = (),
    ) -> Prospect:
        """The state of the resolution of a dedupe recipe. The partitions that it reads must be surveyed before it.

        Args:
            dedupe: the recipe.
            editions: names of its `replace` sources.
            prints: the partitions of fingerprints, as (asset, snapshot).
            scores: the partitions whose score chooses what a cluster keeps.
        """
        address = dedupe.asset
        due = list(dict.fromkeys(asset for asset, key in (*prints, *scores) if self._state(asset, key) in _DUE))
        try:
            check_order(
                read_dedupe_order(self._store, dedupe.name)[0], dedupe, editions
            )  # told before anything is made
            if due:
                return self._noted(Prospect(address, "", "follow", why=tuple(f"after {asset}" for asset in due)))
            if not fingerprinted_snapshots(self._store, dedupe):
                why = tuple(f"for {asset} ({key})" for asset, key in prints) or ("for documents of its sources",)
                return self._noted(Prospect(address, "", "wait", why=why))
            why = unresolved_reasons(self._store, dedupe, editions)
        except (DataError, RecipeError) as error:
            state: State = "refused" if isinstance(error, RecipeError) else "wrong"
            return self._noted(Prospect(address, "", state, why=(str(error),)))
        # what is left out now has a higher rank for ever, so the run says it
        left = [
            f"without {asset} ({key}): {self._said(asset, key)}" for asset, key in prints if self._lacks(asset, key)
        ]
        return self._noted(Prospect(address, "", "make" if why else "finished", why=(*why, *left) if why else ()))

    def _lacks(self, asset: str, snapshot: str) -> bool:
        """Whether a partition was never made, and is not made now."""
        return self._state(asset, snapshot) in _STUCK and read_head(self._store, place(asset, snapshot)) is None

    def index(self, indexes: MixIndexes, address: str) -> Prospect | None:
        """The state of an index of a mix, of a token cache or of an export. Its slices must be surveyed before it.

        Args:
            indexes: the indexes of the mix.
            address: address of the index.

        Returns:
            None if its sources have no snapshots, so that nothing can be in it.
        """
        names = names_in_asset_address(address)
        tokenizer = tokenizer_asset(names["tokenizer"]) if "tokenizer" in names else ""
        if tokenizer and self._state(tokenizer, "") in _STUCK:
            return self._noted(Prospect(address, "", "wait", why=(f"for {tokenizer}",)))
        found = kind_of(address)
        kind = (found.closes if found else None) or MIX
        slices = [(kind.at(**names, stream=stream), key) for stream, keys in indexes.known.items() for key in keys]
        due = list(dict.fromkeys(asset for asset, key in slices if self._state(asset, key) in _DUE))
        try:
            kept = self._kept(indexes, address)
            if kept is not None:
                return self._noted(kept)
            if due:
                return self._noted(Prospect(address, "", "follow", why=tuple(f"after {asset}" for asset in due)))
            stuck = self._unmade(slices)
            if stuck or not slices:
                return self._noted(Prospect(address, "", "wait", why=stuck)) if stuck else None
            why = indexes.why_open(self._store, address)
        except (DataError, RecipeError) as error:  # a share may be too small for the tokens that there are
            state: State = "refused" if isinstance(error, RecipeError) else "wrong"
            return self._noted(Prospect(address, "", state, why=(str(error),)))
        return self._noted(Prospect(address, "", "make" if why else "finished", why=why))

    def _kept(self, indexes: MixIndexes, address: str) -> Prospect | None:
        """The state of an index that would lose slices which cannot be made again now; None if it would lose none."""
        mixed = [(mix_asset(indexes.mix.name, stream), key) for stream, keys in indexes.known.items() for key in keys]
        stuck = {each for each in mixed if self._state(*each) in _STUCK}
        if not stuck:
            return None
        unfinished = indexes.unfinished_slices(self._store, address)
        lost = [each for each in mixed if each in stuck and each in unfinished]
        why = tuple(f"it keeps its slices while {asset} ({key}) is {self._said(asset, key)}" for asset, key in lost)
        refused = any(self._state(*each) == "refused" for each in lost)
        return Prospect(address, "", "refused" if refused else "wait", why=why) if lost else None

    def _unmade(self, slices: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Why an index has to wait: none of its slices was ever made, and nothing can make one. Else empty."""
        if any(self._state(asset, key) not in _STUCK for asset, key in slices):
            return ()
        if any(read_head(self._store, place(asset, key)) for asset, key in slices):
            return ()
        return tuple(dict.fromkeys(f"for {asset} ({key}), which is {self._said(asset, key)}" for asset, key in slices))

    def _said(self, asset: str, snapshot: str) -> str:
        state = self._state(asset, snapshot)
        return {"failed": "not made", "wait": "waiting"}.get(state, state)

    def _noted(self, prospect: Prospect) -> Prospect:
        if prospect.state in _DUE and prospect.asset in self._foreseen:
            why = self._foreseen[prospect.asset]
            prospect = Prospect(prospect.asset, prospect.snapshot, "refused", why=(why,))
        self._states[prospect.asset, prospect.snapshot] = prospect.state
        return prospect

    def _survey(self, step: Step) -> list[Prospect]:
        parts = list(step.split_by_inputs()) if isinstance(step, TaggingStep) else []
        if len(parts) > 1:
            return [prospect for part in parts for prospect in self._survey(part)]
        due, stuck = self._above(step)
        failed = [asset for asset in stuck if self._state(asset, step.snapshot) == "failed"]
        if failed:
            return self._alike(step, "wait", tuple(f"for {each}" for each in failed))
        try:
            for each in ((asset, step.snapshot) for asset in step.makes):
                if each in self._refused:
                    raise OtherMaking(self._refused[each])
            surveys = survey_step(step, self._store)
        except (DataError, RecipeError, StoreError) as error:
            refused = isinstance(error, RecipeError)  # whatever the inputs become
            if isinstance(step, TaggingStep) and len(step.taggers) > 1 and (refused or not (due or stuck)):
                return [each for tagger in step.taggers for each in self._survey(replace(step, taggers=(tagger,)))]
            if stuck:
                return self._alike(step, "wait", tuple(f"for {each}" for each in stuck))
            if due and not refused:
                return self._alike(step, "follow", tuple(f"after {each}" for each in due))
            state: State = "refused" if refused else "wrong"
            return [
                Prospect(asset, step.snapshot, state, why=(_without_address(str(error), asset, step.snapshot),))
                for asset in step.makes
            ]
        return [_prospect_of(partition, due) for partition in surveys]

    def _alike(self, step: Step, state: State, why: tuple[str, ...]) -> list[Prospect]:
        return [Prospect(asset, step.snapshot, state, why=why) for asset in step.makes]

    def _above(self, step: Step) -> tuple[list[str], list[str]]:
        """The inputs of a step that would be made first, and those that no step would make."""
        states = {asset: self._state(asset, step.snapshot) for asset in step.reads}
        due = [asset for asset, state in states.items() if state in _DUE]
        return due, [asset for asset, state in states.items() if state in _STUCK]

    def _state(self, asset: str, snapshot: str) -> str:
        """The state of a partition, or of a tokenizer, which has no snapshot."""
        return self._states.get((asset, snapshot)) or self._states.get((asset, ""), "finished")


def _without_address(words: str, asset: str, snapshot: str) -> str:
    """What an error says of a partition, for a line that begins with its address.

    >>> _without_address("a/b (2024) was made by another recipe", "a/b", "2024")
    'was made by another recipe'
    """
    return words.removeprefix(f"{asset} ({snapshot})").removeprefix(":").lstrip()


_SHOWN: dict[str, State] = {"changed": "wait", "unsealed": "make", "refused": "refused", "wrong": "wrong"}
"""The states of tokenizers that are in the lake, but not as their recipes say."""


def _prospect_of(partition: Survey, due: Sequence[str]) -> Prospect:
    """The prospect of a partition that was surveyed, if these inputs are made first."""
    state: State = "finished" if partition.finished else "note" if partition.noted else "make"
    return Prospect(
        partition.asset,
        partition.snapshot,
        "wrong" if partition.torn else "follow" if due else state,
        kept=partition.kept,
        missing=len(partition.missing),
        again=len(partition.again),
        gone=len(partition.gone),
        why=(partition.torn,) if partition.torn else (*(f"after {asset}" for asset in due), *partition.why),
    )


def survey_steps(steps: Iterable[Step], store: Store) -> list[Prospect]:
    """The state of each partition of some steps. A step must come after those that make its inputs."""
    prospects = Prospects(store)
    return [prospect for step in steps for prospect in prospects.step(step)]
