from pathlib import Path

from talklake import build, mix_of, row, rows_of, spelled, started

from gristmill.recipes.row_format import Text


def test_a_text_under_another_key_is_taken_from_the_metadata(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, {"body": "b0"}), row(1, {"body": None}), row(2, {"body": "b2"}))
    made = build(mill, mix_of(Text(text_key="body", on_trouble="keep"), parts=1))
    assert made.totals["kept: no text"] == 1
    assert [spelled(mill, each["input_ids"][:2]) for each in rows_of(mill)] == ["b0", "\u0120<|endoftext|>", "b2"]
