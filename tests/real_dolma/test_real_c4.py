"""`c4-1` against Dolma's c4_v2, on texts in all scripts of the sample data."""

from collections.abc import Sequence
from typing import Any

import pytest
from peer import Ask
from scriptrows import documents

from gristmill.taggers.quality.c4 import C4


@pytest.mark.slow
def test_c4_is_dolmas_c4_v2(dolma: Ask, short: list[str]) -> None:
    assert compared(dolma, short) > 20_000


@pytest.mark.slow
@pytest.mark.exhaustive
def test_c4_is_dolmas_on_all_sample_data(dolma: Ask, whole: list[str]) -> None:
    assert compared(dolma, whole) > 20_000


def compared(dolma: Ask, texts: Sequence[str]) -> int:
    """How many texts have the same labels."""
    [answer] = dolma({"do": "tag", "taggers": ["c4_v2"], "rows": texts})
    ours = C4.look(documents(texts))
    for number, (text, theirs) in enumerate(zip(texts, answer["rows"], strict=True)):
        mine = {label: as_dolma(values[number], text) for label, values in ours.items()}
        mine = {label: spans for label, spans in mine.items() if spans}
        assert mine == theirs["c4_v2"], (number, text[:200])
    return len(texts)


def as_dolma(value: Any, text: str) -> list[list[float]]:
    """A label in Dolma's form: spans are counted in the lower case of the text, those of scores in the text."""
    if value is None:
        return []
    if not isinstance(value, list):
        return [[0, len(text), value]]
    if len(text) == len(text.lower()):
        return [list(span) for span in value]
    return [[len(text[:start].lower()), len(text[:end].lower()), score] for start, end, score in value]
