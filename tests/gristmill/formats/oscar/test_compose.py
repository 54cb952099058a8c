import json
from typing import Any

import msgspec
import pytest
from oscarlines import as_written, make_line, real_lines

from gristmill.formats.oscar.compose import (
    DAMAGED,
    OTHER_ID,
    changed_metadata_counter,
    compose_line,
    language_label_of_line,
    line_of_document,
    text_digest,
)
from gristmill.formats.oscar.labels import Schema
from gristmill.formats.oscar.rows import OscarRows
from gristmill.lake.rows.document import Document

edit = msgspec.structs.replace


def read(value: dict[str, Any], schema: Schema = "22.01") -> Document:
    row = OscarRows("oscar", schema).row(as_written(value)).row
    return msgspec.json.decode(row, type=Document)


def valid(line: bytes, schema: Schema) -> dict[str, Any]:
    """The line's value, after a proof that it is valid, has no extra key and comes back."""
    row = OscarRows("oscar", schema).row(line)
    assert [remark for remark in row.remarks if not remark.startswith("unknown label")] == []
    again: dict[str, Any] = json.loads(line)
    return again


@pytest.mark.parametrize("schema", ["22.01", "23.01"])
def test_a_new_document_is_valid_against_the_schema_that_is_asked_for(schema: Schema) -> None:
    metadata = {"url": "https://example.org", "language": "de-AT", "title": "x"}
    document = Document(id="d1", text="Sein,\noder\n", source="plays", created="1603", metadata=metadata)
    composed = line_of_document(document, schema=schema)
    value = valid(composed.line, schema)
    assert composed.kind == "new"
    assert value["content"] == document.text
    assert value["warc_headers"] == {
        "warc-target-uri": "https://example.org",
        "warc-date": "1603",
        "warc-record-id": "d1",
    }
    absent = ["annotation"] if schema == "22.01" else ["harmful_pp", "tlsh", "quality_warnings", "categories"]
    assert value["metadata"] == {
        "identification": {"label": "de-AT", "prob": 1.0},
        **dict.fromkeys(absent),
        "sentence_identifications": [None, None],
    }
    assert OscarRows("plays", schema).row(composed.line).id == "d1"


@pytest.mark.parametrize(
    ("metadata", "identified", "identification"),
    [
        (None, None, ("und", 0.0)),
        ({"language": "no tag"}, None, ("und", 0.0)),
        ({"language": ["en"]}, None, ("und", 0.0)),
        ({"language": "mul"}, None, ("multi", 1.0)),
        ({"language": "en"}, ("nl", 0.75), ("nl", 0.75)),
        ({"language": "en"}, ("../nl", 0.75), ("en", 1.0)),
    ],
)
def test_the_language_of_a_new_document(metadata: Any, identified: Any, identification: tuple[str, float]) -> None:
    document = Document(id="d1", text="", source="plays", metadata=metadata)
    value = json.loads(compose_line(document, identified=identified))
    assert tuple(value["metadata"]["identification"].values()) == identification
    assert value["metadata"]["sentence_identifications"] == []
    assert language_label_of_line(document, identified) == identification[0]


def test_the_headers_of_another_reader_are_taken_if_they_are_strings() -> None:
    headers: dict[str, object] = {"warc-record-id": "<1>", "content-length": "5"}
    document = Document(id="d1", text="a", source="crawl", metadata={"warc_headers": headers})
    assert valid(compose_line(document), "22.01")["warc_headers"] == headers
    headers["content-length"] = 5
    assert valid(compose_line(document), "22.01")["warc_headers"] == {"warc-record-id": "d1"}


@pytest.mark.parametrize("schema", ["22.01", "23.01"])
@pytest.mark.parametrize("text", ["", "Zwölf", "Zwölf\n\n\nquer."])
def test_an_edited_text_has_null_lines_and_no_old_hash(schema: Schema, text: str) -> None:
    before = make_line(3, schema, **({"tlsh": "tlsh:T1"} if schema == "23.01" else {}))
    document = edit(read(before, schema), text=text)
    composed = line_of_document(document)
    value = valid(composed.line, schema)
    assert composed.kind == "edited"
    nulls: dict[str, object] = {"sentence_identifications": [None] * text.count("\n") + [None] * bool(text)}
    nulls |= {"tlsh": None} if schema == "23.01" else {}
    assert value == before | {"content": text, "metadata": before["metadata"] | nulls}
    assert language_label_of_line(document) == "de"


def test_an_edited_text_may_be_identified_again() -> None:
    document = edit(read(make_line()), text="To be.")
    value = valid(compose_line(document, identified=("en", 0.9)), "22.01")
    assert value["metadata"]["identification"] == {"label": "en", "prob": 0.9}
    assert language_label_of_line(document, ("en", 0.9)) == "en"


def test_an_original_keeps_its_language_whatever_a_model_says() -> None:
    document = read(make_line())
    assert line_of_document(document, identified=("en", 0.9)) == (as_written(make_line()), "original")
    assert language_label_of_line(document, ("en", 0.9)) == "de"


def test_an_edit_never_shows_the_bytes_that_were_kept() -> None:
    for line in (as_written(make_line()) + b" ", json.dumps(make_line()).encode()):
        row = OscarRows("oscar", "22.01").row(line).row
        document = edit(msgspec.json.decode(row, type=Document), text="removed")
        assert b"Viktor" not in compose_line(document)
        if line.endswith(b" "):  # the text is not a second time in the metadata
            assert b"Viktor" not in msgspec.json.encode(document.metadata)


def test_one_changed_letter_is_an_edit_although_the_lines_are_as_many() -> None:
    document = read(make_line())
    assert line_of_document(edit(document, text=document.text.replace("V", "W"))).kind == "edited"
    assert text_digest("a") != text_digest("b")


def test_without_a_digest_the_number_of_lines_tells_an_edit() -> None:
    document = read(make_line())
    assert isinstance(document.metadata, dict)
    del document.metadata["oscar_line"]
    assert line_of_document(document) == (as_written(make_line()), "original")
    assert line_of_document(edit(document, text="a")).kind == "edited"


@pytest.mark.parametrize(
    "metadata",
    [
        {"oscar": {"won": 3}},
        {"oscar": {"identification": {"label": "../en"}, "sentence_identifications": [None]}},
        {"oscar": {"identification": {"label": "en"}, "sentence_identifications": [None]}, "oscar_line": "x"},
    ],
)
def test_a_document_with_other_keys_of_these_names_is_new(metadata: dict[str, Any]) -> None:
    document = Document(id="a", text="To be.", source="films", metadata={**metadata, "language": "de"})
    composed = line_of_document(document)
    assert (composed.kind, language_label_of_line(document)) == ("new", "de")
    assert composed == line_of_document(Document(id="a", text="To be.", source="films", metadata={"language": "de"}))


@pytest.mark.parametrize(
    "kept",
    [
        {"whole": '{"content":"OLD"}'},
        {"whole": '{"content":"OLD"}', "text_xxh3": text_digest("To be.")},
        {"before": "garbage \n ", "text_xxh3": text_digest("To be.")},
    ],
)
def test_kept_bytes_that_say_something_else_are_not_written(kept: dict[str, str]) -> None:
    oscar = {"identification": {"label": "en", "prob": 1.0}, "sentence_identifications": [None]}
    composed = line_of_document(
        Document(id="a", text="To be.", source="s", metadata={"oscar": oscar, "oscar_line": kept})
    )
    assert composed.kind == "edited"
    assert composed.line.startswith(b'{"content":"To be.","warc_headers":{},"metadata":{"identification"')


def test_the_real_lines_edited_are_valid() -> None:
    for line in real_lines():
        row = OscarRows("oscar", "22.01").row(line).row
        document = msgspec.json.decode(row, type=Document)
        valid(compose_line(edit(document, text=document.text[: len(document.text) // 2])), "22.01")


def test_changed_metadata_of_oscar_are_told() -> None:
    oscar = {"identification": {"label": "en", "prob": 1.0}, "sentence_identifications": [None]}
    kept = {"text_xxh3": text_digest("a")}
    whole = {"warc_headers": {"warc-record-id": "d1"}, "oscar": oscar, "oscar_line": kept}
    for id_, metadata, expected in (
        ("d1", whole, ("original", None)),
        ("d2", whole, ("original", OTHER_ID)),
        ("d1", {**whole, "oscar": {"identification": "en"}}, ("new", DAMAGED)),
        ("d1", {"url": "http://a.example"}, ("new", None)),
    ):
        document = Document(id=id_, text="a", source="s", metadata=metadata)
        kind = line_of_document(document).kind
        assert (kind, changed_metadata_counter(document, kind)) == expected
