import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.differences import find_text_differences

TEXTS = st.text(st.sampled_from("ab\n"), max_size=12)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("a", "a", []),
        ("", "a", [(0, "", "a")]),
        ("write me@x now", "write E now", [(6, "write me@x now", "write E now")]),
        ("one\ntwo\nthree", "one\nthree", [(4, "two\n", "")]),
        ("one\nx\ntwo\ny\n", "one\nX\ntwo\nY\n", [(4, "x\n", "X\n"), (10, "y\n", "Y\n")]),
        ("b" * 50 + "x" + "c" * 50, "b" * 50 + "c" * 50, [(50, "b" * 20 + "x" + "c" * 20, "b" * 20 + "c" * 20)]),
    ],
)
def test_what_differs_is_shown_with_what_is_around_it(
    before: str, after: str, found: list[tuple[int, str, str]]
) -> None:
    assert list(find_text_differences(before, after)) == found


@settings(max_examples=draws(50))
@given(TEXTS, TEXTS)
def test_texts_differ_if_a_difference_is_shown_and_it_begins_where_they_do(before: str, after: str) -> None:
    found = list(find_text_differences(before, after))
    assert bool(found) == (before != after)
    if found:
        same = next(
            (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(map(len, (before, after)))
        )
        assert found[0].start <= same


def test_long_texts_without_an_equal_line_have_one_difference() -> None:
    assert len(list(find_text_differences("a\n" * 100_000, "b\n" * 100_000))) == 1
