"""The natural order of names with numbers in them: 3.9 before 3.11."""

import re
from collections.abc import Sequence


def newest_snapshot(snapshots: Sequence[str]) -> str:
    """The last snapshot in natural order.

    >>> newest_snapshot(["3.9", "3.11"]), newest_snapshot(["2024-02", "2023-12"])
    ('3.11', '2024-02')
    """
    return max(snapshots, key=natural_sort_key)


def natural_sort_key(key: str) -> list[tuple[int, int, str]]:
    """The key that sorts names in natural order.

    >>> sorted(["3.11", "3.9"], key=natural_sort_key)
    ['3.9', '3.11']
    """
    parts = re.findall(r"\d+|\D+", key)
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]
