from pathlib import Path

import pytest
from talklake import talk_file

from gristmill.lake.rows.document import Document
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.raw_object import Refused


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{\n", "invalid JSON"),
        (b"\n", "empty line"),
        (b"[1]\n", "not an object"),
        (b'{"id": true, "text": "t"}\n', "id is no string or number"),
        (b'{"id": "a", "text": "t\\u0000"}\n', "NUL in text or id"),
    ],
)
def test_a_line_that_is_no_row_is_refused_with_its_place(tmp_path: Path, line: bytes, reason: str) -> None:
    good, bad = JsonLines(source="talks")(talk_file(tmp_path, "a.jsonl", b'{"id":"g","text":"t"}\n' + line))
    assert isinstance(good, Document)
    assert isinstance(bad, Refused)
    assert bad.reason == reason
    assert bad.where.startswith("a.jsonl row 1")
