"""Counters by name, as ledgers and runs have them: added up."""

from collections.abc import Iterable, Mapping


def add_counts(total: dict[str, int], more: Mapping[str, int], prefix: str = "") -> None:
    """Adds counters to a total, in place; `prefix` is put before each name."""
    for name, number in more.items():
        total[prefix + name] = total.get(prefix + name, 0) + number


def sum_counts(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum of counters, names sorted."""
    total: dict[str, int] = {}
    for each in counts:
        add_counts(total, each)
    return dict(sorted(total.items()))
