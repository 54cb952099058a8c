import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.units import shingles as module
from gristmill.text.units.normalisation import normalise_text
from gristmill.text.units.shingles import hash_shingles

ONES = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
FIRST, SECOND = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53

TEXTS = st.lists(st.text(st.sampled_from("aB, é字\u00a0\n\x1f😀\ud800"), max_size=30), max_size=6)


NORMALISATIONS = st.sampled_from(["", "white-space-1", "words-1"])


def mixed(value: int) -> int:
    """MurmurHash3's fmix64, step by step."""
    value &= ONES
    for factor in (FIRST, SECOND):
        value = (value ^ value >> 33) * factor & ONES
    return value ^ value >> 33


def of_word(word: bytes) -> int:
    """Eight bytes after eight bytes."""
    parts = [int.from_bytes(word[at : at + 8], "little") for at in range(0, len(word), 8)]
    return (
        mixed(parts[0] + len(word) * GOLDEN) ^ sum(mixed(part + n * FIRST) for n, part in enumerate(parts) if n) & ONES
    )


def by_definition(text: str, ngram: int, normalisation: str = "") -> list[int]:
    """N-gram by n-gram."""
    text = normalise_text(text, normalisation)
    words = [of_word(word.encode("utf-8", "surrogatepass")) for word in text.split()]
    runs = [words[at : at + ngram] for at in range(max(len(words) - ngram + 1, 1))] if words else []
    return [mixed(sum(word * pow(GOLDEN, place, 1 << 64) for place, word in enumerate(run))) for run in runs]


def found(texts: list[str], ngram: int, normalisation: str = "") -> dict[int, list[int]]:
    """The hashes of each text that has some; the pieces of a huge one are joined."""
    hashes: dict[int, list[int]] = {}
    for column in hash_shingles(texts, ngram, normalisation):
        for number, place in enumerate(column.places.tolist()):
            part = column.hashes[column.bounds[number] : column.bounds[number + 1]].tolist()
            hashes.setdefault(place, []).extend(part)
    return hashes


@given(TEXTS, st.integers(1, 6), NORMALISATIONS)
@settings(max_examples=draws(60))
def test_shingles_are_those_of_their_definition_whatever_the_other_texts_are(
    texts: list[str], ngram: int, normalisation: str
) -> None:
    expected = {place: by_definition(text, ngram, normalisation) for place, text in enumerate(texts)}
    assert found(texts, ngram, normalisation) == {place: hashes for place, hashes in expected.items() if hashes}


@given(TEXTS, st.integers(1, 4), st.integers(1, 40), NORMALISATIONS)
@settings(max_examples=draws(60))
def test_texts_in_many_columns_and_in_pieces_have_the_same_shingles(
    texts: list[str], ngram: int, limit: int, normalisation: str
) -> None:
    whole = found(texts, ngram, normalisation)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_COLUMN", limit)
        patch.setattr(module, "_LONG", limit)
        assert {place: set(hashes) for place, hashes in found(texts, ngram, normalisation).items()} == {
            place: set(hashes) for place, hashes in whole.items()
        }


def test_long_words_and_long_n_grams() -> None:
    text = " ".join(f"word{number:040d}" for number in range(30))
    assert found([text], 13)[0] == by_definition(text, 13)
    assert len(np.unique(found([text], 13)[0])) == 18
