"""Makes what is missing in a lake, step by step, without Dagster: for the command line and for Python programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from gristmill.errors import DataError, RecipeError
from gristmill.execution.step import Step, make
from gristmill.execution.survey import survey
from gristmill.execution.work import Engine, Say
from gristmill.lake.address import documents_asset, ledger_folder, tokenizer_asset
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.store.open import Lake
from gristmill.pipeline.indexes import MixIndexes
from gristmill.pipeline.steps import all_snapshots, cache_steps, check_there, has_vanished, mix_steps, source_steps
from gristmill.raw_data.snapshots import Stray
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.tokenization.files import read_tokenizer_ledger


@dataclass(frozen=True)
class Maker:
    """Makes the partitions that are missing or out of date. An up-to-date partition is only surveyed.

    Attributes:
        catalogue: the recipes.
        shelves: the packages that hold them.
        lake: the lake.
        engine: where shards are ground.
        say: takes lines of progress.
    """

    catalogue: Catalogue
    shelves: tuple[str, ...]
    lake: Lake
    engine: Engine
    say: Say

    def named(self, name: str, snapshots: Sequence[str] = ()) -> Iterator[Ledger]:
        """Makes a source or a mix, by its name.

        Args:
            name: of the source or mix; `sources/NAME` or `mixes/NAME` if both have this name.
            snapshots: keys; by default all that exist.

        Returns:
            The ledgers of the partitions that are made, while one iterates.

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
        """Makes snapshots of a source: its documents, in all versions, and their attribute sets.

        Args:
            source: the recipe.
            snapshots: keys; by default all that have raw data or a ledger.

        Yields:
            The ledger of each partition that was made.

        Raises:
            RecipeError: the source has no such snapshot.
            GristmillError: a shard or a check failed. Partitions that were made before it are kept.
        """
        store, options = self.lake.store(), self.lake.options
        there = all_snapshots(self.lake, source, self._tell)
        check_there(snapshots, {source.name: there})
        for snapshot in snapshots or there:
            vanished = has_vanished(store, source, snapshot)
            for step in source_steps(self.catalogue, source, snapshot, self.shelves, options, vanished=vanished):
                yield from self._step(step)

    def mix(self, mix: Mix, snapshots: Sequence[str] = ()) -> Iterator[Ledger]:
        """Makes snapshots of a mix: its documents, their tokens by each tokenizer in the lake, and the indexes.

        Args:
            mix: the recipe.
            snapshots: keys; by default all whose source documents are finished.

        Yields:
            The ledger of each partition that was made.

        Raises:
            RecipeError: no source of the mix has such a snapshot.
            DataError: no stream of the mix has finished documents of these snapshots.
            GristmillError: a shard or a check failed. Partitions that were made before it are kept.
        """
        known = self._known(mix)
        check_there(snapshots, {stream.source: known[stream.key] for stream in mix.streams})
        chosen = [(stream, key) for stream in mix.streams for key in self._finished(stream, snapshots)]
        if not chosen:
            raise DataError(f"mix {mix.name}: no finished documents to select from; make its sources first")
        tokenizers = self._tokenizers(mix)
        for stream, snapshot in chosen:
            for step in mix_steps(mix, stream.key, snapshot, self.shelves):
                yield from self._step(step)
            for step in cache_steps(tokenizers, mix, stream.key, snapshot, self.shelves):
                yield from self._step(step)
        self._close(mix, tokenizers, known)

    def _tell(self, stray: Stray) -> None:
        self.say(f"note: {stray}")

    def _known(self, mix: Mix) -> dict[str, list[str]]:
        """The snapshots of each stream's source, by the stream's key."""
        sources = {stream.source: self.catalogue.sources[stream.source] for stream in mix.streams}
        keys = {name: all_snapshots(self.lake, source, self._tell) for name, source in sources.items()}
        return {stream.key: keys[stream.source] for stream in mix.streams}

    def _step(self, step: Step) -> Iterator[Ledger]:
        due = {partition.asset: partition for partition in survey(step, self.lake.store()) if not partition.finished}
        for partition in due.values():
            self.say(f"{partition.asset} ({partition.snapshot}): {'; '.join(partition.why)}")
        if due:
            made = make(step, self.lake, self.engine, uuid4().hex, self.say)
            yield from (ledger for asset, ledger in made.items() if asset in due)

    def _finished(self, stream: Stream, snapshots: Sequence[str]) -> list[str]:
        ledgers = list_ledgers(self.lake.store(), ledger_folder(documents_asset(stream.source, stream.version)))
        return [ledger.snapshot for ledger in ledgers if not snapshots or ledger.snapshot in snapshots]

    def _tokenizers(self, mix: Mix) -> list[Tokenizer]:
        """The tokenizers of a mix that are in the lake. Only a person makes one, so the others are reported."""
        store = self.lake.store()
        in_lake: list[Tokenizer] = []
        for tokenizer in self.catalogue.tokenizers_of(mix):
            if read_tokenizer_ledger(store, tokenizer.name) is not None:
                in_lake.append(tokenizer)
            else:
                self.say(
                    f"{tokenizer_asset(tokenizer.name)} is not in the lake, so no tokens; make the tokenizer first"
                )
        return in_lake

    def _close(self, mix: Mix, tokenizers: Sequence[Tokenizer], known: Mapping[str, Sequence[str]]) -> None:
        """Writes the indexes of the mix and of its token caches, unless they are up to date."""
        sources = {stream.key: self.catalogue.sources[stream.source] for stream in mix.streams}
        for address, why in MixIndexes(mix, tokenizers, sources, known).close(self.lake.store()).items():
            self.say(f"{address}: written ({'; '.join(why)})")
