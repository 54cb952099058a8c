"""The fields that a jq expression reads: never fewer than it does."""

import json

import jq  # type: ignore[import-not-found]
import pytest

from gristmill.dolma.formats.jq_fields import fields_of_jq

ROW = {"id": "1", "text": "abc", "n": 3, "attributes": {"a": [[0, 3, 0.5]], "b": []}}


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (".attributes.a[0][2] < 1", {"attributes"}),
        ("(.attributes.a | map(.[2] * (.[1] - .[0])) | add) / (.text | length) <= 0.6", {"attributes", "text"}),
        ("(.attributes.b // []) | length == 0", {"attributes"}),
        ('.["n"] > 2 and (.missing | not)', {"n", "missing"}),
        (".attributes | .a | length > 0", {"attributes"}),
        ("1 < 2", set()),
        (r'"\(.n)" == "3"', None),
        ("length == 4", None),
        (". | length == 4", None),
        ("(. | .n) > 2", None),
        ("select(.n > 2) | .id", None),
        ("map_values(.) | .n", None),
        (". as $r | .attributes | $r.n > 2", None),
        (".attributes | [.a, .b] | length == 2", None),
    ],
)
def test_fields(text: str, fields: set[str] | None) -> None:
    found = fields_of_jq(text)
    assert found == fields
    part = ROW if found is None else {key: ROW[key] for key in found & ROW.keys()}
    assert jq.all(text, text=json.dumps(part)) == jq.all(text, text=json.dumps(ROW))
