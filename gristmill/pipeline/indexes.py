"""The indexes of a mix: which of them would be written again, and why; and writes those."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gristmill.lake.address import cache_index, mix_index
from gristmill.lake.asset_kinds import names_of
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.mixing.index import index_mix, why_mix_open
from gristmill.stages.token_cache.index import index_cache, why_cache_open


@dataclass(frozen=True)
class MixIndexes:
    """The index of a mix, and the indexes of its token caches.

    Attributes:
        mix: the mix's recipe.
        tokenizers: the tokenizers of its caches.
        sources: the source of each stream, by the stream's key.
        known: the snapshots of each stream's source, by the stream's key.
    """

    mix: Mix
    tokenizers: Sequence[Tokenizer]
    sources: Mapping[str, Source]
    known: Mapping[str, Sequence[str]]

    @property
    def addresses(self) -> list[str]:
        """The addresses of the indexes: that of the mix, then those of its token caches."""
        return [mix_index(self.mix.name), *(cache_index(self.mix.name, each.name) for each in self.tokenizers)]

    def why_open(self, store: Store, address: str) -> tuple[str, ...]:
        """Why an index would be written again; no reasons if the lake has it.

        Raises:
            DataError: a ledger is not valid.
        """
        tokenizer = self._tokenizer(address)
        if tokenizer is None:
            return why_mix_open(store, self.mix, self.sources, self.known)
        return why_cache_open(store, self.mix, tokenizer, self.sources, self.known)

    def close(self, store: Store) -> dict[str, tuple[str, ...]]:
        """Writes the indexes that the lake does not have.

        Returns:
            Why each of them was written, by its address.

        Raises:
            GristmillError: a ledger is not valid, or another run wrote an index meanwhile.
        """
        why = {address: reasons for address in self.addresses if (reasons := self.why_open(store, address))}
        for tokenizer in (self._tokenizer(address) for address in why):
            if tokenizer is None:
                index_mix(store, self.mix, self.sources, self.known)
            else:
                index_cache(store, self.mix, tokenizer, self.sources, self.known)
        return why

    def _tokenizer(self, address: str) -> Tokenizer | None:
        """The tokenizer of a cache's index; None for the index of the mix."""
        name = names_of(address).get("tokenizer")
        return next((tokenizer for tokenizer in self.tokenizers if tokenizer.name == name), None)
