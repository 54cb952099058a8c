"""Conversations to measure with: the corpus's paragraphs said in turns, the same ones for one version of Python."""

import gzip
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from bench.harness.place import SOURCE
from bench.inputs.corpus import paragraphs

SEED = 77
TEMPLATE = (
    "{% for message in messages %}"
    "<|im_start|>{{ message['role'] }}\n"
    "{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] | trim }}<|im_end|>{% endgeneration %}\n"
    "{% else %}"
    "{{ message['content'] | trim }}<|im_end|>\n"
    "{% endif %}"
    "{% endfor %}"
)
"""ChatML, with a mark around what the assistant said."""


def write_conversations(raw: Path, plain: Path, size: int, shards: int = 1, seed: int = SEED) -> int:
    """Writes the same conversations twice: as documents for ours, and as bare rows, packed, for Levanter.

    Args:
        raw: folder of the source's raw objects; a shard's documents lie in `shard-<nnnn>.jsonl`.
        plain: folder of `shard-<nnnn>.jsonl.gz`: rows with `messages` alone.
        size: bytes of what is said, a shard.
        shards: files.
        seed: of the draw.

    Returns:
        The bytes of all that is said, in UTF-8.
    """
    raw.mkdir(parents=True)
    plain.mkdir(parents=True)
    total = 0
    for number in range(shards):
        name = f"shard-{number:04}.jsonl"
        with (raw / name).open("wb") as ours, gzip.open(plain / f"{name}.gz", "wb", compresslevel=1) as theirs:
            for row, messages in enumerate(conversations(seed + number, size)):
                total += sum(len(turn["content"].encode()) for turn in messages)
                document = {"id": f"{number}-{row}", "text": "", "source": SOURCE, "metadata": {"messages": messages}}
                ours.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
                theirs.write(orjson.dumps({"messages": messages}, option=orjson.OPT_APPEND_NEWLINE))
    return total


def conversations(seed: int, size: int) -> Iterator[list[dict[str, Any]]]:
    """Conversations of 2 to 6 turns, the assistant's last, and a system prompt before a quarter of them."""
    chance = random.Random(seed)  # noqa: S311 - a corpus, no secret
    stock = [each for each in paragraphs() if each.strip()]
    written = 0
    while written < size:
        messages = [{"role": "system", "content": chance.choice(stock)}] if chance.random() < 0.25 else []
        for _ in range(chance.randint(1, 3)):
            messages.append({"role": "user", "content": chance.choice(stock)})
            messages.append(
                {"role": "assistant", "content": "\n\n".join(chance.choices(stock, k=chance.randint(1, 4)))}
            )
        written += sum(len(turn["content"].encode()) for turn in messages)
        yield messages
