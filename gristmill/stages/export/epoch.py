"""How often each stream of an export is read, so that an epoch has the mix's budget of tokens."""

from collections.abc import Sequence

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import cache_asset, export_index, place
from gristmill.lake.ledger.files import read_head
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export import Export
from gristmill.recipes.export_formats.formats import codec_of_format
from gristmill.recipes.mix import Mix
from gristmill.recipes.mixture.token_shares import Reading
from gristmill.stages.mixing.index import Slice


class TokensMissing(DataError):  # noqa: N818 - the tree reads as English
    """The token cache does not have a slice that an export needs the tokens of."""


def check_epoch(mix: Mix, export: Export) -> None:
    """Checks that the declarations of a mix and its export fit, whatever the tokens are.

    Args:
        mix: the mix's recipe.
        export: the export's recipe.

    Raises:
        RecipeError: the mix's shares are of tokens, and the export's format has no tokenizer; or it has one, and the
            mix has no budget.
    """
    here, tokenizer = export_index(mix.name, export.name), export.format.tokenizer
    if not tokenizer and mix.by_tokens and codec_of_format(export.format).weighted:
        raise RecipeError(
            f"{here}: the mix's proportions, temperature and repeats are shares of tokens, and the format of the"
            " export counts none; give it a tokenizer of the mix"
        )
    if tokenizer and mix.token_budget is None and not mix.by_tokens:
        raise RecipeError(
            f"{here}: the export has tokenizer={tokenizer!r}, but the mix has no token_budget; give it one"
        )


def energon_epoch_reading(store: Store, mix: Mix, export: Export, slices: Sequence[Slice]) -> Reading | None:
    """The reading of each stream in an epoch of Energon; None if the format asks for no epoch.

    Streams without a slice are left out. So the others have their shares of the whole budget.

    Args:
        store: the lake.
        mix: the mix's recipe, which has the weights and the budget.
        export: the export's recipe, which names the tokenizer.
        slices: the slices of the export in the release.

    Raises:
        TokensMissing: the token cache does not have a slice yet.
        RecipeError: the mix has no budget, a stream with a weight has no tokens, or the mix's shares are of tokens, and
            the export's format has no tokenizer.
        DataError: a stream has fewer tokens than the budget needs.
    """
    check_epoch(mix, export)
    tokenizer = export.format.tokenizer
    if not tokenizer:
        return None
    here = export_index(mix.name, export.name)
    tokens: dict[str, int] = {}
    for each in slices:
        cached = place(cache_asset(mix.name, tokenizer, each.stream), each.snapshot)
        head = read_head(store, cached)
        if head is None:
            raise TokensMissing(
                f"{here}: its epoch needs the tokens of {cached.asset} ({each.snapshot}), which the lake does not have;"
                " make this token cache first"
            )
        tokens[each.stream] = tokens.get(each.stream, 0) + head.totals.get("train tokens", 0)
    present = {each.stream for each in slices}
    empty = [name for name, weight in mix.weights.items() if name in present and weight > 0 and not tokens[name]]
    if empty:
        raise RecipeError(
            f"{here}: stream {empty[0]!r} has no tokens in {cache_asset(mix.name, tokenizer, empty[0])}, so no"
            f" number of repetitions gives its share; leave the stream out of mix {mix.name!r}, or let it keep some"
        )
    reading = mix.reading(tokens, in_blocks=False)
    if reading.shortage_sentences:
        raise DataError(f"{here}: the budget cannot be met: {'; '.join(reading.shortage_sentences)}")
    return reading
