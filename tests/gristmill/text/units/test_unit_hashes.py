"""Groups of texts, and the parts of huge ones."""

from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.units.unit_hashes import HUGE, TOGETHER, split_into_parts, text_groups


@settings(max_examples=draws(200))
@given(st.text("a-", max_size=40), st.sampled_from(["-", "--", "-a-"]), st.integers(1, 9))
def test_the_pieces_of_all_parts_are_those_of_the_text(text: str, separator: str, size: int) -> None:
    parts = list(split_into_parts(text, separator, size))
    assert [piece for _, part in parts for piece in part.split(separator)] == text.split(separator)
    assert all(text[start : start + len(part)] == part for start, part in parts)
    assert all(len(part) <= size or separator not in part for _, part in parts)


def test_groups_hold_texts_in_order_and_a_huge_text_is_divided() -> None:
    huge = ("x" * 99 + "\n") * (HUGE // 40)
    texts = ["a", "b" * TOGETHER, "c", huge, "d"]
    groups = list(text_groups(texts, "\n"))
    parts = len(huge) // (TOGETHER // 100 * 100) + 1
    assert [group.first for group in groups] == [0, 1, 2, *[3] * parts, 4]
    assert [len(group.texts) for group in groups] == [1] * (parts + 4)
    assert [group.offset for group in groups][3:-1] == [TOGETHER // 100 * 100 * part for part in range(parts)]
    assert [group.first for group in text_groups(texts)] == [0, 1, 2, 3, 4]
