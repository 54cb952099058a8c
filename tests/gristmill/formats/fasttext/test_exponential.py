import ctypes
import ctypes.util
import sys

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.formats.fasttext.exponential import exponential


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compares with the GNU C library")
@settings(max_examples=draws(50))
@given(st.lists(st.floats(-87, 87, width=32), min_size=1, max_size=200))
def test_it_has_the_bits_of_the_c_library(values: list[float]) -> None:
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    library.expf.restype, library.expf.argtypes = ctypes.c_float, [ctypes.c_float]
    assert exponential(np.array(values, np.float32)).tolist() == [library.expf(value) for value in values]


def test_values_beyond_the_range_of_floats_are_limited() -> None:
    low, high = exponential(np.array([-1e9, 1e9], np.float32)).tolist()
    assert 0 < low < 2e-38
    assert 1e37 < high < np.finfo(np.float32).max


def test_its_argument_is_not_changed() -> None:
    values = np.ones(3, np.float32)
    exponential(values)
    assert values.tolist() == [1, 1, 1]
