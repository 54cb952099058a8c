from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rowkit import BOS, ours, trained
from talklake import TEMPLATE, TROUBLED, build, mix_of, row, rows_of, spelled, started, talk

from gristmill.recipes.row_format import Chat
from gristmill.stages.token_cache.chat_rows import FORBIDDEN
from gristmill.stages.token_cache.rows import CacheRows


@cache
def tokenizer() -> bytes:
    return trained().to_str().encode()


def made(template: str, *metadata: dict[str, Any], specials: Any = "tokens", **options: Any) -> CacheRows:
    declared = Chat(chat_template=template, **options)
    return ours(declared, tokenizer(), BOS, [*metadata], template, specials)


def troubles(rows: CacheRows) -> dict[int, tuple[str, bool]]:
    return {trouble.row: (trouble.reason, trouble.keepable) for trouble in rows.troubles}


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
    mill = started(tmp_path / "lake", row(0, own), *(row(number, talk("Hi", "Hello")) for number in (1, 2)))
    made = build(mill, mix_of(Chat(chat_template=TEMPLATE, on_trouble="drop")))
    assert made.dropped == {"row brings its own template": 1}
    build(mill, mix_of(Chat(chat_template=TEMPLATE, row_templates=True)))
    assert spelled(mill, rows_of(mill)[0]["input_ids"]) == "!u:Hi;a:Hello;"


@pytest.mark.slow
def test_a_row_that_is_not_rendered_is_never_kept_but_one_with_an_undefined_variable_is() -> None:
    template = "{{ 1 // messages[0].n }}{{ tone if messages[0].n == 2 }}" + TEMPLATE
    turns = [[{"role": "assistant", "content": "Hi", "n": n}] for n in (0, 1, 2)]
    found = made(template, *[{"messages": each} for each in turns])
    assert troubles(found) == {0: ("not rendered", False), 2: ("undefined template variable", True)}
    assert found.fields["input_ids"][1].tolist()[0] == 0
    deep: list[Any] = []
    for _ in range(900):
        deep = [deep]
    deep_row = {"messages": [{"role": "user", "content": "x", "deep": deep}]}
    assert set(troubles(made(TEMPLATE + "{{ messages | tojson }}", deep_row)).values()) == {("not bounded", False)}


def test_a_row_that_is_not_rendered_and_has_a_special_token_is_not_kept_for_the_token() -> None:
    turns = {"messages": [{"role": "assistant", "content": "a<|eot|>"}]}
    assert troubles(made(TEMPLATE + "{{ 1 // 0 }}", turns, specials="refuse")) == {0: ("not rendered", False)}
    assert troubles(made(TEMPLATE, turns, specials="refuse")) == {0: ("special token in the text", True)}


def test_a_system_prompt_is_a_system_turn_whatever_role_it_brings() -> None:
    template = "{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}"
    lead = {"role": "assistant", "content": "Be kind."}
    brought, plain = (
        made(template, {**talk("Hi"), "lead": each}, system_prompt="lead", mask_user_turns=False).fields["input_ids"][0]
        for each in (lead, "Be kind.")
    )
    assert brought.tolist() == plain.tolist()


def test_a_row_sets_none_of_the_tokenizers_own_tokens_and_no_argument() -> None:
    names = sorted(FORBIDDEN)
    assert {"bos_token", "eos_token", "messages", "tokenizer", "self", "return_dict"} < FORBIDDEN
    rows = [{**talk("Hi", "Ho"), "chat_template_kwargs": {name: "<|eot|>"}} for name in names]
    expected = ("template variables are not valid", False)
    assert troubles(made(TEMPLATE, *rows)) == dict.fromkeys(range(len(names)), expected)
    assert troubles(made(TEMPLATE, {**rows[0], "chat_template_kwargs": {"add_generation_prompt": True}})) == {}


@pytest.mark.parametrize(
    ("metadata", "where"),
    [
        ({**talk("Hi", "Ho"), "chat_template_kwargs": {"more": "<|eot|>"}}, "variable"),
        (talk("<|e", "ot|>"), "halves"),
        ({"messages": [{"role": "user", "content": {"<|eot|>": 1}}]}, "key"),
        ({"messages": [{"role": "eot", "content": "x"}]}, "role"),
    ],
)
def test_special_tokens_are_refused_in_the_rendered_text(metadata: dict[str, Any], where: str) -> None:
    template = "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}<|end|>{{ more | default('') }}"
    if where == "role":
        template = "{{ '<|' + messages[0].role + '|>' }}"
    options: dict[str, Any] = {"mask_user_turns": False, "undefined": "transformers"}
    assert troubles(made(template, metadata, talk("Hi"), specials="refuse", **options)) == {
        0: ("special token in the text", True)
    }
