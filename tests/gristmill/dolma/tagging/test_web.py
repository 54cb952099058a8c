from cpu_time import cpu_seconds
from hypothesis import given
from hypothesis import strategies as st
from scriptrows import documents

from gristmill.dolma.tagging.spans import DolmaLabels
from gristmill.dolma.tagging.web import WEB_TAGGERS
from gristmill.recipes.batch import Batch
from gristmill.taggers.quality.c4 import C4

LINES = ("lines_with_no_ending_punctuation", "lines_with_too_few_words")


def labels_of(text: str) -> DolmaLabels:
    return WEB_TAGGERS["c4_v2"](Batch(documents([text])))


@given(text=st.text("İiI .\n", max_size=30))
def test_offsets_are_those_of_the_text_in_lower_case(text: str) -> None:
    ours, labels = C4.look(documents([text])), labels_of(text)
    for name in LINES:
        spans = ours[name][0]
        assert isinstance(spans, list)
        moved = [(len(text[:start].lower()), len(text[:end].lower()), score) for start, end, score in spans]
        assert (labels[name][0] or []) == moved


def test_a_text_with_many_such_lines_takes_no_quadratic_time() -> None:
    def look() -> None:
        labels = labels_of("İ a\n" * 50_000)
        assert (labels[LINES[1]][0] or [])[-2] == (5 * 49_999, 5 * 50_000, 1.0)

    assert cpu_seconds(look) < 5
