"""How training would read the streams of a mix, by what a preview keeps of them."""

from collections.abc import Mapping, Sequence

from gristmill.lake.address import cache_index
from gristmill.lake.asset_kinds import TOKEN_CACHE, names_in_asset_address
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.protocol import Store
from gristmill.previews.mix_preview import StreamPreview
from gristmill.recipes.mix import Mix
from gristmill.recipes.mixture.token_shares import BEFORE_PACKING, Reading, Sequences
from gristmill.stages.mixing.index import read_index, slices_as_inputs
from gristmill.stages.packing.sequences import planned_sequences


def expected_reading(store: Store, mix: Mix, previews: Sequence[StreamPreview]) -> tuple[str, Reading]:
    """How training would read the streams of a mix, by estimates of their tokens.

    If the mix declares the length of a sequence, the tokens fill sequences as those of a token cache with packing plans
    do. Without such a cache, all sequences are taken as full.

    Args:
        store: the lake.
        mix: the mix.
        previews: previews of its streams; others count as empty.

    Returns:
        What the numbers are estimated from, in words; and the reading.

    Raises:
        RecipeError: a stream's share is too small to appear in a block of sequences.
        DataError: a prebuilt row is too long.
    """
    tokens = {each.title.rpartition("/")[2]: _expected_train_tokens(mix, each) for each in previews}
    title = "estimated from this preview"
    if mix.validation_key:
        title += f" without the documents that are held out by {mix.validation_key.path}"
    elif mix.validation:
        title += f" without the share of {mix.validation:g} that is held out"
    if mix.sequence_length is None:
        return title, mix.reading(tokens)
    for name in sorted(
        {names_in_asset_address(asset)["tokenizer"] for asset in list_assets(store, TOKEN_CACHE, mix=mix.name)}
    ):
        sequences = _fill_sequences(store, mix, name, tokens)
        if sequences is not None:
            return f"{title}, sequences as full as in {cache_index(mix.name, name)}", mix.reading(tokens, sequences)
    return f"{title}, {BEFORE_PACKING}" if mix.packed_streams else title, mix.reading(tokens)


def _expected_train_tokens(mix: Mix, preview: StreamPreview) -> int:
    """The tokens of what is kept and not held out. By a key, that is counted: few keys may have most documents."""
    kept = preview.ratio.estimate_tokens(preview.tally.kept)
    if mix.validation_key:
        return kept - preview.ratio.estimate_tokens(preview.tally.held)
    return round(kept * (1 - mix.validation))


def _fill_sequences(store: Store, mix: Mix, tokenizer: str, tokens: Mapping[str, int]) -> dict[str, Sequences] | None:
    """The sequences of these tokens, filled as in a token cache; None if its plans do not tell how full they are."""
    index = read_index(store, cache_index(mix.name, tokenizer))
    planned = planned_sequences(store, mix, tokenizer, slices_as_inputs(index)) if index else None
    if index is None or planned is None:
        return None
    counted = dict.fromkeys(planned, 0)
    for each in index.slices:
        counted[each.stream] = counted.get(each.stream, 0) + each.totals.get("train tokens", 0)
    if any(kept and not counted.get(stream) for stream, kept in tokens.items()):
        return None
    counts = {
        stream: max(round(each.count * kept / (counted[stream] or 1)), min(kept, 1, each.count))
        for stream, each in planned.items()
        for kept in (tokens.get(stream, 0),)
    }
    # Tokens follow from the whole sequences, so that these are as full as in the cache: more would not fit.
    return {
        stream: Sequences(counts[stream], round(counts[stream] * each.tokens / (each.count or 1)))
        for stream, each in planned.items()
    }
