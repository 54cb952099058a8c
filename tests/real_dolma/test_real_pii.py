"""`pii-1` against Dolma's taggers of the same, on texts in all scripts of the sample data."""

from collections.abc import Sequence
from typing import Any

import pytest
from peer import Ask
from scriptrows import documents

from gristmill.taggers.pii import PII

FAST, SLOW = "pii_regex_with_counts_fast_v2", "pii_regex_with_counts_v2"
DROPS = ("isbn", "doi", "#", "@")
"""The slow tagger drops numbers near the first three, and takes the first `@` of a span for that of the address."""


@pytest.mark.slow
def test_pii_is_dolmas_fast_tagger_and_on_plain_lines_its_slow_one(dolma: Ask, short: list[str]) -> None:
    assert compared(dolma, short) > 20_000
    lines = [line for line in short if "\n" not in line and line.strip() and not any(drop in line for drop in DROPS)]
    [answer] = dolma({"do": "tag", "taggers": [SLOW], "rows": lines})
    ours = PII.look(documents(lines))
    for number, theirs in enumerate(answer["rows"]):
        assert spans_of(ours, number) == spans_of_dolma(theirs[SLOW]), lines[number]
    assert len(lines) > 1_000


@pytest.mark.slow
@pytest.mark.exhaustive
def test_pii_is_dolmas_on_all_sample_data(dolma: Ask, whole: list[str]) -> None:
    assert compared(dolma, whole) > 20_000


def compared(dolma: Ask, texts: Sequence[str]) -> int:
    """How many texts have the same labels."""
    [answer] = dolma({"do": "tag", "taggers": [FAST], "rows": texts})
    ours = PII.look(documents(texts))
    for number, (text, row) in enumerate(zip(texts, answer["rows"], strict=True)):
        theirs = row[FAST]
        assert spans_of(ours, number) == spans_of_dolma(theirs), (number, text[:200])
        assert [[0, len(text), ours["doc_count"][number]]] == theirs["doc_count"]
        share = ours["share"][number]
        [[_, _, fraction]] = theirs["doc_frac"]  # of all spans, with that of `doc_count`
        assert fraction == (-1 if share is None else pytest.approx(1 + share, abs=2e-5))  # type: ignore[operator]
    return len(texts)


def spans_of(labels: Any, number: int) -> dict[str, list[list[float]]]:
    found = {name: [list(span) for span in values[number]] for name, values in labels.items() if name.isupper()}
    return {name: spans for name, spans in found.items() if spans}


def spans_of_dolma(labels: dict[str, Any]) -> dict[str, Any]:
    return {name: spans for name, spans in labels.items() if name.isupper()}
