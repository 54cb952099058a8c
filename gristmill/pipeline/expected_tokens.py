"""How training would read a mix, from its token caches; before the first one, estimated from the bytes of documents."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gristmill.errors import DataError, RecipeError, known_names
from gristmill.lake.address import cache_index, ledger_folder, mix_index
from gristmill.lake.asset_kinds import TOKEN_CACHE, names_in_asset_address
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix
from gristmill.recipes.mixture.token_shares import BEFORE_PACKING, Reading
from gristmill.recipes.shelf import known_recipe
from gristmill.recipes.source import Source
from gristmill.stages.cache_index.index import cache_cuts, cache_reading, tokens_by_stream
from gristmill.stages.mixing.index import Closed, Index, compose_slice_index, finished_slice_heads, stream_of_index

BYTES_OF_A_TOKEN = 4
"""Bytes of a row of documents that count as a token, where no token cache has counted."""


class NoSlice(DataError):  # noqa: N818 - the tree reads as English
    """No slice of a mix is finished."""


@dataclass(frozen=True)
class Expected:
    """What one token cache lets a training read.

    Attributes:
        title: description of the place where the tokens were counted.
        index: the index as it would be closed now.
        held: reasons why the newest editions of streams are not in it.
        tokens: number of tokens of each stream.
        reading: reading of the streams in training.
        cuts: warnings of documents that are longer than a sequence.
    """

    title: str
    index: Index
    held: tuple[str, ...]
    tokens: dict[str, int]
    reading: Reading
    cuts: tuple[str, ...] = ()


def expected_tokens(store: Store, catalogue: Catalogue, mix: Mix, tokenizer: str | None = None) -> Iterator[Expected]:
    """What each token cache with slices lets a training read.

    Without such a cache, the documents of the mix are in place of one.

    Args:
        store: the lake.
        catalogue: the recipes.
        mix: the mix.
        tokenizer: only the token cache of this one.

    Returns:
        One expectation for each token cache that has slices.

    Raises:
        RecipeError: the mix has no token cache of the tokenizer, or a share is too small to appear in a block of
            sequences.
        NoSlice: no slice of the mix is finished.
        DataError: a document or row does not fit the length of a sequence.
    """
    names = sorted(
        {names_in_asset_address(asset)["tokenizer"] for asset in list_assets(store, TOKEN_CACHE, mix=mix.name)}
    )
    if tokenizer is not None:
        if tokenizer not in names:
            raise RecipeError(f"mix {mix.name!r} has no token cache of {tokenizer!r}; {known_names(tokenizer, names)}")
        names = [tokenizer]
    found = False
    for name in names:
        index, held = index_over_finished_slices(store, catalogue.sources, mix, cache_index(mix.name, name))
        if index.slices:
            found = True
            reading, cuts = cache_reading(store, mix, index), cache_cuts(store, mix, index)
            yield Expected(f"tokenizer {name}", index, held, tokens_by_stream(index), reading, cuts)
    if found:
        return
    index, held = index_over_finished_slices(store, catalogue.sources, mix, mix_index(mix.name))
    if not index.slices:
        raise NoSlice(f"mix {mix.name!r}: no slice of it is finished; make one first: `gristmill make {mix.name}`")
    estimated: dict[str, int] = {}
    for each in index.slices:
        estimated[each.stream] = estimated.get(each.stream, 0) + each.totals.get("length", 0) // BYTES_OF_A_TOKEN
    title = f"no token cache yet, estimated at {BYTES_OF_A_TOKEN} bytes a token"
    title += f", {BEFORE_PACKING}" if mix.packed_streams and mix.sequence_length else ""
    yield Expected(title, index, held, estimated, mix.reading(estimated))


def index_over_finished_slices(store: Store, sources: Mapping[str, Source], mix: Mix, asset: str) -> Closed:
    """An index over the slices that are finished in the lake.

    Args:
        store: the lake.
        sources: the recipes, by name.
        mix: the mix.
        asset: address of its index, or of that of a token cache.

    Raises:
        RecipeError: a stream names no source.
    """
    streams = {stream.key: stream_of_index(asset, stream.key) for stream in mix.streams}
    there = {
        key: [each.snapshot for each in list_ledgers(store, ledger_folder(of)) if each.asset == of]
        for key, of in streams.items()
    }
    by_stream = {stream.key: known_recipe("source", sources, stream.source, mix.name) for stream in mix.streams}
    slices = finished_slice_heads(store, asset, mix, there)
    return compose_slice_index(store, asset, slices, {key: [*heads] for key, heads in slices.items()}, by_stream)
