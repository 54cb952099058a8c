from hypothesis import given
from hypothesis import strategies as st

from gristmill.text.fingerprints.stored import fingerprint_as_numbers, fingerprint_from_numbers


@given(st.binary(max_size=40))
def test_numbers_give_the_fingerprint_back(fingerprint: bytes) -> None:
    numbers = [float(number) for number in fingerprint_as_numbers(fingerprint)]
    assert fingerprint_from_numbers(numbers, len(fingerprint)) == fingerprint
