import sys

import pytest
from scriptrows import edge_texts

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.taggers.languages.cld2 import CLD2, engine, tag

ENGLISH = "All human beings are born free and equal in dignity and rights. They are endowed with reason. "
GREEK = "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. "  # noqa: RUF001 - Greek is meant


def document(text: str) -> Document:
    return Document(id="0", text=text, source="t")


def test_offsets_are_code_points() -> None:
    text = "👪👪 " + GREEK * 4 + ENGLISH * 4
    labels = CLD2.look([document(text)])
    assert labels["reliable"] == [1.0]
    (english,) = labels["in_en"]
    assert isinstance(english, list)
    start, end, _ = english[-1]
    assert abs(start - text.index("All human")) < 10
    assert end <= len(text)
    assert {"share_en", "share_el"} <= labels.keys()


@pytest.mark.parametrize("refused", ["\0", "\x1c", "\x7f", "\x85", "\ud800", "\ufdd0", "\ufffe", "\U0010ffff"])
def test_what_cld2_refuses_is_read_as_a_space(refused: str) -> None:
    assert tag(document(refused + ENGLISH)) == tag(document(" " + ENGLISH))


def test_angle_brackets_are_text() -> None:
    assert tag(document(f"<{ENGLISH * 2}>"))["share_en"] == pytest.approx(0.99)


def test_texts_by_hand_are_no_errors() -> None:
    texts = [*edge_texts(), ENGLISH * 2_000, "👪" * 70_000, "x" * 1_000_000]
    labels = CLD2.look([document(text) for text in texts])
    assert len(labels["reliable"]) == len(texts)


def test_a_missing_package_is_named_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycld2", None)
    engine.cache_clear()
    with pytest.raises(RecipeError, match=r"it needs the package pycld2, .*gristmill\[cld2\]"):
        tag(document(ENGLISH))
    engine.cache_clear()
