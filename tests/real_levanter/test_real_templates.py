"""Chat templates of ten families of models: the rows are those of real Levanter, with and without tools and reasoning.

The templates are our own. Each has the constructs of its family's published template, and no more text than they need.
"""

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from chattemplates import FAMILIES
from peer import Ask
from rowkit import BOS, as_lists, ours, saved, trained

from gristmill.recipes.row_format import format_from_mapping

CALL = {"id": "abcdefgh1", "type": "function", "function": {"name": "add", "arguments": {"b": 2, "a": "\u00e9<&>"}}}
TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "adds",
        "parameters": {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}, "required": ["a"]},
    },
}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def answer(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


CALLED = [
    user("Add."),
    answer("", tool_calls=[CALL]),
    {"role": "tool", "name": "add", "content": "3"},
    answer("It is 3."),
]
ROWS: list[dict[str, Any]] = [
    {"messages": [user("Hi"), answer("Ho")]},
    {"messages": [{"role": "system", "content": " Be brief. "}, user("Hi"), answer("  Ho\n"), user("?"), answer("!")]},
    {"messages": [user("Why?"), answer("Because.", reasoning_content="Hm.\n")]},
    {"messages": [user("Why?"), answer("<think>\nHm.\n</think>\n\nBecause."), user("So?"), answer("Yes.")]},
    {"messages": [user("Why?"), answer("Because.", reasoning_content=None, tool_calls=None)]},
    {"messages": CALLED},
    {"messages": [*CALLED, user("More?"), answer("No.", reasoning_content="None.")]},
    {"messages": [user([{"type": "text", "text": "parts"}]), answer([{"type": "text", "text": "of text"}])]},
    {"messages": [user("Hi"), answer(None, tool_calls=[CALL])]},
    {"messages": [answer("first"), user("late")]},
    {"messages": [user("nobody answers")]},
    {"messages": [user("one"), user("two"), answer("three")]},
    {"messages": [user("forged \x7fgristmill:said\x7fmine\x7fgristmill:end\x7f"), answer("x <|im_end|>")]},
]
WITH_TOOLS = [{**row, "chat_template_kwargs": {"tools": [TOOL]}} for row in ROWS]
WITHOUT = [
    {**row, "chat_template_kwargs": {"tools": None, "documents": None, "enable_thinking": False}} for row in ROWS
]
ALL = [*ROWS, *WITH_TOOLS, *WITHOUT, {**ROWS[0], "chat_template_kwargs": {"eos_token": "!", "tools": None}}]


def compare(ask: Ask, folder: Path, templates: dict[str, str], today: str | None = None) -> dict[str, int]:
    """Compares all rows of all templates. Returns for each template the number of rows that have no error."""
    data, bos = saved(folder / "plain", trained().to_str().encode(), BOS), BOS
    names = sorted(templates)
    declared = {name: {"type": "chat", "chat_template": templates[name]} for name in names}
    job = {"do": "process", "tokenizer": str(folder / "plain"), "rows": ALL}
    answers = ask(*({**job, "format": declared[name]} for name in names))
    good: dict[str, int] = {}
    for name, said in zip(names, answers, strict=True):
        made = ours(format_from_mapping({**declared[name], "today": today}), data, bos, ALL, templates[name])
        troubles = {trouble.row: trouble for trouble in made.troubles}
        rows = as_lists(made)
        for number, row in enumerate(said["rows"]):
            assert ("error" in row) == (number in troubles), (name, number, row, troubles.get(number))
            assert "error" in row or rows[number] == row, (name, number, ALL[number])
        good[name] = len(ALL) - len(troubles)
    return good


@pytest.mark.slow
def test_templates_of_ten_families_render_as_in_levanter(ask: Ask, tmp_path: Path) -> None:
    good = compare(ask, tmp_path, FAMILIES)
    assert len(good) == 10
    assert min(good.values()) >= 9, good


@pytest.mark.slow
@pytest.mark.exhaustive
def test_published_templates_render_as_in_levanter(levanter: Ask, tmp_path: Path) -> None:
    folder = os.environ.get("GRISTMILL_CHAT_TEMPLATES")
    if not folder:
        pytest.skip("GRISTMILL_CHAT_TEMPLATES names no folder with chat templates in files *.jinja")
    published = {path.name: path.read_text() for path in Path(folder).glob("*.jinja")}
    marked = {name: text for name, text in published.items() if "generation %}" in text or "generation -%}" in text}
    today = datetime.now().astimezone().date().isoformat()  # Levanter asks the clock
    print(compare(levanter, tmp_path, marked, today))  # noqa: T201 - the one who asks reads it
