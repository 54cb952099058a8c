"""The fields of written rows."""

import json
from typing import Any

import numpy as np
import pytest
from marked import PATH, edited, row
from streams import stream

from gristmill.errors import MalformedRow
from gristmill.lake.address import documents_asset, place
from gristmill.lake.store.open import Lake
from gristmill.recipes.edits.edit import Edit
from gristmill.stages.mixing.row_filter import RowFilter

METADATA = b'{"url":"u", "n":1e0,"inner":{"a":1, "b":[2]}}'
LINE = b'{"id":"d1", "metadata": ' + METADATA + b' ,"created":null,"source":"pages","text":"x"}'


def written(line: bytes, **options: Any) -> bytes:
    return edited([line], [{"email": [[0, 1, 0.5]]}], **options).kept()[0].rstrip(b"\n")


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
    found = json.loads(block.kept()[0])
    assert found["metadata"].pop("origin") == origin
    assert found == json.loads(LINE)
    bare = json.loads(edited([json.dumps(row("x")).encode()], [{}], first=7, origin=True).kept()[0])
    assert bare["metadata"] == {"origin": origin}


def test_labels_are_merged_beside_attributes_that_are_there() -> None:
    line = json.dumps(row("xyz", attributes={"old__a": [[0, 1, 1]], "pii-1__email": []})).encode()
    merged = json.loads(written(line, merge=("pii-1",)))
    assert merged["attributes"] == {"old__a": [[0, 1, 1]], "pii-1__email": [[0, 1, 0.5]]}


def test_a_scalar_is_merged_as_a_span_of_the_whole_text() -> None:
    line = json.dumps(row("xyz")).encode()
    merged = json.loads(edited([line], [{"score": 0.5}], merge=("pii-1",)).kept()[0])
    assert merged["attributes"] == {"pii-1__score": [[0, 3, 0.5]]}


OURS = {"source": "pages", "version": "v0", "snapshot": "2024", "shard": "a", "row": 0}
EARLIER = {**OURS, "version": "v1", "row": 3}


@pytest.mark.parametrize(
    ("fields", "options", "taken"),
    [
        ({"metadata": {"origin": {"book": "raw"}}}, {"origin": True}, "metadata.origin"),
        ({"metadata": {"origin": None}}, {"origin": True}, "metadata.origin"),
        ({"metadata": "words"}, {"origin": True}, "metadata"),
        ({"attributes": {"pii-1__email": [[0, 2, 99]]}}, {"merge": ("pii-1",)}, "attributes.pii-1__email"),
    ],
)
def test_a_field_that_would_be_written_over_is_an_error_and_may_be_left_out(
    fields: dict[str, Any], options: dict[str, Any], taken: str
) -> None:
    line = json.dumps(row("xyz", **fields)).encode()
    with pytest.raises(MalformedRow) as error:
        edited([line], [{"email": [[0, 1, 0.5]]}], first=7, **options)
    assert str(error.value) == (
        f"{PATH}: row 7: it has a field {taken} of its own, which the recipe would write over"
        f' (leave it out: discard=("{taken}",); or take origin= or merge= off the recipe)'
    )
    assert json.loads(written(line, discard=(taken,), **options)) == json.loads(
        written(json.dumps(row("xyz")).encode(), **options)
    )


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"metadata": {"origin": EARLIER}}, {"origin": True}),
        ({"metadata": {"origin": OURS}}, {"origin": True}),
        ({"metadata": None}, {"origin": True}),
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


def test_finished_rows_that_were_written_over_are_made_again_as_they_are() -> None:
    line = json.dumps(row("xyz", metadata={"origin": "theirs", "n": 1})).encode()
    where = place(documents_asset("pages", "v0"), "2024")
    chosen = [np.array([True])]
    rows = RowFilter(Lake("/nowhere").store(), where, stream(origin=True), [], chosen=lambda _: chosen.pop())
    (made,) = rows.decide(line + b"\n", {}, PATH, 0, {}, "a").kept()[0].splitlines()
    assert json.loads(made)["metadata"] == {"origin": OURS, "n": 1}


def test_fields_are_shaped_after_the_edits() -> None:
    counts: dict[str, int] = {}
    block = edited(
        [LINE],
        [{"email": [[0, 1, 1]]}],
        counts,
        edits=(Edit(spans="pii-1__email", mask="*"),),
        discard=("metadata", "created"),
    )
    assert block.kept()[0] == b'{"id":"d1","source":"pages","text":"*"}\n'
    assert counts["rows changed"] == 1
