"""jq expressions as filters."""

from collections.abc import Iterator

import pytest

from gristmill.dolma.mixing.jq_process import values_by_process
from gristmill.dolma.mixing.jq_program import KNOWN, REFUSED, JqProgram
from gristmill.errors import RecipeError
from gristmill.recipes.sql.worker import ProcessLimits

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
    assert (list(program.matches([ROW])), list(program.any_true([ROW]))) == ([include], [exclude])


def test_a_bare_zero_is_ambiguous() -> None:
    for judged in (JqProgram(".zero").matches, JqProgram(".zero").any_true):
        with pytest.raises(ValueError, match=r"compare it, such as \(\.zero\) > 0"):
            list(judged([ROW]))


def test_an_error_of_the_row() -> None:
    with pytest.raises(ValueError, match="Cannot index number"):
        list(JqProgram(".n.b").matches([ROW]))


@pytest.mark.parametrize("text", [".a |", "nosuch(1)", "now", "env.HOME", "$ENV.HOME", "input", "[inputs]", "halt"])
def test_what_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="jq "):
        JqProgram(text)


IMPURE = (
    *("now", "env", "$ENV", "input", "inputs", "halt", "halt_error", 'halt_error("x")', "debug", "stderr", "localtime"),
    *("input_filename", "input_line_number", "get_search_list", "builtins", "have_decnum", "$__loc__", 'scan("a")'),
    *('strflocaltime("%Z")', "mktime", '("x" | modulemeta)', "get_prog_origin"),
)
PLACES = (
    *(r'"\(X)"', r'@text "a\("b\(X)")"', "{(X | tostring): 1}", "{a: X}", "{a: if . then 1, X else 2 end}", "[X][0]"),
    *(
        ".[(X):]",
        "def f: X; f",
        "def f(g): g; f(X)",
        "reduce .[] as $x (0; X)",
        "try X catch 1",
        "(# a\nX)",
        "first(X)",
    ),
    *(
        "label $o | X",
        "map(X)",
        "[limit(1; X)]",
        "$x | X | $y",
        ". as {a: $x} | X",
        "if X then 1 end",
        "path(X)",
        "-(X)",
    ),
)


@pytest.mark.parametrize("place", PLACES)
def test_what_depends_on_more_than_the_row_is_refused_wherever_it_is(place: str) -> None:
    for impure in IMPURE:
        with pytest.raises(RecipeError, match=r"depends on more than the row|only the first match of scan"):
            JqProgram(place.replace("X", impure))


@pytest.mark.parametrize("text", ['import "a" as a; 1', 'include "a"; 1', "def now: 1; now", "fresh_in_jq_9"])
def test_modules_twins_and_unknown_functions_are_refused(text: str) -> None:
    with pytest.raises(RecipeError, match=r"depends on more than the row|is not a function that is known here"):
        JqProgram(text)


def test_each_function_of_jq_is_known_or_refused() -> None:
    (found,) = values_by_process("builtins", ["1"])
    functions = {name.partition("/")[0] for name in found[0]}
    assert functions - KNOWN - REFUSED == {"cbrt", "nan", "scan"}
    assert KNOWN - functions == {"true", "false", "null"}


@pytest.mark.parametrize("text", ['[.s | scan("x")] | length > 1', '.s|scan("x")', "[.[] | strings | scan(.)]"])
def test_what_dolmas_engine_does_in_silence_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="only the first match of scan; write match"):
        JqProgram(text)


@pytest.mark.parametrize("text", ["nan < 1", "[.n, nan] | max", ".n | cbrt"])
def test_what_that_engine_computes_otherwise_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match=r"Dolma's engine (takes nan for equal|gives another last digit for cbrt)"):
        JqProgram(text)


@pytest.mark.parametrize("text", ['.scan == "x"', '.s == "scan"', ".scanned"])
def test_a_field_may_be_called_scan(text: str) -> None:
    JqProgram(text)


ENDLESS = ["[range(1e12)]", "def f: f; f", "repeat(.)", ". as $r | until(false; .)"]
LIMITS = ProcessLimits(seconds=0.3, memory=300 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("text", ENDLESS)
def test_what_never_ends_or_eats_memory_is_an_error_of_its_row(text: str) -> None:
    program = JqProgram(f"if .n == 5 then ({text}) else 1 end", LIMITS)
    values = program.values(['{"n":1}', '{"n":2}', ROW, '{"n":3}'])
    assert [next(values), next(values)] == [[1], [1]]
    with pytest.raises(ValueError, match=r"needs more memory|takes more than 0\.3 s of CPU time") as caught:
        next(values)
    assert repr(program.text) in str(caught.value)


def test_the_rows_before_an_error_have_their_values() -> None:
    for text in (".n.b", "def f: .n.b; f"):
        values = JqProgram(text).values(['{"n":{"b":1}}', '{"n":null}', ROW, ROW])
        assert [next(values), next(values)] == [[1], [None]]
        with pytest.raises(ValueError, match="Cannot index number"):
            next(values)


def test_a_row_that_cannot_be_had_is_not_taken_for_another_one() -> None:
    def rows() -> Iterator[str]:
        yield "1"
        raise ValueError("nested too deeply")

    for text in (".", "def f: .; f"):
        values = JqProgram(text).values(rows())
        assert next(values) == [1]
        with pytest.raises(ValueError, match="nested too deeply"):
            next(values)
