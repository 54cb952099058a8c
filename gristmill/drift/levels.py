"""Levels: the numbers of a snapshot that are compared with those of earlier ones. They come from its ledger alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field

SIZES = ("rows", "bytes", "tokens")
DROPPED = "rows dropped"
"""The share of rows that were dropped for any reason. Of one reason: with its name behind."""
REMOVED = "characters removed"
"""The share of characters that were removed from changed texts: with what changed them behind. Rows that were dropped
later count; those that the edits or the transform dropped themselves do not."""
DUPLICATES = "duplicates"
_BEFORE, _AFTER = ": characters before", ": characters after"

Quantiles = tuple[float, float, float]
QUANTILES = (0.05, 0.5, 0.95)
"""The quantiles of a label that are compared."""


@dataclass(frozen=True)
class Levels:
    """The numbers of a snapshot.

    Attributes:
        snapshot: its key.
        sizes: sizes of the snapshot by the names in SIZES.
        shares: share that was dropped, removed or marked, by name: a number from 0 to 1.
        quantiles: quantiles at 5%, 50% and 95% of each label, by its name.
    """

    snapshot: str
    sizes: Mapping[str, int]
    shares: Mapping[str, float]
    quantiles: Mapping[str, Quantiles] = field(default_factory=dict)


def snapshot_levels(
    snapshot: str,
    totals: Mapping[str, int],
    dropped: Mapping[str, int],
    quantiles: Mapping[str, Quantiles] | None = None,
    *,
    marked: bool = False,
) -> Levels:
    """The numbers of a snapshot, from the head of its ledger.

    Args:
        snapshot: its key.
        totals: the totals of the partition's head, by name.
        dropped: dropped rows by reason.
        quantiles: quantiles of its labels, by name.
        marked: whether its `duplicates` are documents, so that they are a share of its rows.

    >>> snapshot_levels("2024", {"rows": 6, "bytes": 90}, {"too-short": 3, "table": 1}).shares
    {'rows dropped': 0.4, 'rows dropped: too-short': 0.3, 'rows dropped: table': 0.1}
    """
    shares = {}
    rows, lost = totals.get("rows", 0), sum(dropped.values())
    if lost:
        shares[DROPPED] = lost / (rows + lost)
        shares |= {f"{DROPPED}: {reason}": number / (rows + lost) for reason, number in dropped.items()}
    for name, before in totals.items():
        who = name.removesuffix(_BEFORE)
        if who != name and before:
            shares[f"{REMOVED}: {who}"] = max(0.0, 1 - totals.get(who + _AFTER, 0) / before)
    if marked and rows:
        shares[DUPLICATES] = totals.get("duplicates", 0) / rows
    sizes = {name: totals[name] for name in SIZES if name in totals}
    return Levels(snapshot, sizes, shares, quantiles or {})
