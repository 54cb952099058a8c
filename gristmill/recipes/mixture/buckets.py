"""Buckets: one stream divided by a score into disjoint streams, so that training reads the better part more often."""

from collections.abc import Sequence
from dataclasses import replace

from gristmill.errors import RecipeError
from gristmill.recipes.mix import Stream
from gristmill.recipes.rules import Column, Rule

_NUMBERS = ("score", "DOUBLE", "BIGINT")


def buckets(stream: Stream, column: Column, edges: Sequence[float], repeats: Sequence[float]) -> tuple[Stream, ...]:
    """Divides a stream by a score. Every row is in exactly one bucket; a row without the score is in the lowest.

    The buckets are named `<stream>-1`, `<stream>-2`, ... from the lowest scores to the highest, and are one group.

    Args:
        stream: the stream with its own rules, which all buckets keep.
        column: the score, such as `score("quality-1__good")`, or a field with numbers.
        edges: scores where buckets meet, ascending. A score that equals an edge is in the upper bucket.
        repeats: number of times that training reads each bucket, one number more than edges. 0 leaves a bucket out.

    Returns:
        The streams of the buckets, from the lowest scores to the highest.

    Raises:
        RecipeError: the edges do not ascend, the repeats do not fit them, or the column has no numbers.

    >>> from gristmill.recipes.rules import score
    >>> web = Stream(source="web", version="v1")
    >>> for bucket in buckets(web, score("quality-1__good", "good"), edges=[0.3, 0.7], repeats=[0, 1, 2.5]):
    ...     print(bucket.key, bucket.repeats, bucket.include[-1].where)
    web-2 1.0 good >= 0.3 AND good < 0.7
    web-3 2.5 good >= 0.7
    """
    _check_bucket_options(f"buckets of stream {stream.key!r}", column, edges, repeats)
    columns = stream.columns if column in stream.columns else (*stream.columns, column)
    made = []
    for number, times in enumerate(repeats, start=1):
        if times == 0:
            continue
        rule = Rule("bucket", _bucket_condition(column.name, edges, number - 1), f"bucket {number} of {len(repeats)}")
        made.append(
            replace(
                stream,
                name=f"{stream.key}-{number}",
                group=stream.group or stream.key,
                columns=columns,
                include=(*stream.include, rule),
                repeats=stream.repeats * times,
            )
        )
    return tuple(made)


def _check_bucket_options(who: str, column: Column, edges: Sequence[float], repeats: Sequence[float]) -> None:
    """Raises a RecipeError if they make no buckets."""
    if column.type not in _NUMBERS:
        raise RecipeError(f"{who}: column {column.name!r} is {column.type}; give one of {', '.join(_NUMBERS)}")
    finite = all(float("-inf") < edge < float("inf") for edge in edges)
    if not edges or not finite or list(edges) != sorted(set(edges)):
        raise RecipeError(f"{who}: edges are {list(edges)}; give numbers that ascend, such as [0.3, 0.7]")
    if len(repeats) != len(edges) + 1 or not any(repeats):
        raise RecipeError(
            f"{who}: {len(edges)} edges make {len(edges) + 1} buckets, and repeats are {list(repeats)}; give one number"
            " for each bucket, not all of them 0"
        )


def _bucket_condition(name: str, edges: Sequence[float], number: int) -> str:
    """The SQL condition of a bucket, counted from 0."""
    if number == 0:
        return f"{name} IS NULL OR {name} < {edges[0]!r}"
    lower = f"{name} >= {edges[number - 1]!r}"
    return f"{lower} AND {name} < {edges[number]!r}" if number < len(edges) else lower
