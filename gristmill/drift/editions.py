"""Editions: snapshots that replace each other. One that is far smaller than those before must not replace them."""

from collections.abc import Mapping
from statistics import median

from gristmill.drift.comparison import LEAST
from gristmill.drift.history import COMPARED, maker_of_head, nearest_before
from gristmill.drift.levels import SIZES
from gristmill.lake.ledger.model import Ledger
from gristmill.recipes.source import Source

HALF = 0.5


def why_too_small(stream: str, heads: Mapping[str, Ledger], edition: str, source: Source) -> str:
    """The reason why an edition must not replace those before it: it has less than half of what they had; empty if it
    may.

    Args:
        stream: key of the stream.
        heads: the heads of the finished slices of the stream, by snapshot.
        edition: the snapshot that would be in the index.
        source: the source of the stream.
    """
    chosen, maker = heads[edition], maker_of_head(heads[edition])
    before = [
        heads[key]
        for key in nearest_before(edition, heads, source.accept)
        if heads[key].totals.get("shards") and maker_of_head(heads[key]) == maker
    ][:COMPARED]
    if len(before) < LEAST:
        return ""
    for name in SIZES:
        level = median(head.totals.get(name, 0) for head in before)
        size = chosen.totals.get(name, 0)
        if size < HALF * level:
            keys = ", ".join(head.snapshot for head in reversed(before))
            return (
                f"stream {stream!r}: edition {edition} has {size:,} {name}, less than half of {level:,.10g}, the median"
                f" of {keys}; the index takes an older edition. Mend the raw data of {edition}; or, if it is right, say"
                f" accept={edition!r} in the recipe of source {source.name!r}, and make the index again"
            )
    return ""
