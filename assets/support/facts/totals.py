"""The totals of a ledger or an index as metadata in words."""

from collections.abc import Mapping
from typing import Any

from gristmill.recipes.duplicates.dedupe import NUMBERED_AGAIN
from gristmill.recipes.selection import CHANGED
from gristmill.reports.sizes import percentage, size_in_words
from gristmill.stages.mixing.row_filter import ABSENT, NULL

_ELSEWHERE = frozenset({"rows", "bytes", "shards", "length"})
"""Totals that have metadata of their own, or that nobody asks for."""


_NAMES = {"quarantined": "rows quarantined", CHANGED: "kept rows changed"}
"""Totals whose names do not say what they count."""
_ENDS = {
    f": {CHANGED}": ": texts changed, also of rows dropped later",
    ": characters before": ": characters before, of the texts changed",
    ": characters after": ": characters after, of the texts changed",
}
"""The same of totals whose names begin with what changed rows: the edits, or a transform."""
_PREFIXES = {ABSENT: "rows that lack ", NULL: "other rows without a value of "}
"""The same of totals whose names end in that of a column."""


_DUPLICATES = {
    "key": {"duplicates": NUMBERED_AGAIN, "duplicate characters": f"characters of {NUMBERED_AGAIN}"},
    "document": {"duplicates": "duplicate documents"},
    "minhash": {"duplicates": "duplicate documents"},
}
"""The same of the set of a dedupe recipe, by its unit."""
_DUPLICATE_SPANS = {"duplicates": "duplicate spans"}
"""The same of units that are parts of a text."""


def totals_facts(totals: Mapping[str, int], unit: str = "") -> dict[str, Any]:
    """The metadata on rows, size and further counters, by words.

    Args:
        totals: totals of a ledger or an index.
        unit: name of the unit of the dedupe recipe that made it, by the name in its parameters.

    >>> totals_facts({"rows": 3, "bytes": 1500, "length": 9000, "tokens": 12, "absent: english": 1})
    {'dagster/row_count': 3, 'size': '1.5 kB', 'bytes': 1500, 'tokens': 12, 'rows that lack english': 1}
    """
    size = totals.get("bytes", 0)
    names = _NAMES | _DUPLICATES.get(unit, _DUPLICATE_SPANS)
    return {
        "dagster/row_count": totals.get("rows", 0),
        "size": size_in_words(size),
        "bytes": size,
        **{_words(name, names): number for name, number in totals.items() if name not in _ELSEWHERE},
    }


def dropped_facts(rows: int, dropped: Mapping[str, int]) -> dict[str, Any]:
    """The metadata on how many rows were read, and how many of them were dropped.

    Args:
        rows: number of rows that were kept.
        dropped: number of rows that were not, by reason.

    >>> dropped_facts(3, {"too-short": 1})
    {'rows read': 4, 'rows dropped': 1, 'rows dropped (%)': 25.0}
    """
    left_out = sum(dropped.values())
    read = rows + left_out
    return {"rows read": read, "rows dropped": left_out, "rows dropped (%)": percentage(left_out, read)}


def _words(total: str, names: Mapping[str, str]) -> str:
    """The metadata key of a total: `absent: english` and `null: english` count rows by a column that a rule reads."""
    for prefix, words in _PREFIXES.items():
        if total.startswith(prefix):
            return words + total.removeprefix(prefix)
    for end, words in _ENDS.items():
        if total.endswith(end):
            return total.removesuffix(end) + words
    return names.get(total, total)
