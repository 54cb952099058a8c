"""Functions of jq as Dolma's engine has them: beside its recorded answers (tests/real_dolma/test_real_jq.py)."""

import json
from pathlib import Path
from typing import Any

import pytest

from gristmill.dolma.formats.jq_tree import names_of_jq
from gristmill.dolma.mixing.jq_program import KNOWN, JqProgram
from gristmill.errors import RecipeError

ANSWERS = Path(__file__).resolve().parents[3] / "real_dolma" / "jaq_answers.jsonl"
ROW, *ASKED = [json.loads(line) for line in ANSWERS.read_text().splitlines()]


def test_each_function_that_is_known_is_asked() -> None:
    assert KNOWN - {name for each in ASKED for name in names_of_jq(each[0]).called} == set()


def same(left: Any, right: Any) -> bool:
    """Whether they are equal; 1 is no truth."""
    match left, right:
        case list(), list():
            return len(left) == len(right) and all(map(same, left, right))
        case dict(), dict():
            return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def test_the_values_are_those_of_real_dolma_or_those_of_the_page() -> None:
    """Where that one stops with an error, jq may go on: somebody notices there."""
    row = json.dumps(ROW, sort_keys=True)
    asked = [(text, [there, *here][-1]) for text, there, *here in ASKED if isinstance(there, list)]
    found = [(text, there, next(JqProgram(text).values([row]))) for text, there in asked]
    assert [each for each in found if not same(*each[1:])] == []


@pytest.mark.parametrize(
    ("text", "empty", "word"),
    [
        ('.s | test("^$")', False, False),
        (r'.s | test("^\\s*$")', False, False),
        ('.s | test("^")', False, True),
        ('[.s | match("";"g")] | length == 2', False, True),  # before a and before b, not at the end
        ('.s | gsub("x*"; "-") == "-a-b"', False, True),
        ('.s | split(",") == [""]', True, False),
        ('.s | capture("(?<a>a)(?<z>z)?") | has("z") | not', False, True),
    ],
)
def test_a_match_at_the_end_of_a_text_is_none(text: str, *, empty: bool, word: bool) -> None:
    assert list(JqProgram(text).matches(['{"s":""}', '{"s":"ab"}'])) == [empty, word]


@pytest.mark.parametrize("text", ["_match(1; 2)", "1 | _tonumber", '"x" | _test("x")'])
def test_the_functions_behind_them_are_not_known(text: str) -> None:
    with pytest.raises(RecipeError, match="is not a function that is known here"):
        JqProgram(text)


def test_an_error_names_the_place_in_the_expression() -> None:
    with pytest.raises(RecipeError, match="line 1, column 5"):
        JqProgram("1 + repeat(1; 2)")
