"""The reference is RedPajama's definition, slow and plain: lists, `re` and `Counter`."""

import math
import re
import string
import unicodedata
from collections import Counter

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label
from gristmill.taggers.quality.redpajama import REDPAJAMA

SPACES = [" ", " ", " ", "\n", "\n", "\n\n", "\r\n", "\t", "\x1c", "\u2028", "\u3000"]
WORDS = [
    *(
        "be",
        "Be.",
        "be!?",
        "the",
        "...",
        "…",
        "wait...",
        "and…",
        "#",
        "{",
        "}",
        "IT'S",
        "don't",
        "_x_",
        "12",
        "¾",
        "A1",
    ),
    *(
        "Straße",
        "É",
        "e\u0301",
        "ΟΔΟΣ",
        "İ",
        "ǅ",
        "ÀB",
        "это",
        "𐐀",
        "lorem",
        "ipsum",
        "Lorem ipsum",
        "lorem \u0131psum",
    ),
    *("\u037e", "\ud800", "\0", "कि", "a_b-c", "?!", "\u200d"),
]
FIXED = ["", " ", "\n", "...\n", "a\n\n", "Σ", "lorem, IPSUM lorem\nipsum", "to be or not to be or not to be"]


def look(*texts: str) -> list[dict[str, Label]]:
    found = REDPAJAMA.look([Document(id=str(n), text=text, source="t") for n, text in enumerate(texts)])
    return [{label: values[n] for label, values in found.items()} for n in range(len(texts))]


def plain(text: str) -> dict[str, float | None]:
    bare = text.translate(str.maketrans("", "", string.punctuation)).lower()
    content = unicodedata.normalize("NFD", re.sub(r"\s+", " ", bare.strip()))
    words, tokens = content.split(), re.findall(r"\w+|[^\w\s]+", text)
    lines = re.findall(r"[^\n]*\n|[^\n]+$", text)
    size, count = sum(map(len, words)), len(words)
    counts = Counter(words)
    lorem = len(re.findall("lorem ipsum", content, re.IGNORECASE)) if "lorem ipsum" in content else 0
    found: dict[str, float | None] = {
        "rps_doc_curly_bracket": share(text.count("{") + text.count("}"), len(text)) or 0.0,
        "rps_doc_lorem_ipsum": share(lorem, len(content)) or 0.0,
        "rps_doc_num_sentences": float(len(re.findall(r"\b[^.!?]+[.!?]*", text))),
        "rps_doc_frac_lines_end_with_ellipsis": share(
            sum(line.rstrip().endswith(("...", "…")) for line in lines), len(lines)
        ),
        "rps_doc_word_count": float(count),
        "rps_doc_mean_word_length": share(size, count),
        "rps_doc_frac_unique_words": share(len(counts), count),
        "rps_doc_unigram_entropy": share(-sum(n * math.log(n / count) for n in counts.values()), count),
        "rps_doc_symbol_to_word_ratio": share(sum(text.count(part) for part in ("#", "...", "…")), len(tokens)),
        "rps_doc_frac_no_alph_words": None
        if not tokens
        else round(1 - sum(bool(re.search("[a-zA-Z]", token)) for token in tokens) / len(tokens), 8),
        "rps_doc_frac_all_caps_words": share(sum(map(str.isupper, tokens)), len(tokens)),
    }
    for n in range(2, 11):
        grams = [tuple(words[start : start + n]) for start in range(count - n + 1)]
        seen = Counter(grams)
        if n < 5:
            common, most = seen.most_common(1)[0] if grams else ((), 0)
            value = len("".join(common)) * most / size if most > 1 else 0.0
            found[f"rps_doc_frac_chars_top_{n}gram"] = round(value, 8)
        else:
            inside = {at + i for at, gram in enumerate(grams) if seen[gram] > 1 for i in range(n)}
            value = sum(len(words[at]) for at in inside) / size if size else 0.0
            found[f"rps_doc_frac_chars_dupe_{n}grams"] = round(value, 8)
    return found


def share(part: float, whole: int) -> float | None:
    return round(part / whole, 8) if whole else None


def assert_equal(found: dict[str, Label], expected: dict[str, float | None]) -> None:
    assert found["rps_doc_unigram_entropy"] == pytest.approx(expected["rps_doc_unigram_entropy"], abs=1.1e-8)
    assert {**found, "rps_doc_unigram_entropy": None} == {**expected, "rps_doc_unigram_entropy": None}


def texts(words: list[str]) -> st.SearchStrategy[str]:
    pieces = st.lists(st.tuples(st.sampled_from(words), st.sampled_from(SPACES)), max_size=40)
    return pieces.map(lambda pairs: "".join(word + space for word, space in pairs))


repetitive = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).flatmap(texts)
ascii_only = texts([word for word in WORDS if word.isascii()])


@pytest.mark.slow
@settings(max_examples=draws(30))
@given(st.lists(st.one_of(repetitive, texts(WORDS), ascii_only), max_size=8))
def test_a_batch_agrees_with_the_plain_reference_whatever_its_neighbours(batch: list[str]) -> None:
    for found, text in zip(look(*batch), batch, strict=True):
        assert_equal(found, plain(text))


@pytest.mark.parametrize("text", FIXED)
def test_edges(text: str) -> None:
    assert_equal(look(text)[0], plain(text))


def test_signals_that_one_can_count() -> None:
    found = look("To be, or not to be...\nTHAT is {it}. TO BE…")[0]
    assert found["rps_doc_word_count"] == 11
    assert found["rps_doc_num_sentences"] == 3
    assert found["rps_doc_frac_lines_end_with_ellipsis"] == 1
    assert found["rps_doc_frac_unique_words"] == round(8 / 11, 8)  # "be…" is a word of its own: … is not of ASCII


def test_words_are_counted_in_scripts_with_spaces_alone() -> None:
    found = look("人人生而自由。\n人人生而自由。")[0]
    assert found["rps_doc_word_count"] is found["rps_doc_frac_chars_top_2gram"] is None
    assert found["rps_doc_num_sentences"] == 1
