import random

import pytest

from gristmill.text.overlaps.quick_words import words_bytes
from gristmill.text.units.normalisation import lower_case_table, words_text
from gristmill.text.units.utf8_column import encoded_text


def words(text: str) -> list[bytes]:
    return encoded_text(words_text(text)).split()


def test_each_code_point_is_as_in_the_normalisation() -> None:
    codes = [*range(0x3000), *range(0x3000, 0x110000, 41)]
    longer = {
        code for code in codes if len(encoded_text(chr(int(lower_case_table()[code])))) > len(encoded_text(chr(code)))
    }
    for chosen in (set(codes) - longer, longer):
        text = "\n".join(f"a{chr(code)}b {chr(code)}" for code in sorted(chosen))
        assert words_bytes(encoded_text(text)).split() == words(text)
    assert 0x23A in longer


@pytest.mark.parametrize("seed", range(4))
def test_mixed_texts_are_as_in_the_normalisation(seed: int) -> None:
    draw = random.Random(seed)
    text = "".join(draw.choices("aB 'Éİẞ\u212a日ก\n\U0001d400\ud800\u2019жЖ\x00", k=500))
    assert words_bytes(encoded_text(text)).split() == words(text)
    assert words_bytes(encoded_text(text)).count(b"\n") == text.count("\n")
