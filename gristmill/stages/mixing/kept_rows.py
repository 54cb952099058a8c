"""Checks that each stream of a mix keeps rows: a rule that drops everything must not pass silently."""

from collections.abc import Mapping, Sequence

from gristmill.errors import DataError
from gristmill.lake.ledger.counts import sum_counts
from gristmill.lake.ledger.model import Ledger
from gristmill.recipes.drift.drop_reasons import BLOCKED


def check_keeps_rows(mix: str, slices: Mapping[str, Sequence[Ledger]]) -> None:
    """Checks that a stream whose selection dropped rows has kept some, in one slice at least.

    A stream without rows passes if it had none to drop, or if blocklists alone dropped them: what was taken down must
    leave the index.

    Args:
        mix: name of the mix, for the message.
        slices: the heads of the slices that belong to its index, by stream.

    Raises:
        DataError: a stream keeps nothing; names it, and how many rows each reason dropped.
    """
    for stream, heads in slices.items():
        dropped = sum_counts(head.dropped for head in heads)
        chosen = {reason: rows for reason, rows in dropped.items() if not reason.startswith(BLOCKED.format(""))}
        if chosen and not any(head.totals.get("rows") for head in heads):
            most = sorted(dropped.items(), key=lambda each: (-each[1], each[0]))
            reasons = ", ".join(f"{reason}: {rows:,}" for reason, rows in most[:5])
            raise DataError(
                f"mix {mix!r}, stream {stream!r}: keeps no row of {sum(dropped.values()):,} ({reasons}); correct"
                " the rules, or leave the stream out"
            )
