import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.fingerprints import simhash as module
from gristmill.text.fingerprints.simhash import distance, simhash

ONES = (1 << 64) - 1


def mixed(value: int) -> int:
    """MurmurHash3's fmix64, step by step."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * factor & ONES
    return value ^ value >> 33


def by_definition(text: str) -> int:
    """Shingle by shingle, bit by bit."""
    text = " ".join(text.lower().split())
    points = [ord(c) for c in text] + [0] * (8 - len(text) if text else 0)
    shingles = [points[at : at + 8] for at in range(len(points) - 7)]
    hashes = [mixed(sum(p * pow(0x9E3779B97F4A7C15, n, 1 << 64) for n, p in enumerate(s, 1)) & ONES) for s in shingles]
    return sum(1 << bit for bit in range(64) if 2 * sum(value >> bit & 1 for value in hashes) > len(hashes))


@given(st.text(st.sampled_from("ab É字😀\n\ud800"), max_size=40))
@settings(max_examples=40)
def test_a_simhash_is_that_of_its_definition(text: str) -> None:
    assert simhash(text) == by_definition(text)


def test_similar_texts_differ_in_few_bits_in_any_script() -> None:
    for text in (
        "The mill grinds the grain of the whole valley, day and night. " * 3,
        "水車は谷の穀物を昼も夜も挽いている。" * 9,
    ):
        near, far = text.replace("valley", "village").replace("穀物", "小麦"), text[::-1]
        assert distance(simhash(text), simhash(near)) < 20 < distance(simhash(text), simhash(far))


def test_shingles_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "the mill grinds all the grain of the valley"
    whole = simhash(text)
    monkeypatch.setattr(module, "_TOGETHER", 5)
    assert simhash(text) == whole
