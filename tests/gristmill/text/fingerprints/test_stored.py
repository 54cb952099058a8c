from hypothesis import given
from hypothesis import strategies as st

from gristmill.text.fingerprints.stored import bytes_of, numbers_of


@given(st.binary(max_size=40))
def test_numbers_give_the_fingerprint_back(fingerprint: bytes) -> None:
    numbers = [float(number) for number in numbers_of(fingerprint)]
    assert bytes_of(numbers, len(fingerprint)) == fingerprint
