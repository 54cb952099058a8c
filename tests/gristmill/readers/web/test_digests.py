import hashlib
from base64 import b32encode

import pytest

from gristmill.readers.web.digests import digest_difference

SHA1 = hashlib.sha1(b"mill").digest()


@pytest.mark.parametrize("value", [SHA1.hex(), SHA1.hex().upper(), b32encode(SHA1).decode()])
def test_a_digest_agrees_in_hex_and_in_base_32(value: str) -> None:
    assert not digest_difference(f"sha1:{value}", b"mill")
    assert not digest_difference(f"SHA-1: {value}", b"mill")


@pytest.mark.parametrize("value", ["0" * 40, b32encode(bytes(20)).decode(), "not base 32!", "é" * 32])
def test_another_digest_is_told_with_that_of_the_content(value: str) -> None:
    assert digest_difference(f"sha1:{value}", b"mill") == f"sha1 is {value}, but its bytes have {SHA1.hex()}"


@pytest.mark.parametrize("declared", ["", "sha1:", "crc32:00000000", "mill"])
def test_without_a_known_algorithm_nothing_is_compared(declared: str) -> None:
    assert not digest_difference(declared, b"mill")
