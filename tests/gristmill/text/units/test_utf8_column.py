"""Columns of UTF-8: code points and white space as Python has them."""

import numpy as np
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.units.utf8_column import BitCounts, Utf8Column, decode_text, encoded_text

TEXT = st.text(st.sampled_from("ab \n\t\x1c\x85\xa0é日\u1680\u2003\u2028\u205f\u3000\u2019\u303f😀\ud800"), max_size=30)


@settings(max_examples=draws(100))
@given(st.lists(TEXT, min_size=1, max_size=5), st.sampled_from(["\n", "--", "。"]))
def test_places_and_white_space_are_those_of_the_texts(texts: list[str], separator: str) -> None:
    column = Utf8Column.of(texts, separator)
    joined = "".join(text + separator for text in texts)
    assert decode_text(column.data) == joined
    places = np.cumsum([0, *(len(encoded_text(each)) for each in joined)])
    assert column.code_points(places).tolist() == list(range(len(joined) + 1))
    assert column.bounds.tolist() == np.cumsum([0, *(len(encoded_text(t + separator)) for t in texts)]).tolist()
    spaces = [each.isspace() for each in joined for _ in encoded_text(each)]
    assert column.is_space.astype(bool).tolist() == spaces


@settings(max_examples=draws(40))
@given(st.lists(st.booleans(), max_size=40))
def test_flags_before_each_place_are_counted(flags: list[bool]) -> None:
    counts = BitCounts(np.array(flags, np.bool_)).before(np.arange(len(flags) + 1))
    assert counts.tolist() == [sum(flags[:place]) for place in range(len(flags) + 1)]
