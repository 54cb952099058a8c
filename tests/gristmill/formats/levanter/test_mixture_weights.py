"""What a trainer makes of weights."""

import pytest

from gristmill.errors import RecipeError
from gristmill.formats.levanter.mixture_weights import sequences_by_stream
from gristmill.recipes.mix import Mix, Stream


def mix(*weights: float, block: int = 2048) -> Mix:
    streams = tuple(Stream(name=f"s{n}", source="s", version="v0", weight=weight) for n, weight in enumerate(weights))
    return Mix(name="m", streams=streams, block=block)


def test_a_block_is_divided_in_whole_sequences_and_the_largest_takes_the_rest() -> None:
    assert sequences_by_stream({"a": 1, "b": 1, "c": 1}, 10) == {"a": 4, "b": 3, "c": 3}
    assert sequences_by_stream({"a": 0.5, "b": 0.25, "c": 0.25}, 8) == {"a": 4, "b": 2, "c": 2}


def test_weights_are_added_up_as_the_trainers_python_does() -> None:
    """Their sum is 3.1999999999999997. Rounded after each addition it is 3.2, and b and c would get 6."""
    assert sequences_by_stream({"a": 0.3, "b": 0.7, "c": 0.7, "d": 1.5}, 32) == {"a": 3, "b": 7, "c": 7, "d": 15}


def test_a_weight_that_never_appears_is_refused_with_the_smallest_block_that_works() -> None:
    assert mix(2047, 1).weights == {"s0": 2047, "s1": 1}
    with pytest.raises(RecipeError, match=r"streams get none: s1\. .* give the mix block=2049"):
        mix(2048, 1)
    assert mix(2048, 1, block=2049)
    with pytest.raises(RecipeError, match=r"streams get none: s1\. .* give them larger weights"):
        mix(100_000, 1)
    assert mix(1, 0).weights["s1"] == 0  # for validation alone


@pytest.mark.parametrize("weights", [(0, 0), (1, -1), (1, float("inf")), (1, float("nan"))])
def test_weights_that_are_none_are_refused(weights: tuple[float, float]) -> None:
    with pytest.raises(RecipeError, match=r"give weights of 0 or more|give a finite number"):
        mix(*weights)
