import numpy as np
import pytest

from gristmill.text.code_points import CodePoints
from gristmill.text.lines import Lines

TEXTS = ["one\ntwo\none", "", "\n", "one", "\n\nlonger than eight letters\nlonger than eight lettres\n"]


def test_lines_are_those_of_split_and_a_text_has_at_least_one() -> None:
    column = CodePoints.of(TEXTS)
    lines = Lines.of(column)
    assert lines.counts.tolist() == [len(text.split("\n")) for text in TEXTS] == [3, 1, 2, 1, 5]
    found = ["".join(map(chr, column.units[a:b])) for a, b in zip(lines.starts, lines.ends, strict=True)]
    assert found == [line for text in TEXTS for line in text.split("\n")]


def test_a_line_repeats_within_its_text_alone_and_in_its_whole_length() -> None:
    lines = Lines.of(CodePoints.of(TEXTS))
    # "one" twice in the first text; both empty lines of "\n"; the three empty lines of the last text.
    assert lines.repeated().tolist() == [0, 2, 4, 5, 7, 8, 11]
    assert lines.count(lines.repeated()).tolist() == [2, 0, 2, 0, 3]


@pytest.mark.parametrize("chosen", [[], [0], [0, 2, 6]])
def test_chosen_lines_are_counted_by_text(chosen: list[int]) -> None:
    lines = Lines.of(CodePoints.of(TEXTS))
    counted = lines.count(np.array(chosen, np.int64))
    assert counted.sum() == len(chosen)
    assert counted.tolist()[0] == sum(number < 3 for number in chosen)
