"""Counters as earlier versions wrote them: finished shards keep theirs, so one made again is compared in both forms."""

from collections.abc import Mapping

from gristmill.stages.dedupe.labels.marked_rows import COUNT, OVERLAPPING
from gristmill.stages.mixing.edits.shaping import WRITTEN_OVER
from gristmill.stages.mixing.row_filter import NULL


def earlier_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """The counters that version 0.2 would have written of a shard.

    Args:
        counts: number of rows or characters by counter, as today's code counts them.

    >>> earlier_counts({"duplicate characters": 7, "overlapping characters": 3, "null: words": 2})
    {'duplicate characters': 10}
    """
    found = {name: count for name, count in counts.items() if not name.startswith((NULL, WRITTEN_OVER))}
    again = found.pop(OVERLAPPING, 0)
    return found | {COUNT: found[COUNT] + again} if again else found
