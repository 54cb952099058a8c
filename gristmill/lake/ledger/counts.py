"""Adds up counters by name, in the form in which ledgers and runs have them."""

from collections.abc import Iterable, Mapping


def add_counts(total: dict[str, int], more: Mapping[str, int], prefix: str = "") -> None:
    """Adds counters to a total, in place; `prefix` is put before each name."""
    for name, number in more.items():
        total[prefix + name] = total.get(prefix + name, 0) + number


def sum_counts(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum of counters, names sorted."""
    total: dict[str, int] = {}
    for counters in counts:
        add_counts(total, counters)
    return dict(sorted(total.items()))
