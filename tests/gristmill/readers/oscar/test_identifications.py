import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oscarlines import as_written, make_line, real_lines

from gristmill.errors import DataError
from gristmill.formats.oscar.rows import OscarRows
from gristmill.formats.oscar.schema import line_count
from gristmill.lake.rows.attribute import exact_spans
from gristmill.lake.rows.document import Document
from gristmill.readers.oscar.identifications import identification_labels, identifications_of, line_spans


def document(text: str, **oscar: Any) -> Document:
    return Document(id="a", text=text, source="oscar", metadata={"oscar": oscar})


def written(labels: dict[str, Any]) -> dict[str, Any]:
    """Labels as a row of an attribute set has them, read again."""
    rows = {k: exact_spans(v if isinstance(v, list) else [(0, 0, v)]) for k, v in labels.items() if v is not None}
    again: dict[str, Any] = json.loads(json.dumps(rows))
    return again


def read(line: bytes) -> Document:
    return msgspec.json.decode(OscarRows("oscar", "22.01").row(line).row, type=Document)


def test_every_identification_of_the_real_lines_comes_back() -> None:
    count = 0
    for line in real_lines():
        made = read(line)
        labels = identification_labels(made)
        found = identifications_of(made.text, written(labels))
        assert found == json.loads(line)["metadata"]["sentence_identifications"]
        count += sum(each is not None for each in found or ())
    assert count > 1000


def test_a_line_is_a_span_of_code_points_without_its_end() -> None:
    made = read(as_written(make_line()))
    assert identification_labels(made) == {
        "line_count": 4.0,
        "de": [(0, 16, 0.8), (24, 24, 0.8 + 2 / 64), (25, 36, 0.8 + 3 / 64)],
    }
    assert made.text[25:36] == "Viktor\u2028quer"  # U+2028 ends no line; the second line is null


ENTRY = st.none() | st.builds(
    lambda label, prob: {"label": label, "prob": prob},
    st.sampled_from(["en", "EN", "x-eml", "entries"]),
    st.floats(0, 1.001) | st.sampled_from([0, 1]),
)


@st.composite
def identified(draw: st.DrawFn) -> tuple[str, list[Any]]:
    text = draw(st.text(st.sampled_from("ab\n\r\u2028\x85\v\f\x1c😀é"), max_size=30))
    count = line_count(text)
    return text, draw(st.lists(ENTRY, min_size=count, max_size=count))


@settings(max_examples=60)
@given(identified())
def test_no_identification_is_lost_on_the_way(case: tuple[str, list[Any]]) -> None:
    text, entries = case
    spans = line_spans(text)
    assert len(spans) == len(entries) == line_count(text)
    assert [text[start:end] for start, end in spans] == [
        line.removesuffix("\r") if ended else line
        for line, ended in zip(
            text.split("\n")[: len(entries)], [True] * text.count("\n") + [False] * len(entries), strict=False
        )
    ]
    labels = identification_labels(document(text, sentence_identifications=entries))
    assert repr(identifications_of(text, labels)) == repr(entries)  # 1 is not 1.0
    assert identifications_of(text, written(labels)) == entries


def test_null_absent_and_empty_are_three_things() -> None:
    null = identification_labels(document("", sentence_identifications=None))
    empty = identification_labels(document("", sentence_identifications=[]))
    absent = identification_labels(document("", annotation=None))
    assert (null, empty, absent) == ({"line_count": -1.0}, {"line_count": 0.0}, {})
    assert identifications_of("", null) is None
    assert identifications_of("", empty) == []
    with pytest.raises(DataError, match="no label line_count"):
        identifications_of("", absent)
    assert identification_labels(Document(id="a", text="b", source="s")) == {}


def test_an_edited_text_has_no_identifications() -> None:
    made = read(as_written(make_line()))
    edits = [made.text + "\nmore", made.text.replace("V", "W")]
    for text in edits:
        labels = identification_labels(msgspec.structs.replace(made, text=text))
        assert labels == {"line_count": 4.0, "other_lines": 1.0}
        with pytest.raises(DataError, match="the text was edited"):
            identifications_of(text, labels)
