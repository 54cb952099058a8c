"""The reference is RedPajama's definition, slow and plain."""

import re
import string
import unicodedata

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label
from gristmill.taggers.quality.redpajama_lines import BULLETS, ENDS, REDPAJAMA_LINES

PARTS = [
    *(
        "a",
        "B",
        "be.",
        "Why?",
        "so”",
        "12",
        "¾",
        "٣",
        "Ⅻ",
        "É",
        "é\u0301",
        "İ",
        "JavaScript",
        "java-script",
        "javascripts",
    ),
    *("•", "\u2013", "▪ x", "…", "{", "𐐀", "人", "\ud800", "\0"),
    *(" ", " ", " ", "\n", "\n", "\n\n", "\r\n", "\t", "\u2028", "\u3000"),
]
texts = st.lists(st.sampled_from(PARTS), max_size=30).map("".join)


def look(*texts: str) -> list[dict[str, Label]]:
    found = REDPAJAMA_LINES.look([Document(id=str(n), text=text, source="t") for n, text in enumerate(texts)])
    return [{label: values[n] for label, values in found.items()} for n in range(len(texts))]


def plain(text: str) -> dict[str, list[tuple[int, int, float]]]:
    found: dict[str, list[tuple[int, int, float]]] = {label.name: [] for label in REDPAJAMA_LINES.labels or ()}
    for match in re.finditer(r"[^\n]*\n|[^\n]+$", text):
        line = match[0]
        bare = line.translate(str.maketrans("", "", string.punctuation)).lower()
        bare = unicodedata.normalize("NFD", re.sub(r"\s+", " ", bare.strip()))
        scores = {
            "ending_with_terminal_punctution_mark": line.rstrip().endswith(tuple(ENDS)),
            "javascript_counts": bare.split().count("javascript"),
            "num_words": len(bare.split()),
            "numerical_chars_fraction": round(sum(map(str.isnumeric, bare)) / len(bare), 8) if bare else 0.0,
            "start_with_bulletpoint": line.lstrip().startswith(tuple(BULLETS)),
            "uppercase_letter_fraction": round(sum(map(str.isupper, line)) / len(line), 8),
        }
        for name, score in scores.items():
            found[f"rps_lines_{name}"].append((match.start(), match.end(), float(score)))
    return found


@settings(max_examples=draws(60))
@given(st.lists(texts, min_size=1, max_size=6))
def test_a_batch_agrees_with_the_plain_reference_whatever_its_neighbours(batch: list[str]) -> None:
    for text, found in zip(batch, look(*batch), strict=True):
        expected = plain(text)
        if found["rps_lines_num_words"] is None:  # scripts without spaces
            del expected["rps_lines_num_words"], found["rps_lines_num_words"]
        assert found == expected


def test_signals_that_one_can_count() -> None:
    found = look("Enable JavaScript.\n\n• 12 items")[0]
    assert found["rps_lines_javascript_counts"] == [(0, 19, 1.0), (19, 20, 0.0), (20, 30, 0.0)]
    assert found["rps_lines_start_with_bulletpoint"] == [(0, 19, 0.0), (19, 20, 0.0), (20, 30, 1.0)]
    assert found["rps_lines_numerical_chars_fraction"] == [(0, 19, 0.0), (19, 20, 0.0), (20, 30, 0.2)]


@pytest.mark.parametrize("text", ["", "\n", "a", "a\n", "\n\n"])
def test_what_is_after_the_last_line_feed_is_a_line_unless_it_is_empty(text: str) -> None:
    spans = look(text)[0]["rps_lines_javascript_counts"]
    assert isinstance(spans, list)
    assert [text[span[0] : span[1]] for span in spans] == text.splitlines(keepends=True)


def test_scripts_without_spaces_have_no_numbers_of_words() -> None:
    found = look("一句话。\n一句话。")[0]
    assert found["rps_lines_num_words"] is None
    assert found["rps_lines_uppercase_letter_fraction"] == [(0, 5, 0.0), (5, 9, 0.0)]
