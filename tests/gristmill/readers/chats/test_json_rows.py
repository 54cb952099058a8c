"""Lines of JSON as objects."""

from pathlib import Path

from talklake import talk_file

from gristmill.readers.chats.json_rows import JsonRow, json_rows
from gristmill.recipes.raw_object import Refused


def test_every_line_is_an_object_or_is_refused_with_its_reason(tmp_path: Path) -> None:
    lines = [b'{"a": 12345678901234567890123}', b"{'a': 1}", b"", b"[1]", b'{"a": 1e999}', b"[" * 5000, b'{"a": 1,}']
    found = list(json_rows(talk_file(tmp_path, "a.jsonl", b"\n".join(lines))))
    assert found[0] == JsonRow({"a": 12345678901234567890123}, "a.jsonl row 0", lines[0])
    reasons = [each.reason for each in found if isinstance(each, Refused)]
    assert reasons == [
        "invalid JSON",
        "empty line",
        "not an object",
        "number out of range",
        "nested too deeply",
        "invalid JSON",
    ]
    assert all(each.where.startswith(f"a.jsonl row {number}") for number, each in enumerate(found))


def test_a_row_is_refused_with_its_bytes() -> None:
    row = JsonRow({}, "a.jsonl row 3", b"{}")
    assert row.refused("no turn") == Refused("no turn", "a.jsonl row 3", b"{}")
    assert row.refused("no turn", "why") == Refused("no turn", "a.jsonl row 3 (why)", b"{}")
