"""`lengths-1` and `paragraph-lengths-1` against the length taggers of the real Dolma."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from peer import Ask
from scriptrows import documents

from gristmill.taggers.measures.lengths import LENGTHS
from gristmill.taggers.measures.paragraph_lengths import PARAGRAPH_LENGTHS

PLAIN = (
    *("char_length_v1", "char_length_strip_ws_v1", "bytes_length_v1", "whitespace_tokenizer_v1"),
    *("char_length_with_paragraphs_v1", "whitespace_tokenizer_with_paragraphs_v1"),
)
"""Values of whitespace_tokenizer_v1 are one more than the runs: it counts what is between them."""

UNICODE = ("uniseg_length_v1", "uniseg_length_paragraphs_v1", "uniseg_length_paragraphs_with_doc_length_v1")
"""Dolma does these at 100 KB a second, so they see fewer texts."""


def mine(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Our labels of each text under the names of Dolma's."""
    rows = documents(texts)
    whole, parts = LENGTHS.look(rows), PARAGRAPH_LENGTHS.look(rows)
    return [
        _row(text, {k: v[i] for k, v in whole.items()}, {k: v[i] for k, v in parts.items()})
        for i, text in enumerate(texts)
    ]


def _row(text: str, whole: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    def one(name: str, value: float) -> dict[str, list[list[float]]]:
        return {name: [[0, len(text), value]]}

    def spans(label: str, change: Callable[[float], float] = float) -> list[list[float]]:
        return [[start, end, change(score)] for start, end, score in parts[label]]

    words = spans("unicode_words")
    runs = spans("runs", lambda score: score + 1)
    negative = spans("unicode_words", lambda score: -score)
    paragraphs = {"paragraph": words, "negative_paragraph": negative} if words else {}
    count = sum(score for _, _, score in words)
    assert whole["unicode_words"] in {None, count}
    return {
        "char_length_v1": one("length", whole["characters"]),
        "char_length_strip_ws_v1": one("length_no_ws", whole["stripped_characters"]),
        "bytes_length_v1": one("bytes", whole["bytes"]),
        "whitespace_tokenizer_v1": one("length", whole["runs"] + 1),
        "uniseg_length_v1": one("length", whole["unicode_pieces"]),
        "uniseg_length_paragraphs_v1": paragraphs,
        "uniseg_length_paragraphs_with_doc_length_v1": {
            **paragraphs,
            **one("document", count),
            **one("negative_document", -count),
        },
        "char_length_with_paragraphs_v1": {
            **({"paragraph": spans("characters")} if words else {}),
            **one("document", whole["characters"]),
        },
        "whitespace_tokenizer_with_paragraphs_v1": {
            **({"paragraph": runs} if runs else {}),
            **one("document", sum(score for _, _, score in runs)),
        },
    }


def compared(dolma: Ask, texts: Sequence[str], taggers: Sequence[str]) -> int:
    """How many texts have the same labels."""
    [answer] = dolma({"do": "tag", "taggers": taggers, "rows": texts})
    for text, theirs, ours in zip(texts, answer["rows"], mine(texts), strict=True):
        for tagger in taggers:
            assert ours[tagger] == theirs[tagger], (text[:200], tagger)
    return len(texts)


@pytest.mark.slow
def test_lengths_are_those_of_dolma(dolma: Ask, short: list[str]) -> None:
    assert compared(dolma, short, PLAIN) >= 20_000
    assert compared(dolma, short[::60], UNICODE) > 300


@pytest.mark.slow
@pytest.mark.exhaustive
def test_lengths_are_those_of_dolma_on_all_sample_data(dolma: Ask, short: list[str], whole: list[str]) -> None:
    assert compared(dolma, whole, PLAIN) == len(whole)
    assert compared(dolma, short, UNICODE) >= 20_000
