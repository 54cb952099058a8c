"""`fineweb-1` against datatrove's FineWebQualityFilter, on texts in all scripts of the sample data.

The filter gives a verdict and no values. So each value is proven by two verdicts: with our value as the threshold the
filter keeps the text, and with the next number beside it the filter names this reason.
"""

from collections.abc import Sequence
from math import inf, nextafter
from typing import Any

import pytest
from peer import Ask
from scriptrows import documents, scripts

from gristmill.recipes.tagger import Tagger
from gristmill.taggers.quality.fineweb import FINEWEB, fineweb

LABELS = ("line_punct_ratio", "short_line_ratio", "char_dup_ratio", "list_ratio")
BEYOND = (inf, -inf, -inf, -inf)
"""On which side of our value the next threshold lies: the first is a least one, the others are most ones."""


@pytest.mark.slow
def test_the_filter_changes_its_verdict_at_our_values(datatrove: Ask, short: list[str]) -> None:
    assert len(short) >= 20_000
    assert len([script for script, count in scripts(short).items() if count >= 10]) >= 20
    assert compared(datatrove, FINEWEB, short, [len(text.split()) for text in short]) > 20_000


@pytest.mark.slow
def test_with_the_words_of_its_splitter_it_does_so_too(datatrove: Ask, short: list[str]) -> None:
    assert with_its_words(datatrove, short[::40]) > 500


@pytest.mark.slow
@pytest.mark.exhaustive
def test_it_does_so_on_all_sample_data(datatrove: Ask, short: list[str], whole: list[str]) -> None:
    assert compared(datatrove, FINEWEB, whole, [len(text.split()) for text in whole]) > 20_000
    assert with_its_words(datatrove, short) > 20_000


def with_its_words(datatrove: Ask, texts: Sequence[str]) -> int:
    """How many texts have values, with words as datatrove's own splitter finds them; all are proven."""
    [words] = datatrove({"do": "words", "rows": texts})
    counts = dict(zip(texts, words["rows"], strict=True))
    return compared(datatrove, fineweb("fineweb-spacy-1", count_words=counts.get, splitter="spaCy"), texts, None)


def compared(datatrove: Ask, tagger: Tagger, texts: Sequence[str], words: list[int] | None) -> int:
    """How many texts have values; all are proven."""
    labels = tagger.look(documents(texts))
    ours = list(zip(*(labels[label] for label in LABELS), strict=True))
    thresholds = [_around(values) for values in ours]
    [answer] = datatrove({"do": "fineweb", "rows": texts, "thresholds": thresholds, "words": words})
    proven = 0
    for text, values, verdicts in zip(texts, ours, answer["rows"], strict=True):
        if values[0] is None:
            assert (set(values), verdicts) == ({None}, ["empty"]), text[:200]
            continue
        assert verdicts == ["kept", *LABELS[: len(verdicts) - 1]], (text[:200], values)
        proven += 1
    return proven


def _around(values: Sequence[Any]) -> list[list[float]]:
    """Our values as thresholds, and for each of them the next number beside it; without words three have one."""
    if values[0] is None:
        return [[0.0] * len(values)]
    exact = [inf if value is None else value for value in values]
    beside = [nextafter(value, side) for value, side in zip(exact, BEYOND, strict=True)]
    around = [[*exact[:at], each, *exact[at + 1 :]] for at, each in enumerate(beside)]
    return [exact, *(around if values[-1] is not None else around[:-1])]
