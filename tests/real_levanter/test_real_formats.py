"""Rows of all formats, element by element what real Levanter makes of the same data; chat as transformers does."""

from pathlib import Path
from typing import Any

import pytest
from peer import Ask
from rowkit import BOS, CONVERSATIONS, EOS, as_lists, ours, saved, tokenizer_files, trained, turns

from gristmill.recipes.row_format import Chat, Prebuilt, Text, format_from_mapping
from gristmill.recipes.tokenizer import TokenizerOptions
from gristmill.stages.token_cache.row_encoder import row_encoder

REFERENCE = (
    "{{ bos_token }}\n"
    "{%- for message in messages -%}\n"
    "{%- if message['role'] == 'assistant' -%}\n"
    "    <|start|>{{ message['role'] }}<|end|>\n"
    "{% generation %}{{- message['content'] | trim }}<|eot|>{% endgeneration %}\\n\n"
    "{% else %}\n"
    "<|start|>{{ message['role'] }}<|end|>\n"
    "{{ message['content'] | trim }}<|eot|>\n"
    "{% endif %}\n"
    "{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}\n"
    "<|start|>assistant<|end|>\\n{% endif -%}\n"
)
"""The template of Levanter's format reference, with shorter marks."""

PLAIN = (
    "{% for m in messages %}{{ m.role }}:{% if m.role == 'assistant' %}{% generation %} {{ m.content }}"
    "{% endgeneration %}{% else %} {{ m.content }}{% endif %}\n{% endfor %}"
)
"""What the assistant said begins and ends inside tokens: a space before it, whatever it ends in."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "template", [pytest.param(REFERENCE, id="reference", marks=pytest.mark.exhaustive), pytest.param(PLAIN, id="plain")]
)
def test_chat_rows_are_those_of_levanter_and_transformers(ask: Ask, tmp_path: Path, template: str) -> None:
    declared = {"type": "chat", "chat_template": template}
    for name, (data, bos) in tokenizer_files(tmp_path).items():
        job = {"tokenizer": str(tmp_path / name), "rows": CONVERSATIONS}
        levanter, hugging = ask(
            {**job, "do": "process", "format": declared}, {**job, "do": "template", "template": template}
        )
        made = ours(format_from_mapping(declared), data, bos, CONVERSATIONS, template)
        rows = as_lists(made)
        assert rows == hugging["rows"], name
        troubled = {trouble.row for trouble in made.troubles}
        for number, row in enumerate(levanter["rows"]):
            assert ("error" in row) == (number in troubled), (name, number)
            assert "error" in row or rows[number] == row, (name, number)


def test_what_rows_tell_the_template_is_told_as_levanter_does(ask: Ask, tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}[{{ m.role }}]{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
        "{% endgeneration %}{% else %}{{ m.content }}{{ tone }}{% endif %}{% endfor %}{{ tools | tojson }}"
    )
    data, bos = saved(tmp_path / "plain", trained().to_str().encode(), BOS), BOS
    talk = turns("Hi", "Ho")
    rows: list[dict[str, Any]] = [
        {**talk, "vars": {"tone": "!", "tools": [{"b": "<&>", "a": "\u00e9"}]}, "lead": "Be kind."},
        {**talk, "vars": {"tone": "?", "tools": None, "add_generation_prompt": True}, "lead": {"content": "x"}},
        {**talk, "vars": {"tone": "?", "tools": 1}, "lead": None},
        {**talk, "vars": {"tone": "no tools"}},
        {**talk, "vars": {"tokenize": True, "tone": "", "tools": 1}},
        {**talk, "vars": "none"},
        {**talk, "vars": {"tone": "", "tools": 1}, "lead": {"role": "system"}},
        {"vars": {"tone": "", "tools": 1}},
        {**turns("nobody answers"), "vars": {"tone": "", "tools": 1}},
    ]
    declared = {"type": "chat", "chat_template": template, "system_prompt": "lead", "chat_template_kwargs": "vars"}
    (levanter,) = ask({"do": "process", "tokenizer": str(tmp_path / "plain"), "format": declared, "rows": rows})
    made = ours(format_from_mapping(declared), data, bos, rows, template)
    found = as_lists(made)
    assert {trouble.row: trouble.reason for trouble in made.troubles} == {
        3: "undefined template variable",
        4: "template variables are not valid",
        5: "template variables are not valid",
        6: "no system prompt",
        7: "no messages",
        8: "no assistant turn",
    }
    assert [number for number, row in enumerate(levanter["rows"]) if "error" in row] == [3, 4, 5, 6, 7, 8]
    assert found[:3] == levanter["rows"][:3]


def test_text_and_prebuilt_rows_are_those_of_levanter(ask: Ask, tmp_path: Path) -> None:
    data, bos = saved(tmp_path / "plain", trained().to_str().encode(), BOS), BOS
    texts = [{"body": text} for text in ("", " ", "Hello", "tr\u00e8s bien \n", EOS)]
    built: list[dict[str, Any]] = [
        {"ids": [1, 2, 3], "w": [1, 0.5, 0]},
        {"ids": [0], "w": [1e-30]},
        {"ids": [260], "w": [2]},
    ]
    text, prebuilt = (
        {"type": "text", "text_key": "body"},
        {
            "type": "prebuilt",
            "input_ids_key": "ids",
            "loss_weights_key": "w",
        },
    )
    job = {"do": "process", "tokenizer": str(tmp_path / "plain")}
    a, b = ask({**job, "format": text, "rows": texts}, {**job, "format": prebuilt, "rows": built})
    assert as_lists(ours(Text(text_key="body"), data, bos, texts, None)) == a["rows"]
    declared = Prebuilt(input_ids_key="ids", loss_weights_key="w")
    assert as_lists(ours(declared, data, bos, built, None)) == b["rows"]
    encoder, _ = row_encoder(declared, "t-1", data, TokenizerOptions(eos=EOS, bos=bos))
    assert encoder.metadata == b["metadata"]
    options = TokenizerOptions(eos=EOS, bos=bos, chat_template=PLAIN)
    talk = row_encoder(Chat(chat_template=PLAIN), "t-1", data, options)[0].metadata
    (answer,) = ask({**job, "format": {"type": "chat", "chat_template": PLAIN}, "rows": []})
    assert {**talk, "tokenizer": ""} == {**answer["metadata"], "tokenizer": ""}
