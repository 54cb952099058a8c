"""A source whose raw lines say themselves what goes wrong with them."""

import math
import sys
from collections.abc import Iterator
from typing import Any

from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import Converted, LeftOut, RawObject, Refused
from gristmill.recipes.source import Hashed, Source


def convert(raw: RawObject) -> Iterator[Converted]:
    """`<id> <words>`; the word after a `!` breaks the document in that way."""
    if not raw.size:
        yield Refused("empty text", raw.name, b"")
    for number, line in enumerate(raw.read().decode().splitlines()):
        name, _, text = line.partition(" ")
        if text == "!raise":
            raise KeyError(name)
        if text == "!panic":  # of a library in Rust
            Split(Regex("(a+)+$"), "isolated").pre_tokenize_str("a" * 60 + "b")
        if text == "!exit":
            sys.exit(0)
        if text == "!close":
            raise GeneratorExit
        if text == "!memory":
            raise MemoryError
        where = f"{raw.name} line {number}"
        wrong: dict[str, Any] = {
            "!refuse": Refused("asked for", where, line.encode()),
            "!leave": LeftOut("asked for"),
            "!none": LeftOut("asked for", 0),
            "!text": Refused("asked for", where, line),  # type: ignore[arg-type]  # a converter's mistake, as all below
            "!surrogate": Document(name, "\ud800", "notes"),
            "!nul": Document("a\x00b", text, "notes"),
            "!number": Document(name, 7, "notes"),  # type: ignore[arg-type]
            "!time": Document(name, text, "notes", added=7),  # type: ignore[arg-type]
            "!list": Document(name, text, "notes", metadata=["a"]),  # type: ignore[arg-type]
            "!set": Document(name, text, "notes", metadata={"a": {1, 2}}),
            "!nan": Document(name, text, "notes", metadata={"a": (1, math.nan)}),
            "!bytes": Document(name, text, "notes", metadata={"a": {"b": b"x"}}),
            "!large": Document(name, text, "notes", metadata={"a": 2**64}),
            "!deep": Document(name, text, "notes", metadata={"a": _deep(200)}),
            "!dict": {"id": name, "text": text, "source": "notes"},
        }
        yield wrong.get(text) or Document(name, text, "notes")


def _deep(levels: int) -> Any:
    """Lists inside each other."""
    return [_deep(levels - 1)] if levels else []


NOTES = Source(name="notes", convert=convert, shards=Hashed(3), quarantine_limit=0.1)
