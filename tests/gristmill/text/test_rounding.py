"""Many numbers are rounded as Python rounds one."""

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.rounding import round_like_python


@settings(max_examples=draws(50))
@given(
    st.lists(st.floats(-1e4, 1e4) | st.floats()),
    st.sampled_from([2, 5, 8]),
)
def test_numbers_are_rounded_as_python_rounds_them(values: list[float], digits: int) -> None:
    found = round_like_python(np.array(values, np.float64), digits).tolist()
    assert [repr(value) for value in found] == [repr(round(value, digits)) for value in values]


@pytest.mark.parametrize("digits", [1, 5, 8])
def test_halves(digits: int) -> None:
    values = (np.arange(2000) + 0.5) / 10**digits
    assert round_like_python(values, digits).tolist() == [round(value, digits) for value in values.tolist()]
