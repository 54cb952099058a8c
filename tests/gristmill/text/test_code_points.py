import numpy as np
import pytest

from gristmill.text.code_points import BREAK, LETTER, SPACE, SYMBOL, CodePoints, columns


def test_texts_stand_one_after_another_with_a_line_feed_behind_each() -> None:
    column = CodePoints.of(["ab", "", "c"])
    assert bytes(column.units) == b"ab\n\nc\n"
    assert column.bounds.tolist() == [0, 3, 4, 6]
    assert column.lengths.tolist() == [2, 0, 1]


def test_units_are_as_wide_as_the_largest_code_point() -> None:
    texts = {"z": 1, "\u00e9": 2, "\uffff": 2, "\U00010000": 4, "\ud800": 2}
    assert {text: CodePoints.of([text]).units.itemsize for text in texts} == texts


def test_each_code_point_is_told_for_what_it_is() -> None:
    kinds = CodePoints.of(["a #\u2026\u00e91"]).kinds.tolist()
    assert kinds == [LETTER, SPACE, SYMBOL, SYMBOL, LETTER, 0, SPACE | BREAK]


@pytest.mark.parametrize("wide", ["", "\u4f60", "\U0001f600"])
@pytest.mark.parametrize("length", [1, 7, 8, 9, 40])
def test_equal_stretches_have_equal_hashes_and_others_do_not(length: int, wide: str) -> None:
    word = ("abcdefgh" * 5)[:length]
    other = word[:-1] + "#"
    column = CodePoints.of([word, "x", word, other, wide])
    places = column.bounds[[0, 2, 3]]
    one, same, different = column.hashes(places, places + length)
    assert one == same != different
    shorter = column.hashes(places[:1], places[:1] + length - 1)
    assert shorter[0] != one


def test_columns_hold_so_many_code_points_and_cut_no_text() -> None:
    texts = ["aaaa", "\u00e9\u00e9", "b" * 50, "cc", "\u00e9"]
    found = [(places, column.lengths.tolist()) for places, column in columns(texts, 10)]
    assert found == [([0], [4]), ([2], [50]), ([3], [2]), ([1, 4], [2, 1])]


def test_no_texts_have_no_columns() -> None:
    assert list(columns([], 10)) == []
    assert np.array_equal(next(columns([""], 10))[1].lengths, [0])
