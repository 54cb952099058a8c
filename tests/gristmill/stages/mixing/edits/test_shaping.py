"""The fields of written rows."""

import json
from typing import Any

import pytest
from marked import edited, row

from gristmill.recipes.edits.edit import Edit

METADATA = b'{"url":"u", "n":1e0,"inner":{"a":1, "b":[2]}}'
LINE = b'{"id":"d1", "metadata": ' + METADATA + b' ,"created":null,"source":"pages","text":"x"}'


def written(line: bytes, **options: Any) -> bytes:
    return edited([line], [{"email": [[0, 1, 0.5]]}], **options).kept_rows()[0].rstrip(b"\n")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"discard": ("metadata.inner.a", "created")},
            b'{"id":"d1","metadata":{"url":"u","n":1e0,"inner":{"b":[2]}},"source":"pages","text":"x"}',
        ),
        ({"discard": ("metadata", "metadata.url")}, b'{"id":"d1","created":null,"source":"pages","text":"x"}'),
        ({"discard": ("nothing", "metadata.n.x", "created.year")}, LINE),
        ({"keep": ("metadata.inner.b",)}, b'{"id":"d1","metadata":{"inner":{"b":[2]}},"source":"pages","text":"x"}'),
        ({"keep": ("metadata", "created")}, LINE),
        ({"keep": ("created",)}, b'{"id":"d1","created":null,"source":"pages","text":"x"}'),
    ],
)
def test_values_that_stay_keep_their_bytes_and_a_row_without_a_change_is_copied(
    options: dict[str, object], expected: bytes
) -> None:
    assert written(LINE, **options) == expected


def test_the_origin_names_the_row_that_was_read() -> None:
    origin = {"source": "pages", "version": "v0", "snapshot": "2024", "shard": "a", "row": 7}
    block = edited([LINE], [{}], first=7, origin=True)
    found = json.loads(block.kept_rows()[0])
    assert found["metadata"].pop("origin") == origin
    assert found == json.loads(LINE)
    bare = json.loads(edited([json.dumps(row("x")).encode()], [{}], first=7, origin=True).kept_rows()[0])
    assert bare["metadata"] == {"origin": origin}


def test_labels_are_merged_beside_attributes_that_are_there() -> None:
    line = json.dumps(row("xyz", attributes={"old__a": [[0, 1, 1]], "pii-1__email": []})).encode()
    merged = json.loads(written(line, merge=("pii-1",)))
    assert merged["attributes"] == {"old__a": [[0, 1, 1]], "pii-1__email": [[0, 1, 0.5]]}


def test_a_scalar_is_merged_as_a_span_of_the_whole_text() -> None:
    line = json.dumps(row("xyz")).encode()
    merged = json.loads(edited([line], [{"score": 0.5}], merge=("pii-1",)).kept_rows()[0])
    assert merged["attributes"] == {"pii-1__score": [[0, 3, 0.5]]}


OURS = {"source": "pages", "version": "v0", "snapshot": "2024", "shard": "a", "row": 0}
EARLIER = {**OURS, "version": "v1", "row": 3}


@pytest.mark.parametrize(
    ("fields", "options", "taken"),
    [
        ({"metadata": {"origin": {"book": "raw"}}}, {"origin": True}, "metadata.origin"),
        ({"metadata": "words"}, {"origin": True}, "metadata"),
        ({"attributes": {"pii-1__email": [[0, 2, 99]]}}, {"merge": ("pii-1",)}, "attributes"),
    ],
)
def test_a_field_that_is_written_over_is_counted_and_may_be_left_out(
    fields: dict[str, Any], options: dict[str, Any], taken: str
) -> None:
    line = json.dumps(row("xyz", **fields)).encode()
    counts: dict[str, int] = {}
    block = edited([line, line], [{"email": [[0, 1, 0.5]]}] * 2, counts, **options)
    assert {name: n for name, n in counts.items() if name.startswith("written")} == {f"written over: {taken}": 2}
    plain = json.loads(written(json.dumps(row("xyz")).encode(), **options))
    made = [json.loads(each) for each in block.kept_rows()[0].splitlines()]
    assert [{key: value for key, value in each.items() if key != "metadata"} for each in made] == [
        {key: value for key, value in plain.items() if key != "metadata"}
    ] * 2
    left_out: dict[str, int] = {}
    [row_of] = (
        edited([line], [{"email": [[0, 1, 0.5]]}], left_out, discard=(taken,), **options).kept_rows()[0].splitlines()
    )
    assert json.loads(row_of) == plain
    assert not any(name.startswith("written") for name in left_out)


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"metadata": {"origin": EARLIER}}, {"origin": True}),
        ({"metadata": {"origin": OURS}}, {"origin": True}),
        ({"metadata": None}, {"origin": True}),
        ({"metadata": []}, {"origin": True}),
        ({"metadata": {"origin": None}}, {"origin": True}),
        ({"attributes": {"pii-1__email": [[0, 1, 0.5]]}}, {"merge": ("pii-1",)}),
        ({"attributes": None}, {"merge": ("pii-1",)}),
    ],
)
def test_an_origin_of_an_earlier_version_and_equal_labels_are_written_again(
    fields: dict[str, Any], options: dict[str, Any]
) -> None:
    found, plain = (
        json.loads(written(json.dumps(each).encode(), **options)) for each in (row("xyz", **fields), row("xyz"))
    )
    assert found == plain


def test_fields_are_shaped_after_the_edits() -> None:
    counts: dict[str, int] = {}
    block = edited(
        [LINE],
        [{"email": [[0, 1, 1]]}],
        counts,
        edits=(Edit(spans="pii-1__email", mask="*"),),
        discard=("metadata", "created"),
    )
    assert block.kept_rows()[0] == b'{"id":"d1","source":"pages","text":"*"}\n'
    assert counts["rows changed"] == 1
