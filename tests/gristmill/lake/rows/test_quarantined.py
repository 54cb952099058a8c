from collections.abc import Iterator

from gristmill.lake.rows.quarantined import QuarantinedRow, first_of_each_reason


def test_a_place_has_what_is_known_and_no_word_of_the_row() -> None:
    assert QuarantinedRow("r", "text", "a row 1: text").place == ""
    assert QuarantinedRow("r", "text", "w", file="a.jsonl", row=0, offset=0).place == "a.jsonl, row 0, byte 0"
    assert QuarantinedRow("r", "text", "w", file="a.zip", member="b.md", id="7").place == "a.zip, member b.md, id 7"
    assert len(QuarantinedRow("r", "text", "w", file="f" * 999, member="m" * 999, id="i" * 999).place) < 400


def test_the_first_row_of_each_reason_is_found_and_no_further_row_is_read() -> None:
    def rows() -> Iterator[QuarantinedRow]:
        for number, reason in enumerate(["a", "c", "a", "b"]):
            yield QuarantinedRow(reason, "", "", row=number)
        raise LookupError

    found = first_of_each_reason(rows(), ["b", "a"])
    assert {reason: row.row for reason, row in found.items()} == {"a": 0, "b": 3}
    assert first_of_each_reason(rows(), []) == {}
