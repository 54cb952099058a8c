"""A small lake of conversations: two raw shards, a mix of one stream, and a tokenizer that knows bytes alone."""

from pathlib import Path
from typing import Any

from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.row_format import Format, Text
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.tokenization.training import make_tokenizer

TEMPLATE = (
    "{% for m in messages %}{{ m.role[0] }}:{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "{% endgeneration %}{% else %}{{ m.content }}{% endif %};{% endfor %}"
)
BYTES = Tokenizer(
    name="bytes-1", training=Training(mix="talk", snapshots={"pages": (SNAPSHOT,)}, vocabulary=258), eos="<|endoftext|>"
)
"""Too small for any merge: every byte is a token, but for the two special ones."""


def row(number: int, metadata: dict[str, Any], text: str = "x") -> dict[str, Any]:
    return {"id": f"d{number}", "text": text, "source": "pages", "metadata": metadata}


def talk(*said: str) -> dict[str, Any]:
    return {"messages": [{"role": ("user", "assistant")[n % 2], "content": words} for n, words in enumerate(said)]}


def mix_of(declared: Format, **options: Any) -> Mix:
    return Mix(name="talk", streams=(Stream(source="pages", version="v0", format=declared),), draft=True, **options)


def started(root: Path, *rows: dict[str, Any]) -> Mill:
    root.mkdir()
    mill = Mill(root)
    half = (len(rows) + 1) // 2
    mill.raw("a.jsonl.gz", rows[:half])
    mill.raw("b.jsonl.gz", rows[half:])
    mill.convert()
    mix = mix_of(Text())
    mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
    make_tokenizer(mill.store, BYTES, mill.said.append)
    return mill


def talk_file(root: Path, name: str, data: bytes) -> RawObject:
    """A raw object of the source `talks`, in a store of its own."""
    store = FolderStore(str(root))
    path = f"sources/talks/raw/2024/{name}"
    store.put(path, data)
    return RawObject(store, path, name, len(data))
