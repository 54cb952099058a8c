import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oscarlines import as_written, make_line, real_lines

from gristmill.errors import RecipeError
from gristmill.formats.oscar.compose import language_label_of_line, line_of_document
from gristmill.formats.oscar.rows import OscarRow, OscarRows
from gristmill.formats.oscar.schema import LineError
from gristmill.lake.rows.document import Document

ROWS = {"22.01": OscarRows("oscar", "22.01"), "23.01": OscarRows("oscar", "23.01")}


def document(row: OscarRow) -> Document:
    return msgspec.json.decode(row.row, type=Document)


def returned(line: bytes, schema: str = "22.01") -> tuple[Document, OscarRow]:
    """The document of a line, after a proof that composing it gives the line's bytes."""
    row = ROWS[schema].row(line)
    made = document(row)
    assert line_of_document(made) == (line, "original")
    assert made.id == row.id
    return made, row


def test_every_real_line_comes_back_byte_for_byte() -> None:
    lines = real_lines()
    assert len(lines) == 28
    for line in lines:
        made, row = returned(line)
        value = json.loads(line)
        assert (made.text, made.id) == (value["content"], value["warc_headers"]["warc-record-id"])
        assert row.remarks == ()
        assert msgspec.json.encode(made) == row.row


@pytest.mark.parametrize("schema", ["22.01", "23.01"])
def test_a_line_becomes_a_document_without_a_loss(schema: str) -> None:
    value = make_line(7, schema)
    made, row = returned(as_written(value), schema)
    assert made == Document(
        id="<urn:uuid:00000007>",
        text=value["content"],
        source="oscar",
        created="2021-09-16T11:07:14Z",
        metadata={
            "url": "https://example.org/7",
            "language": "de",
            "warc_headers": value["warc_headers"],
            "oscar": value["metadata"],
            "oscar_line": made.metadata["oscar_line"] if isinstance(made.metadata, dict) else None,
        },
    )
    assert row.remarks == ()


def kept(made: Document) -> set[str]:
    assert isinstance(made.metadata, dict)
    return set(made.metadata["oscar_line"]) - {"text_xxh3"}


LINE = as_written(make_line())


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        (LINE[:-1] + b" }", {"before", "after"}),
        (b" " + LINE + b"\r", {"before", "after"}),
        (LINE.replace(b"1.000088", b"1.0000880"), {"before", "after"}),
        (LINE.replace(b"1.000088", b"1"), set()),
        (LINE.replace(b"1.000088", b"1e0"), {"before", "after"}),
        (LINE.replace(b"de", b"d\\u0065"), {"before", "after"}),
        (LINE.replace(b"quer", b"qu\\u0065r"), {"whole"}),
        (LINE.replace(b"quer", b"\\u0000"), set()),
        (json.dumps(make_line()).encode(), {"whole"}),
        (LINE.replace(b'"annotation":["tiny"]', b'"annotation":null'), set()),
        (LINE.replace(b'"annotation":["tiny"]', b'"annotation":[]'), set()),
        (LINE.replace(b'"annotation":["tiny"],', b""), set()),
        (LINE[:-1] + b',"more":[1.50]}', {"before", "after"}),
        (LINE[:-1] + b',"more":[1.5,null,18446744073709551616]}', set()),
        (LINE.replace(b'"annotation":', b'"note":"","annotation":'), set()),
        (b'{"more":0,' + LINE[1:], {"before", "after"}),
    ],
)
def test_the_bytes_of_a_line_are_kept_only_where_they_are_needed(line: bytes, keys: set[str]) -> None:
    made, row = returned(line)
    assert kept(made) == keys
    assert ("line kept verbatim" in row.remarks) == bool(keys)


def test_the_order_of_other_keys_is_kept_in_the_bytes() -> None:
    value = make_line()
    turned = {key: value[key] for key in reversed(value)}
    assert kept(returned(as_written(turned))[0]) == {"before", "after"}
    value["metadata"] = {key: value["metadata"][key] for key in reversed(value["metadata"])}
    assert kept(returned(as_written(value))[0]) == set()


def test_extra_keys_are_kept_and_counted_with_their_paths() -> None:
    value = make_line(note="x") | {"more": {"a": 1}}
    made, row = returned(as_written(value))
    assert row.remarks == ("extra key $.metadata.note", "extra key $.more")
    assert isinstance(made.metadata, dict)
    assert made.metadata["oscar_extra"] == {"more": {"a": 1}}
    assert made.metadata["oscar"]["note"] == "x"


def test_labels_that_are_not_published_are_kept_and_counted() -> None:
    value = make_line(identification={"label": "ZZZ", "prob": 1.0})
    made, row = returned(as_written(value))
    assert row.remarks == ("unknown label zzz",)
    assert language_label_of_line(made) == "ZZZ"
    assert ROWS["22.01"].row(as_written(make_line(identification={"label": "Multi", "prob": 0.5}))).remarks == ()


def test_the_language_is_the_tag_and_the_label_stays_as_it_was() -> None:
    made, _ = returned(as_written(make_line(identification={"label": "als", "prob": 1.0})))
    assert isinstance(made.metadata, dict)
    assert (made.metadata["language"], language_label_of_line(made)) == ("gsw", "als")


def test_a_line_without_a_record_id_has_the_digest_of_its_bytes_as_id() -> None:
    value = make_line()
    value["warc_headers"] = {}
    made, _ = returned(as_written(value))
    assert made.id.startswith("sha256:")
    assert made.created is msgspec.UNSET
    assert returned(as_written(value))[0].id == made.id
    assert returned(as_written(value | {"content": "Zwölf\n\n\n."}))[0].id != made.id
    value["warc_headers"] = {"warc-record-id": ""}
    assert returned(as_written(value))[0].id not in {made.id, ""}


def test_added_is_written_if_it_is_given() -> None:
    rows = OscarRows("oscar", "22.01", "2022-01-10")
    for line in (LINE, LINE + b" "):
        made = document(rows.row(line))
        assert made.added == "2022-01-10"
        assert line_of_document(made).line == line


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "empty line"),
        (LINE[:-1], "invalid JSON"),
        (LINE[:-1] + b',"more":"\xff"}', "not UTF-8"),
        (LINE[:-1] + b',"more":"\\ud800"}', "lone surrogate"),
        (LINE[:-1] + b',"more":1e999}', "number out of range"),
        (LINE[:-1] + b',"more":' + b"[" * 990 + b"]" * 990 + b"}", "nested too deeply"),
        (LINE[:-1] + b',"more":' + b"[" * 5000 + b"]" * 5000 + b"}", "nested too deeply"),
        (LINE.replace(b"<urn", b"<\\u0000urn"), "NUL in id"),
    ],
)
def test_what_the_schema_does_not_see_is_refused_as_well(line: bytes, reason: str) -> None:
    with pytest.raises(LineError) as error:
        ROWS["22.01"].row(line)
    assert error.value.reason == reason


def test_an_unknown_schema_is_an_error_of_the_recipe() -> None:
    with pytest.raises(RecipeError, match=r"no schema '2\.0'"):
        OscarRows("oscar", "2.0")  # type: ignore[arg-type]


numbers = st.floats(0, 1, width=32) | st.sampled_from([0, 1, 1.0, 1e-7, 1.2e-05])
plain = st.none() | st.booleans() | numbers | st.text(max_size=3) | st.integers(-(2**70), 2**70)
entries = st.none() | st.fixed_dictionaries({"label": st.sampled_from(["en", "x-eml", "Zh"]), "prob": numbers})


@st.composite
def any_line(draw: st.DrawFn) -> bytes:
    content = draw(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12))
    count = content.count("\n") + (content[-1:] not in {"", "\n"})
    identifications = draw(st.lists(entries, min_size=count, max_size=count))
    value: dict[str, Any] = make_line(content=content, sentence_identifications=identifications)
    value["metadata"] |= draw(st.dictionaries(st.sampled_from(["x", "y"]), plain, max_size=1))
    value |= draw(st.dictionaries(st.sampled_from(["x", "y"]), st.lists(plain, max_size=2), max_size=1))
    if draw(st.booleans()):
        value["metadata"]["annotation"] = draw(st.none() | st.lists(st.text(max_size=2), max_size=2))
    compact = draw(st.booleans())
    return json.dumps(
        value, ensure_ascii=draw(st.booleans()), separators=(",", ":") if compact else None, indent=None
    ).encode()


@settings(max_examples=60)
@given(any_line())
def test_any_valid_line_comes_back_byte_for_byte(line: bytes) -> None:
    returned(line)


def test_a_line_that_has_a_key_twice_is_refused() -> None:
    line = as_written(make_line())
    with pytest.raises(LineError, match=r"^a key twice: \$\.metadata\.annotation$"):
        OscarRows("oscar", "22.01").row(LINE.replace(b'"annotation"', b'"annotation":null,"annotation"'))
    with pytest.raises(LineError, match=r"^a key twice: \$\.content$"):
        OscarRows("oscar", "22.01").row(b'{"content":"x",' + line[1:])
