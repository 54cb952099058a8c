import pytest
from testkit import Mill, notes

from gristmill.errors import DataError


def test_a_converter_that_raises_names_the_raw_object(mill: Mill) -> None:
    notes(mill, "a text", "b !raise")
    with pytest.raises(
        DataError,
        match=r"sources/notes/raw/2024/a\.txt: the converter failed \(KeyError: 'b', at /.*/notes\.py, line 23\)",
    ):
        mill.convert("notes")
    assert [path for path in mill.tree() if "/documents/" in path and path.endswith(".jsonl.gz")] == []


@pytest.mark.parametrize(
    ("word", "wrong"),
    [
        ("!set", r"metadata\.a is a set, which has no order; give a sorted list"),
        ("!nan", r"metadata\.a\[1\] is nan; give a number or None"),
        ("!bytes", r"metadata\.a\.b is bytes; give a string, such as value\.decode\(\) or value\.hex\(\)"),
    ],
)
def test_metadata_that_json_does_not_have_name_the_converter_the_row_and_the_key(
    mill: Mill, word: str, wrong: str
) -> None:
    notes(mill, "a text", f"b {word}")
    where = r"sources/notes/raw/2024/a\.txt: row 1, id 'b'"
    with pytest.raises(DataError, match=rf"{where}: {wrong}, in the converter \(/.*/notes\.py, line \d+\)"):
        mill.convert("notes")


def test_metadata_of_too_many_levels_are_refused_row_by_row(mill: Mill) -> None:
    notes(mill, "a text", "b !deep")
    ledger = mill.convert("notes")
    assert (ledger.totals["rows"], ledger.dropped) == (1, {"quarantine: nested too deeply": 1})
