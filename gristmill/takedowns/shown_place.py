"""Words for the places of a document in raw data and in token caches."""

from gristmill.errors import GristmillError
from gristmill.tracing.raw import Shelves, raw_place
from gristmill.tracing.rows import LocatedRow, Partition, row_of
from gristmill.tracing.tokens import token_place


def shown_raw(documents: Partition, shard: str, row: int, shelves: Shelves) -> str:
    """Where a document of v0 is in the raw data, in words.

    Args:
        documents: the partition of v0.
        shard: name of the shard.
        row: number of the row there.
        shelves: recipes, and the access to raw data outside of the lake.
    """
    try:
        found = raw_place(documents, row_of(documents, shard, row), shelves)
    except GristmillError as error:
        return f"not known: {error}"
    path = found.path or found.object or found.asset
    member = f", member {found.member}" if found.member else ""
    span = f": {found.counted_in} {found.range[0]}-{found.range[1]}" if found.range else ""
    return f"{path}{member}{span}" + (f" ({found.why})" if found.why else "")


def shown_tokens(cache: Partition, mix: Partition, document: LocatedRow) -> str:
    """Where the tokens of a document are in a cache, in words."""
    found = token_place(cache, mix, document)
    if not found.split:
        return f"{found.asset}: no tokens: {found.why}"
    tokens = f", tokens {found.tokens[0]}-{found.tokens[1]} of {found.split}" if found.tokens else f" ({found.why})"
    return f"{found.part}: row {found.row}{tokens}"
