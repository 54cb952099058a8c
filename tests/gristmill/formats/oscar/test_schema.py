import json
from typing import Any

import msgspec
import pytest

from gristmill.errors import RecipeError
from gristmill.formats.oscar.labels import Schema
from gristmill.formats.oscar.schema import (
    TOLERANCE,
    LineError,
    check_line,
    check_schema,
    extra_keys,
    invalid_line_reason,
    language_labels_of_line,
    line_decoder,
    new_metadata,
)


def line(**changes: Any) -> dict[str, Any]:
    """A valid line of both schemas. A change's name is a path joined by `__`; `...` removes the key."""
    value: dict[str, Any] = {
        "content": "a\nb",
        "warc_headers": {"warc-record-id": "<urn:uuid:1>"},
        "metadata": new_metadata("22.01", "en", 0.9, 2),
    }
    for path, change in changes.items():
        at: Any = value
        *above, last = path.split("__")
        for key in above:
            at = at[int(key)] if isinstance(at, list) else at[key]
        if change is ...:
            del at[last]
        else:
            at[int(last) if isinstance(at, list) else last] = change
    return value


def problem(data: bytes, schema: Schema = "22.01") -> LineError | None:
    try:
        decoded = line_decoder(schema).decode(data)
        check_line(decoded, language_labels_of_line(decoded))
    except LineError as error:
        return error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return invalid_line_reason(data, error)
    return None


@pytest.mark.parametrize("schema", ["22.01", "23.01"])
def test_a_line_of_each_schema_is_valid(schema: Schema) -> None:
    made = line(metadata=new_metadata(schema, "en", 1, 2))
    assert problem(json.dumps(made).encode(), schema) is None
    assert extra_keys(made, schema) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"content": ...}, "missing key $.content"),
        ({"warc_headers": ...}, "missing key $.warc_headers"),
        ({"metadata": ...}, "missing key $.metadata"),
        ({"metadata__identification": ...}, "missing key $.metadata.identification"),
        ({"metadata__identification__prob": ...}, "missing key $.metadata.identification.prob"),
        ({"metadata__sentence_identifications": ...}, "missing key $.metadata.sentence_identifications"),
        (
            {"metadata__sentence_identifications__1": {"prob": 1}},
            "missing key $.metadata.sentence_identifications[].label",
        ),
        ({"content": None}, "wrong type at $.content"),
        ({"warc_headers__content-length": 5}, "wrong type at $.warc_headers[...]"),
        ({"metadata__annotation": "tiny"}, "wrong type at $.metadata.annotation"),
        ({"metadata__annotation": ["tiny", None]}, "wrong type at $.metadata.annotation[]"),
        ({"metadata__sentence_identifications": None}, "wrong type at $.metadata.sentence_identifications"),
        ({"metadata__sentence_identifications__0": "en"}, "wrong type at $.metadata.sentence_identifications[]"),
        ({"metadata__identification__prob": "1"}, "wrong type at $.metadata.identification.prob"),
        ({"metadata__identification__prob": 1.1}, "probability out of range at $.metadata.identification.prob"),
        ({"metadata__identification__prob": -0.1}, "probability out of range at $.metadata.identification.prob"),
        ({"metadata__identification__label": "en_US"}, "label is no language tag"),
        ({"metadata__sentence_identifications__1": {"label": "", "prob": 1}}, "label is no language tag"),
        ({"content": "a\nb\nc"}, "lines and identifications differ in number"),
        ({"content": "a\n"}, "lines and identifications differ in number"),
    ],
)
def test_an_invalid_line_has_a_reason_with_its_path(changes: dict[str, Any], reason: str) -> None:
    error = problem(json.dumps(line(**changes)).encode())
    assert error is not None
    assert error.reason == reason


def test_the_detail_names_the_index() -> None:
    wrong = {"label": "e n", "prob": 1}
    assert "$.metadata.sentence_identifications[1].label" in str(
        problem(json.dumps(line(metadata__sentence_identifications__1=wrong)).encode())
    )
    missing = problem(json.dumps(line(metadata__sentence_identifications__1={"prob": 1})).encode())
    assert "$.metadata.sentence_identifications[1]" in str(missing)


VALID = json.dumps(line()).encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty line"),
        (b"  \r", "empty line"),
        (b"[]", "not an object"),
        (b'"a"', "not an object"),
        (VALID[:-1], "invalid JSON"),
        (VALID[:-1] + b",}", "invalid JSON"),
        (VALID.replace(b"null]", b"null,]"), "invalid JSON"),
        (VALID[:-1] + b"} // a comment", "invalid JSON"),
        (b"/* a comment */" + VALID, "invalid JSON"),
        (VALID.replace(b"a\\nb", b"a\tb"), "invalid JSON"),
        (VALID.replace(b"a\\nb", b"\xff\\n"), "not UTF-8"),
        (VALID.replace(b"a\\nb", b"\\ud800\\n"), "lone surrogate"),
        (b'{"x":' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_line_that_is_not_valid_json_is_never_repaired(data: bytes, reason: str) -> None:
    error = problem(data)
    assert error is not None
    assert error.reason == reason


def test_probabilities_are_accepted_a_little_above_one() -> None:
    for prob in (0, 1, 1.000088, 1 + TOLERANCE):
        assert problem(json.dumps(line(metadata__identification__prob=prob)).encode()) is None


def test_labels_are_compared_by_form_in_any_case() -> None:
    for label in ("Multi", "x-eml", "ar-Arab", "fa-AF", "zzz"):
        assert problem(json.dumps(line(metadata__identification__label=label)).encode()) is None


def test_keys_of_another_release_are_extra_keys() -> None:
    made = line(metadata=new_metadata("23.01", "en", 1, 2), more=1)
    assert extra_keys(made, "22.01") == [
        "$.metadata.categories",
        "$.metadata.harmful_pp",
        "$.metadata.quality_warnings",
        "$.metadata.tlsh",
        "$.more",
    ]


def test_an_unknown_schema_lists_the_known_ones() -> None:
    with pytest.raises(RecipeError, match=r"no schema '24\.01'; .*22\.01.*23\.01"):
        check_schema("24.01", "source 'oscar'")
