"""jq expressions as filters."""

import pytest

from gristmill.errors import RecipeError
from gristmill.stages.dolma_mixing.jq_program import JqProgram

ROW = '{"a":[[0,5,0.75]],"n":5,"zero":0.0,"s":"x","nul":null}'


@pytest.mark.parametrize(
    ("text", "include", "exclude"),
    [
        (".a[0][2] >= 0.75", True, True),
        (".a[0][-1] > 1", False, False),
        (".nul", False, False),
        (".a", True, True),
        ("empty", False, False),
        ("true, false", False, True),
        ('.s | test("x")', True, True),
        ('.s == "now"', False, False),
    ],
)
def test_what_counts_as_true(text: str, *, include: bool, exclude: bool) -> None:
    program = JqProgram(text)
    assert (program.matches(ROW), program.any_true(ROW)) == (include, exclude)


def test_a_bare_zero_is_ambiguous() -> None:
    for judged in (JqProgram(".zero").matches, JqProgram(".zero").any_true):
        with pytest.raises(ValueError, match=r"compare it, such as \(\.zero\) > 0"):
            judged(ROW)


def test_an_error_of_the_row() -> None:
    with pytest.raises(ValueError, match="Cannot index number"):
        JqProgram(".n.b").matches(ROW)


@pytest.mark.parametrize("text", [".a |", "nosuch(1)", "now", "env.HOME", "$ENV.HOME", "input", "[inputs]", "halt"])
def test_what_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="jq "):
        JqProgram(text)


@pytest.mark.parametrize("text", ['[.s | scan("x")] | length > 1', '.s|scan("x")', "[.[] | strings | scan(.)]"])
def test_what_dolmas_engine_does_in_silence_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="only the first match of scan; write match"):
        JqProgram(text)


@pytest.mark.parametrize("text", ['.scan == "x"', '.s == "scan"', ".scanned"])
def test_a_field_may_be_called_scan(text: str) -> None:
    JqProgram(text)
