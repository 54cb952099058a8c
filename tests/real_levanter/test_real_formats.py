"""Rows of all formats, element by element what real Levanter makes of the same data; chat as transformers does."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from peer import Ask
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from gristmill.recipes.row_format import Chat, Format, Prebuilt, Text, format_of
from gristmill.recipes.tokenizer import TokenizerOptions
from gristmill.stages.token_cache.row_encoder import row_encoder
from gristmill.stages.token_cache.rows import CacheRows

EOS, BOS = "<|endoftext|>", "<|begin|>"

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


def turns(*said: str) -> dict[str, Any]:
    return {
        "messages": [
            {"role": ("user", "assistant")[number % 2], "content": content} for number, content in enumerate(said)
        ]
    }


CONVERSATIONS: list[dict[str, Any]] = [
    turns("Hello!", "Hi there!"),
    turns("One", "two", "three", "four, and more", "five", "six  "),
    {"messages": [{"role": "system", "content": "Be brief."}, *turns("Why?", "Because.")["messages"]]},
    turns(
        "\u4f60\u597d\uff0c\u4e16\u754c",
        "\u05e9\u05dc\u05d5\u05dd \U0001f468\u200d\U0001f469 caf\u00e9",
        "e\u0301?",
        "re\u0301sume\u0301 \u212b \ufb01",
    ),
    turns("", "an answer to nothing"),
    turns("an empty answer", "", "again", "now"),
    turns("  spaces  ", "  around  \n\n", "\t", "\u3000wide\u3000"),
    turns(f"special {EOS} inside", f"and {EOS} here{EOS}"),
    turns("digits 1234567890", "def f(x):\n    return x  # don't\n" * 40),
    turns("\U0001f600" * 30, "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 20),
]


def trained(**parts: Any) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=[EOS, BOS, "<|start|>", "<|end|>", "<|eot|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [turn["content"] for row in CONVERSATIONS for turn in row["messages"]]
    tokenizer.train_from_iterator(texts * 3, trainer)
    return tokenizer


def saved(folder: Path, data: bytes, bos: str | None) -> bytes:
    folder.mkdir()
    (folder / "tokenizer.json").write_bytes(data)
    config = {"eos_token": EOS, "bos_token": bos, "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps({k: v for k, v in config.items() if v}))
    return data


def tokenizer_files(folder: Path) -> dict[str, tuple[bytes, str | None]]:
    found: dict[str, tuple[bytes, str | None]] = {}
    for name, tokenizer in (
        ("plain", trained()),
        ("trimming", trained(post_processor=processors.ByteLevel(trim_offsets=True))),
        ("composing", trained(normalizer=normalizers.NFC(), post_processor=processors.ByteLevel(trim_offsets=True))),
    ):
        found[name] = saved(folder / name, tokenizer.to_str().encode(), BOS), BOS
    data = os.environ.get("GRISTMILL_SAMPLE_DATA")
    if data:
        packed = Path(data) / "tokenizers" / "gpt-neox-olmo-dolma-v1_5" / "tokenizer.json.gz"
        found["neox"] = saved(folder / "neox", gzip.decompress(packed.read_bytes()), None), None
    return found


def ours(declared: Format, data: bytes, bos: str | None, rows: list[dict[str, Any]], template: str | None) -> CacheRows:
    encoder, _ = row_encoder(declared, "t-1", data, TokenizerOptions(eos=EOS, bos=bos, chat_template=template))
    documents = [
        {"id": str(number), "source": "s", "text": str(row.get("text", "")), "metadata": row}
        for number, row in enumerate(rows)
    ]
    decoder = msgspec.json.Decoder(encoder.row_type)
    return encoder([decoder.decode(msgspec.json.encode(document)) for document in documents])


def as_lists(made: CacheRows) -> list[dict[str, list[Any]]]:
    split = {
        field: [part.tolist() for part in np.split(flat, np.cumsum(lengths)[:-1])]
        for field, (flat, lengths) in made.fields.items()
    }
    return [dict(zip(split, row, strict=True)) for row in zip(*split.values(), strict=True)]


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
        made = ours(format_of(declared), data, bos, CONVERSATIONS, template)
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
    made = ours(format_of(declared), data, bos, rows, template)
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
