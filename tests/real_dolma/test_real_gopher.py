"""`gopher-1` against Dolma's own taggers of these rules, on texts in all scripts of the sample data."""

from collections.abc import Sequence

import pytest
from peer import Ask
from scriptrows import documents, scripts

from gristmill.taggers.gopher import GOPHER

LINES = ("of_lines_", "duplicate_lines")
"""What the names of labels about lines have. Dolma's gopher_v2 leaves out empty lines; ours counts them, as v1 does."""


@pytest.mark.slow
def test_gopher_is_dolmas_gopher_v1_and_but_for_lines_v2(dolma: Ask, short: list[str]) -> None:
    assert len(short) >= 20_000
    assert len([script for script, count in scripts(short).items() if count >= 10]) >= 20
    assert compared(dolma, short, ["gopher_v1"]) == len(short)
    assert compared(dolma, short[::10], ["gopher_v2"]) > 2_000


@pytest.mark.slow
@pytest.mark.exhaustive
def test_gopher_is_dolmas_on_all_sample_data(dolma: Ask, whole: list[str]) -> None:
    assert compared(dolma, whole, ["gopher_v1", "gopher_v2"]) == len(whole)


def compared(dolma: Ask, texts: Sequence[str], taggers: list[str]) -> int:
    """How many texts have the same labels."""
    [answer] = dolma({"do": "tag", "taggers": taggers, "rows": texts})
    ours = GOPHER.look(documents(texts))
    for number, (text, theirs) in enumerate(zip(texts, answer["rows"], strict=True)):
        mine = {label: [[0, len(text), values[number]]] for label, values in ours.items() if values[number] is not None}
        for tagger in taggers:
            different = {label for label, spans in theirs[tagger].items() if mine.get(label) != spans}
            if tagger == "gopher_v2":
                different = {label for label in different if not any(part in label for part in LINES)}
            assert not different, (number, text[:200], tagger, different)
            assert mine.keys() == theirs[tagger].keys(), (number, text[:200], tagger)
    return len(texts)
