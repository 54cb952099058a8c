"""The newest of snapshots."""

import pytest

from gristmill.text.natural_order import newest_snapshot


@pytest.mark.parametrize(
    ("snapshots", "last"),
    [(["3.9", "3.11", "3.10"], "3.11"), (["2023-12", "2024-02"], "2024-02"), (["9", "a"], "9"), (["r2", "r10"], "r10")],
)
def test_the_newest_edition_is_the_last_as_people_count(snapshots: list[str], last: str) -> None:
    assert newest_snapshot(snapshots) == last
