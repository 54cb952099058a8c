"""Makes what is missing in a lake, step by step, without an orchestrator: for the command line and for Python."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import uuid4

from gristmill.errors import DataError, RecipeError
from gristmill.execution.step import Step, make
from gristmill.execution.survey import survey
from gristmill.execution.work import Engine, Say
from gristmill.lake.address import documents_asset, ledger_folder, mix_index, tokenizer_asset
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.store.open import Lake
from gristmill.pipeline.steps import all_snapshots, cache_steps, has_vanished, mix_steps, source_steps
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.mixing.index import index_mix
from gristmill.stages.token_cache.index import index_cache, is_closed
from gristmill.stages.tokenization.files import read_tokenizer_ledger


@dataclass(frozen=True)
class Maker:
    """Makes what is missing. A finished partition is surveyed and left alone.

    Attributes:
        catalogue: the recipes.
        shelves: the packages that hold them.
        lake: where things are made.
        engine: where shards are ground.
        say: takes lines of progress.
    """

    catalogue: Catalogue
    shelves: tuple[str, ...]
    lake: Lake
    engine: Engine
    say: Say

    def named(self, name: str, snapshots: Sequence[str] = ()) -> Iterator[Ledger]:
        """What a name stands for: a source or a mix; `sources/NAME` or `mixes/NAME` where both have it.

        Raises:
            RecipeError: the name is on no shelf, or is both a source and a mix.
        """
        kind, slash, rest = name.rpartition("/")
        sources, mixes = self.catalogue.sources, self.catalogue.mixes
        if not slash and rest in sources and rest in mixes:
            raise RecipeError(f"{rest!r} is both a source and a mix: write sources/{rest} or mixes/{rest}")
        if kind in {"", "sources"} and rest in sources:
            return self.source(sources[rest], snapshots)
        if kind in {"", "mixes"} and rest in mixes:
            return self.mix(mixes[rest], snapshots)
        raise RecipeError(f"{name!r} is on no shelf; sources: {', '.join(sources)}; mixes: {', '.join(mixes)}")

    def source(self, source: Source, snapshots: Sequence[str] = ()) -> Iterator[Ledger]:
        """Snapshots of a source, from raw to the newest version with its attribute sets.

        Args:
            source: the recipe.
            snapshots: their keys; by default all that have raw data or were made once.

        Raises:
            GristmillError: a shard or a check failed; what was made before is kept.
        """
        store, options = self.lake.store(), self.lake.options
        for snapshot in snapshots or all_snapshots(self.lake, source):
            vanished = has_vanished(store, source, snapshot)
            for step in source_steps(self.catalogue, source, snapshot, self.shelves, options, vanished=vanished):
                yield from self._step(step)

    def mix(self, mix: Mix, snapshots: Sequence[str] = ()) -> Iterator[Ledger]:
        """Slices of a mix, their tokens by each tokenizer that is in the lake, and the indexes over all slices.

        Args:
            mix: the recipe.
            snapshots: their keys; by default all of which the documents are finished.

        Raises:
            DataError: no stream of the mix has finished documents of these snapshots.
            GristmillError: a shard or a check failed; what was made before is kept.
        """
        chosen = [(stream, key) for stream in mix.streams for key in self._finished(stream, snapshots)]
        if not chosen:
            raise DataError(f"mix {mix.name}: no finished documents to select from; make its sources first")
        tokenizers = self._tokenizers(mix)
        for stream, snapshot in chosen:
            for step in mix_steps(mix, stream.key, snapshot, self.shelves):
                yield from self._step(step)
            for step in cache_steps(tokenizers, mix, stream.key, snapshot, self.shelves):
                yield from self._step(step)
        self._close(mix, tokenizers)

    def _step(self, step: Step) -> Iterator[Ledger]:
        due = {found.asset: found for found in survey(step, self.lake.store()) if not found.finished}
        for found in due.values():
            self.say(f"{found.asset} ({found.snapshot}): {'; '.join(found.why)}")
        if due:
            made = make(step, self.lake, self.engine, uuid4().hex, self.say)
            yield from (ledger for asset, ledger in made.items() if asset in due)

    def _finished(self, stream: Stream, wanted: Sequence[str]) -> list[str]:
        ledgers = list_ledgers(self.lake.store(), ledger_folder(documents_asset(stream.source, stream.version)))
        return [each.snapshot for each in ledgers if not wanted or each.snapshot in wanted]

    def _tokenizers(self, mix: Mix) -> list[Tokenizer]:
        """Those of a mix that are in the lake: only a person makes one."""
        store = self.lake.store()
        found: list[Tokenizer] = []
        for tokenizer in self.catalogue.tokenizers_of(mix):
            if read_tokenizer_ledger(store, tokenizer.name) is not None:
                found.append(tokenizer)
            else:
                self.say(f"{tokenizer_asset(tokenizer.name)} is not in the lake, so no tokens: a person makes it")
        return found

    def _close(self, mix: Mix, tokenizers: Sequence[Tokenizer]) -> None:
        """Writes the indexes of the mix and of its token caches, unless they are up to date."""
        store = self.lake.store()
        sources = {stream.key: self.catalogue.sources[stream.source] for stream in mix.streams}
        known = {key: all_snapshots(self.lake, source) for key, source in sources.items()}
        if not is_closed(store, mix, tokenizers, sources, known):
            index_mix(store, mix, sources, known)
            for tokenizer in tokenizers:
                index_cache(store, mix, tokenizer, sources, known)
            self.say(f"{mix_index(mix.name)}: written, and those of its token caches")
