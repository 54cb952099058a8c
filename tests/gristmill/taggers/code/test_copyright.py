import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.lake.rows.document import Document, Span
from gristmill.taggers.code.copyright import COPYRIGHT

PIECES = ["/*", "*/", "*", "/", "copyRIGHT", "\n", "//", "#", "--", " ", "x"]


def look(text: str) -> dict[str, object]:
    return {name: values[0] for name, values in COPYRIGHT.look([Document(id="a", text=text, source="s")]).items()}


def of_dolma(text: str) -> tuple[str, float]:
    """Which span Dolma's code_copyright_comments_v1 finds, and its score."""
    comment = re.search(r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/", text)
    kind, size = "", -1
    if comment:
        if re.search("copyright", comment[0], re.IGNORECASE):
            kind, size = "copyright_notice", len(comment[0])
    else:
        for line in text.split("\n"):
            if line and not line.startswith(("//", "#", "--")):
                break
            kind, size = "comment_block", max(size, 0) + max(len(line), 1)
    return kind, -1.0 if not text else (size + 1) / len(text) if kind else 0.0


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@settings(max_examples=100)
def test_kind_and_score_are_those_of_dolma(text: str) -> None:
    labels = look(text)
    kind, score = of_dolma(text)
    assert labels["doc"] == score
    assert [name for name in ("copyright_notice", "comment_block") if labels[name]] == ([kind] if kind and text else [])


@pytest.mark.parametrize(
    ("text", "label", "end"),
    [
        ("/* Copyright */ x", "copyright_notice", 15),
        ("# a\n\n# b\nx", "comment_block", 9),
        ("# é😀", "comment_block", 4),
        ("\n\n", "comment_block", 2),
    ],
)
def test_spans_cover_what_would_be_stripped(text: str, label: str, end: int) -> None:
    assert look(text)[label] == [Span(0, end, 1.0)]


def test_comments_that_do_not_end_take_linear_time() -> None:
    assert look("/*" * 500_000)["doc"] == 0.0
