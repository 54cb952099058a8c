"""The indexes of a mix and of what is made from it: which of them would be written again, and why; and writes those."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gristmill.lake.address import cache_index, export_index, mix_asset, mix_index
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.cache_index.index import cache_cuts, cache_reading, index_cache, why_cache_open
from gristmill.stages.export.index import index_export, why_export_open
from gristmill.stages.export.release import release_warnings
from gristmill.stages.mixing.index import finished_slice_heads, read_index, why_mix_open, write_mix_index


@dataclass(frozen=True)
class MixIndexes:
    """The index of a mix, and the indexes of its token caches and its exports.

    Attributes:
        mix: the mix's recipe.
        tokenizers: the tokenizers of its caches.
        sources: the source of each stream, by the stream's key.
        known: the snapshots of each stream's source, by the stream's key.
        exports: its exports.
    """

    mix: Mix
    tokenizers: Sequence[Tokenizer]
    sources: Mapping[str, Source]
    known: Mapping[str, Sequence[str]]
    exports: Sequence[Export] = ()

    @property
    def addresses(self) -> list[str]:
        """The addresses of the indexes: that of the mix, then those of its token caches and its exports."""
        name = self.mix.name
        caches = (cache_index(name, each.name) for each in self.tokenizers)
        return [mix_index(name), *caches, *(export_index(name, each.name) for each in self.exports)]

    def why_open(self, store: Store, address: str) -> tuple[str, ...]:
        """The reasons why an index would be written again; no reasons if the lake has it.

        Raises:
            DataError: a ledger is wrong.
        """
        tokenizer, export = self._tokenizer(address), self._export(address)
        if export is not None:
            return why_export_open(store, self.mix, export, self.sources, self.known)
        if tokenizer is None:
            return why_mix_open(store, self.mix, self.sources, self.known)
        return why_cache_open(store, self.mix, tokenizer, self.sources, self.known)

    def unfinished_slices(self, store: Store, address: str) -> set[tuple[str, str]]:
        """The slices of the lake's index that are not finished any more: without a ledger, or of other documents.

        Returns:
            The mix's stream, as its address, and the snapshot of each.

        Raises:
            DataError: a ledger is wrong.
        """
        before = read_index(store, address)
        finished = finished_slice_heads(store, address, self.mix, self.known)
        named = {(each.stream, each.snapshot) for each in before.slices} if before else set[tuple[str, str]]()
        return {(mix_asset(self.mix.name, stream), key) for stream, key in named if key not in finished.get(stream, ())}

    def close(self, store: Store) -> dict[str, tuple[str, ...]]:
        """Writes the indexes that the lake does not have.

        Returns:
            Why each of them was written, by its address.

        Raises:
            GristmillError: a ledger is not valid, or another run wrote an index meanwhile.
        """
        why = {address: reasons for address in self.addresses if (reasons := self.why_open(store, address))}
        for address in why:
            self.write(store, address)
        return why

    def write(self, store: Store, address: str) -> None:
        """Writes an index.

        Raises:
            GristmillError: a ledger is not valid, or another run wrote the index meanwhile.
        """
        tokenizer, export = self._tokenizer(address), self._export(address)
        if export is not None:
            index_export(store, self.mix, export, self.sources, self.known)
        elif tokenizer is None:
            write_mix_index(store, self.mix, self.sources, self.known)
        else:
            index_cache(store, self.mix, tokenizer, self.sources, self.known)

    def warnings(self, store: Store, address: str) -> tuple[str, ...]:
        """The warnings for people about an index that was written.

        Raises:
            DataError: the release of an export is wrong.
        """
        if self._export(address):
            return release_warnings(store, address)
        index = read_index(store, address)
        if index is None:
            return ()
        if self._tokenizer(address):
            reading = cache_reading(store, self.mix, index)
            return (*reading.shortage_sentences, *reading.warnings, *cache_cuts(store, self.mix, index))
        rows = dict.fromkeys((each.stream for each in index.slices), 0)
        for each in index.slices:
            rows[each.stream] += each.totals.get("rows", 0)
        return tuple(f"stream {stream!r} keeps no document" for stream, count in rows.items() if not count)

    def _tokenizer(self, address: str) -> Tokenizer | None:
        """The tokenizer of a cache's index; None for other indexes."""
        name = names_in_asset_address(address).get("tokenizer")
        return next((tokenizer for tokenizer in self.tokenizers if tokenizer.name == name), None)

    def _export(self, address: str) -> Export | None:
        """The export of an export's index; None for other indexes."""
        name = names_in_asset_address(address).get("export")
        return next((export for export in self.exports if export.name == name), None)
