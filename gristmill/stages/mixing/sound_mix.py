"""Checks of a mix as a whole. What is made from a mix that fails one is not closed either: nobody trains on it."""

from collections.abc import Sequence

from gristmill.errors import DataError, NewerSchema
from gristmill.lake.address import mix_asset, mix_index, place
from gristmill.lake.asset_kinds import ledger_of_asset
from gristmill.lake.ledger.counts import sum_counts
from gristmill.lake.ledger.files import read_head
from gristmill.lake.ledger.index_ledger import IndexLedger, read_index_ledger
from gristmill.lake.ledger.model import Ledger as Head
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix
from gristmill.stages.mixing.held_out import check_divided
from gristmill.stages.mixing.kept_rows import check_keeps_rows
from gristmill.stages.mixing.shared_documents import check_disjoint


def check_mix(store: Store, mix: Mix, slices: Sequence[tuple[str, str]]) -> None:
    """Checks the slices of a mix together.

    Args:
        store: the lake.
        mix: the mix's recipe.
        slices: (stream, snapshot) of each finished slice.

    Raises:
        DataError: two streams share documents, a stream keeps no row, or a key holds out nothing or nearly everything.
        StoreError: a slice is being rebuilt.
    """
    _check(store, mix, slices, _heads(store, mix, slices))


def check_closed_mix(store: Store, mix: Mix, slices: Sequence[tuple[str, str]]) -> None:
    """The same for what is made from the slices. If the mix has an index that closes them, they were checked already.

    Args: and what it raises: as check_mix().
    """
    heads = _heads(store, mix, slices)
    index = _index_of(store, mix)
    made_from = {head.upstream for of_stream in heads.values() for head in of_stream}
    if index is None or not made_from <= set(index.inputs):
        _check(store, mix, slices, heads)


def _check(store: Store, mix: Mix, slices: Sequence[tuple[str, str]], heads: dict[str, list[Head]]) -> None:
    check_disjoint(store, mix, slices)
    check_keeps_rows(mix.name, heads)
    check_divided(mix.name, mix.validation, sum_counts(head.totals for each in heads.values() for head in each))


def _heads(store: Store, mix: Mix, slices: Sequence[tuple[str, str]]) -> dict[str, list[Head]]:
    """The heads of the slices of the mix, by stream; without those that the lake does not have."""
    heads: dict[str, list[Head]] = {stream.key: [] for stream in mix.streams}
    for stream, snapshot in slices:
        head = read_head(store, place(mix_asset(mix.name, stream), snapshot))
        if head is not None:
            heads[stream].append(head)
    return heads


def _index_of(store: Store, mix: Mix) -> IndexLedger | None:
    """The ledger of the mix's index; None if it is missing or damaged."""
    try:
        return read_index_ledger(store, ledger_of_asset(mix_index(mix.name)))
    except NewerSchema:
        raise
    except DataError:
        return None
