"""Conversations, small tokenizers, and the rows that we make of them: for comparisons with other programs."""

import gzip
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from gristmill.encoding.reference import ask_reference
from gristmill.recipes.row_format import Format
from gristmill.recipes.tokenizer import TokenizerOptions
from gristmill.stages.token_cache.row_encoder import row_encoder
from gristmill.stages.token_cache.rows import CacheRows

EOS, BOS = "<|endoftext|>", "<|begin|>"


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


facts_of = cache(ask_reference)


def ours(
    declared: Format,
    data: bytes,
    bos: str | None,
    rows: list[dict[str, Any]],
    template: str | None,
    specials: Any = "tokens",
) -> CacheRows:
    options = TokenizerOptions(eos=EOS, bos=bos, chat_template=template, specials=specials)
    encoder, _ = row_encoder(declared, "t-1", data, options, facts_of(data))
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
