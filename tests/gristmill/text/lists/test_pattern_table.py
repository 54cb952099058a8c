import time

import pytest

from gristmill.errors import RecipeError
from gristmill.text.lists.pattern_table import PatternTable
from gristmill.text.lists.word_lines import ListedWord


def patterns(*lines: str) -> PatternTable:
    return PatternTable.of([ListedWord(line, "en", f"en:{number}") for number, line in enumerate(lines, 1)])


def test_hits_are_offsets_in_code_points() -> None:
    text = "😀 é B00B \ud800 boob"
    assert [text[a:b] for a, b in patterns(r"b[o0]{2}b", r"\bx*").find_pattern_hits(text)] == ["B00B", "boob"]


def test_a_pattern_that_makes_other_engines_run_for_ever_takes_linear_time() -> None:
    began = time.process_time()
    assert list(patterns(r"(a+)+$", r"(x|x)*y", r"(.*a){20}z").find_pattern_hits("a" * 100_000 + "!")) == []
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(unclosed", r"en:2: '\(unclosed' is no pattern that RE2 takes \(missing \)"),
        (r"(?=a)b", "en:2: .*look-around"),
        (r"(a)\1", "en:2: .*back"),
        ("((a{100}){100}){100}", "en:2: .*no pattern that RE2 takes"),
        ("a*", "en:2: 'a\\*' matches the empty text"),
    ],
)
def test_a_pattern_that_cannot_be_run_is_refused_with_its_place(line: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        patterns("fine", line)


def test_a_list_without_patterns_is_refused() -> None:
    with pytest.raises(RecipeError, match="no patterns"):
        patterns()
