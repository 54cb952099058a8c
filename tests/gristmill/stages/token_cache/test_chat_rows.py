from pathlib import Path

from talklake import TEMPLATE, TROUBLED, build, mix_of, row, rows_of, spelled, started, talk

from gristmill.recipes.row_format import Chat


def test_a_conversation_is_one_row_with_a_mask_over_what_the_assistant_said(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")), row(1, talk("2+2", "4", "ok", "!")))
    made = build(mill, mix_of(Chat(chat_template=TEMPLATE), parts=1))
    assert (made.totals["rows"], made.totals["text bytes"]) == (2, 13 + 19)
    rows = rows_of(mill)
    assert [spelled(mill, each["input_ids"]) for each in rows] == ["u:Hi;a:Hello;", "u:2+2;a:4;u:ok;a:!;"]
    assert ["".join(map(str, each["assistant_masks"])) for each in rows] == ["0000000111110", "0000000010000000010"]


def test_rows_in_trouble_are_kept_as_far_as_they_can_be(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", *TROUBLED)
    made = build(mill, mix_of(Chat(chat_template=TEMPLATE, on_trouble="keep"), parts=1))
    kept = {name: rows for name, rows in made.totals.items() if name.startswith("kept")}
    assert kept == {"kept: no assistant turn": 1, "kept: undefined template variable": 1}
    assert made.dropped == {"no messages": 2}
    said = [spelled(mill, each["input_ids"]) for each in rows_of(mill)]
    assert said == ["u:Hi;a:Hello;", "u:nobody\u0120answers;", "u:Hi;a:Ho;", "a:;"]


def test_a_row_brings_a_template_only_where_the_recipe_lets_it(tmp_path: Path) -> None:
    own = {**talk("Hi", "Hello"), "chat_template_kwargs": {"chat_template": "!" + TEMPLATE}}
    mill = started(tmp_path / "lake", row(0, own))
    made = build(mill, mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop")))
    assert made.dropped == {"row brings its own template": 1}
    build(mill, mix_of(Chat(chat_template=TEMPLATE, row_templates=True)))
    assert spelled(mill, rows_of(mill)[0]["input_ids"]) == "!u:Hi;a:Hello;"
