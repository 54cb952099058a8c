from pathlib import Path

from talklake import TEMPLATE, build, mix_of, row, rows_of, spelled, started, talk

from gristmill.recipes.row_format import Chat


def test_a_template_cannot_leave_its_sandbox_nor_ask_for_the_date(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")))
    for harm in ("''.__class__.__mro__", "messages.append(1)", "strftime_now('%Y')", "raise_exception('no')"):
        template = f"{{{{ {harm} }}}}{TEMPLATE}"
        made = build(mill, mix_of(Chat(chat_template=template, on_trouble="drop")))
        assert made.totals["rows"] == 0, harm
    dated = Chat(chat_template="{{ strftime_now('%Y') }}" + TEMPLATE, today="2026-11-30")
    build(mill, mix_of(dated, parts=1))
    assert spelled(mill, rows_of(mill)[0]["input_ids"]).startswith("2026u:Hi;")
