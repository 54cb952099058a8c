import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.energon.formats.braces import collapse_names, expand_pattern, expand_patterns
from gristmill.errors import DataError


@pytest.mark.parametrize(
    ("names", "collapsed"),
    [
        ([], []),
        (["a.tar"], ["a.tar"]),
        (["s_000.tar", "s_001.tar", "s_002.tar", "s_004.tar"], ["s_{000..002}.tar", "s_004.tar"]),
        (["s_9.tar", "s_10.tar"], ["s_9.tar", "s_10.tar"]),
        (["a/0_0", "a/0_1", "a/1_1", "a/1_2"], ["a/0_{0..1}", "a/1_{1..2}"]),
        (["1.tar", "0.tar"], ["1.tar", "0.tar"]),
        (["a1b1", "a01b2"], ["a1b1", "a01b2"]),
        (["x", "x"], ["x", "x"]),
        (["\u0660.tar", "\u0661.tar"], ["\u0660.tar", "\u0661.tar"]),
    ],
)
def test_runs_become_ranges(names: list[str], collapsed: list[str]) -> None:
    assert collapse_names(names) == collapsed
    assert expand_patterns(collapsed) == names


@pytest.mark.slow
@given(st.lists(st.from_regex(r"[ab]?[0-2]{1,2}[ab_][0-2]{1,2}", fullmatch=True), max_size=12))
def test_collapsed_names_expand_to_themselves(names: list[str]) -> None:
    assert expand_patterns(collapse_names(names)) == names


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("a", ["a"]),
        ("", [""]),
        ("{1..3}", ["1", "2", "3"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{1..7..3}", ["1", "4", "7"]),
        ("{-1..1}", ["-1", "0", "1"]),
        ("{09..11}", ["09", "10", "11"]),
        ("{a..e..2}", ["a", "c", "e"]),
        ("{a,}b", ["ab", "b"]),
        ("{a,b}{1,2}", ["a1", "a2", "b1", "b2"]),
        ("{a,{b,c}d}", ["a", "bd", "cd"]),
        ("{x}", ["{x}"]),
        ("{}", ["{}"]),
        ("{{a,b}}", ["{a}", "{b}"]),
        (r"\{a,b\}", ["{a,b}"]),
        (r"{a\,b,c}", ["a,b", "c"]),
    ],
)
def test_patterns_expand_as_in_braceexpand(pattern: str, names: list[str]) -> None:
    assert expand_pattern(pattern) == names


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{a", "not closed"),
        ("a}", "was not opened"),
        ("{a{b}", "not closed"),
        ("{0..999999999999}", "more than 1000000 names"),
        ("{0..9999}{0..9999}", "more than 1000000 names"),
        ("{" * 60 + "}" * 60, "more than 50 braces"),
    ],
)
def test_patterns_that_cannot_be_expanded_are_refused(pattern: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        expand_pattern(pattern)


@pytest.mark.slow
def test_patterns_that_have_too_many_names_together_are_refused() -> None:
    with pytest.raises(DataError, match="more than 1000000; name fewer shards"):
        expand_patterns(["{0..599999}"] * 2)


def test_numbers_that_are_too_long_are_no_range() -> None:
    pattern = "{" + "9" * 5000 + ".." + "9" * 5001 + "}"
    assert expand_pattern(pattern) == [pattern]
