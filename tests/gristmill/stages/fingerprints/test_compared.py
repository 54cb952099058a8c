"""Which snapshots are compared with which."""

import pytest

from gristmill.stages.fingerprints.compared import compared_families
from gristmill.stages.fingerprints.order import Order

ORDER = (
    Order()
    .with_round([("news", "a", False), ("wiki", "3.9", True), ("web", "x", False)])
    .with_round([("wiki", "3.11", True), ("news", "b", False)])
    .with_round([("wiki", "3.10", True)])
)


def shown(number: int, scope: str, empty: tuple[int, ...] = ()) -> list[str]:
    """Each family as ranks; those that keep nothing in brackets."""
    return [
        " ".join(str(member.rank) if member.keeps else f"({member.rank})" for member in family)
        for family in compared_families(ORDER, number, scope, empty)
    ]


@pytest.mark.parametrize(
    ("number", "scope", "families"),
    [
        (1, "group", ["0 1 2"]),
        (2, "group", ["0 (1) 3 2 4"]),  # the newer edition stands where the first one stood
        (3, "group", ["0 (1) (5) 3 2 4"]),  # 3.10 is older than 3.11
        (1, "source", ["0", "2"]),
        (2, "source", ["0 4"]),
        (3, "source", []),
        (2, "snapshot", []),
    ],
)
def test_families(number: int, scope: str, families: list[str]) -> None:
    assert shown(number, scope) == families


def test_an_empty_edition_is_not_the_newest() -> None:
    assert shown(2, "group", (3,)) == ["0 (3) 1 2 4"]
    assert shown(2, "group", (1, 3)) == ["0 (1) (3) 2 4"]
