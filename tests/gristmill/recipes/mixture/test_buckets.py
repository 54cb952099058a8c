"""Buckets of a score."""

import duckdb
import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.mixture.buckets import buckets
from gristmill.recipes.rules import field, score

WEB = Stream(source="web", version="v1", weight=1.0)
GOOD = score("quality-1__good", "good")


def test_every_row_is_in_exactly_one_bucket() -> None:
    made = buckets(WEB, GOOD, [0.1, 0.5, 1e-05 + 0.5], [1, 1, 2, 4])
    assert [(each.key, each.group, each.repeats) for each in made] == [
        ("web-1", "web", 1), ("web-2", "web", 1), ("web-3", "web", 2), ("web-4", "web", 4),
    ]  # fmt: skip
    for value in ("NULL", "-1", "0.1", "0.09999999999999999", "0.5", "0.50001", "0.6", "1e300"):
        inside = " + ".join(f"coalesce(({each.include[-1].where})::INT, 0)" for each in made)
        counted = duckdb.execute(f"SELECT {inside} FROM (SELECT {value}::DOUBLE AS good)").fetchall()
        assert counted == [(1,)], value


def test_buckets_are_streams_of_a_mix_beside_others() -> None:
    streams = (*buckets(WEB, GOOD, [0.5], [0, 2]), Stream(source="code", version="v0"))
    mix = Mix(name="blend", streams=streams, proportions={"web": 0.6, "code": 0.4})
    reading = mix.reading({"web-2": 30, "code": 100})
    assert (reading.shares, reading.total) == ({"web-2": 0.6, "code": 0.4}, 100)


@pytest.mark.parametrize(
    ("column", "edges", "repeats", "said"),
    [
        (GOOD, [0.5, 0.1], [1, 1, 1], "give numbers that ascend"),
        (GOOD, [], [1], "give numbers that ascend"),
        (GOOD, [float("nan")], [1, 2], "give numbers that ascend"),
        (GOOD, [0.5], [1], "1 edges make 2 buckets"),
        (GOOD, [0.5], [0, 0], "not all of them 0"),
        (field("id"), [0.5], [1, 2], "column 'id' is VARCHAR; give one of score"),
    ],
)
def test_what_makes_no_buckets_is_refused(column: object, edges: list[float], repeats: list[float], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        buckets(WEB, column, edges, repeats)  # type: ignore[arg-type]
