from pathlib import Path

from talklake import build, mix_of, row, rows_of, started

from gristmill.recipes.row_format import Prebuilt


def test_prebuilt_rows_are_taken_over_and_what_is_wrong_with_one_is_said(tmp_path: Path) -> None:
    mill = started(
        tmp_path / "lake",
        row(0, {"ids": [1, 2, 3, 4], "w": [1, 0.5, 0, 2]}),
        row(1, {"ids": [1, 2, 3], "w": [1, 1, 1]}),
        row(2, {"ids": [1, 2, 3, 258], "w": [1, 1, 1, 1]}),
        row(3, {"ids": [1, 2, 3, 4], "w": [1, 1, 1]}),
        row(4, {"ids": [1, 2, 3, "4"], "w": [1, 1, 1, 1]}),
        row(5, {"w": [1]}),
        row(6, {"ids": [5, 6, 7, 8], "w": [0, 0, 0, 1]}),
        row(7, {"ids": [-1, 6, 7, 8], "w": [0, 0, 0, 1]}),
        row(8, {"ids": [1, 6, 7, 8], "w": [0, 0, 0, 1e39]}),
        row(9, {"ids": [1, 6, 7, 8], "w": None}),
        row(10, {"ids": [1, 6, 7, 8], "w": [0, 0, 0, 10**400]}),
    )
    declared = Prebuilt(input_ids_key="ids", loss_weights_key="w", length=4, on_trouble="drop")
    made = build(mill, mix_of(declared, parts=1))
    assert made.dropped == {
        "wrong number of token ids": 1,
        "token ids outside the vocabulary": 2,
        "token ids are not integers": 1,
        "no token ids": 1,
        "no loss weights": 1,
        "wrong number of loss weights": 1,
        "loss weights out of range": 2,
    }
    assert rows_of(mill) == [{"ids": [1, 2, 3, 4], "w": [1, 0.5, 0, 2]}, {"ids": [5, 6, 7, 8], "w": [0, 0, 0, 1]}]
