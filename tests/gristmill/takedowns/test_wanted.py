from pathlib import Path

import pytest

from gristmill.errors import DataError, MalformedRow
from gristmill.takedowns.wanted import Wanted, read_wanted


def test_documents_are_read_with_their_reasons(tmp_path: Path) -> None:
    file = tmp_path / "asked.jsonl"
    file.write_text('{"source":"s","id":"b"}\n\n{"source":"s","id":"a","reason":"asked"}\r\n{"id":"b","source":"t"}')
    found = read_wanted(str(file), "by law")
    assert found == {("s", "b"): "by law", ("s", "a"): "asked", ("t", "b"): "by law"}
    wanted = Wanted(found)
    assert list(wanted.reasons) == [("s", "a"), ("s", "b"), ("t", "b")]
    assert wanted.by_id == {"a": [("s", "a")], "b": [("s", "b"), ("t", "b")]}


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"source":"s"}', '{"source":"s","id":1}', '{"source":"s","id":"\\ud800"}']
)
def test_a_wrong_line_is_named_with_its_file(tmp_path: Path, line: str) -> None:
    file = tmp_path / "asked.jsonl"
    file.write_text(f'{{"source":"s","id":"a"}}\n\n{line}\n')
    with pytest.raises(MalformedRow, match=r"asked\.jsonl: row 2: "):
        read_wanted(str(file))


def test_a_file_that_names_no_document_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(DataError, match="names no document"):
        read_wanted(str(tmp_path / "empty.jsonl"))
    with pytest.raises(DataError, match="cannot be read"):
        read_wanted(str(tmp_path / "absent.jsonl"))
