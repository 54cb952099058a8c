"""How often each stream of an export is read, so that an epoch has the mix's budget of tokens."""

from collections.abc import Sequence

from gristmill.errors import DataError, RecipeError
from gristmill.formats.energon.metadataset import repetitions
from gristmill.lake.address import cache_asset, export_index, place
from gristmill.lake.ledger.files import read_head
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix
from gristmill.stages.mixing.index import Slice


class TokensMissing(DataError):  # noqa: N818 - the tree reads as English
    """The token cache does not have a slice that an export needs the tokens of."""


def epoch_of(store: Store, mix: Mix, export: Export, slices: Sequence[Slice]) -> dict[str, float]:
    """The repetitions of each stream; empty if the recipe asks for no epoch.

    Streams without a slice are left out. So the others have their shares of the whole budget.

    Args:
        store: the lake.
        mix: the mix's recipe, which has the weights and the budget.
        export: the export's recipe, which names the tokenizer.
        slices: the slices of the export in the release.

    Raises:
        TokensMissing: the token cache does not have a slice yet.
        RecipeError: the mix has no budget, or a stream has no tokens.
    """
    if not export.tokenizer:
        return {}
    here = export_index(mix.name, export.name)
    if mix.token_budget is None:
        raise RecipeError(
            f"{here}: the export has tokenizer={export.tokenizer!r}, but the mix has no token_budget; give it one"
        )
    tokens: dict[str, int] = {}
    for each in slices:
        cached = place(cache_asset(mix.name, export.tokenizer, each.stream), each.snapshot)
        head = read_head(store, cached)
        if head is None:
            raise TokensMissing(
                f"{here}: its epoch needs the tokens of {cached.asset} ({each.snapshot}), which the lake does not have;"
                " make this token cache first"
            )
        tokens[each.stream] = tokens.get(each.stream, 0) + head.totals.get("train tokens", 0)
    weights = {stream: weight for stream, weight in mix.weights.items() if stream in tokens and weight > 0}
    return repetitions(weights, tokens, mix.token_budget) if weights else {}
