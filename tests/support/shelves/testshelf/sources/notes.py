"""A source whose raw lines say themselves what goes wrong with them."""

from collections.abc import Iterator

from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import Converted, RawObject, Refused
from gristmill.recipes.source import Hashed, Source


def convert(raw: RawObject) -> Iterator[Converted]:
    """`<id> <words>`; the word after a `!` breaks the document in that way."""
    for number, line in enumerate(raw.read().decode().splitlines()):
        name, _, text = line.partition(" ")
        if text == "!raise":
            raise KeyError(name)
        if text == "!panic":  # of a library in Rust
            Split(Regex("(a+)+$"), "isolated").pre_tokenize_str("a" * 60 + "b")
        if text == "!refuse":
            yield Refused("asked for", f"{raw.name} line {number}", line.encode())
        elif text == "!surrogate":
            yield Document(name, "\ud800", "notes")
        elif text == "!nul":
            yield Document(name, "a\x00b", "notes")
        elif text == "!number":
            yield Document(name, 7, "notes")  # type: ignore[arg-type]  # a converter's mistake
        elif text == "!time":
            yield Document(name, text, "notes", added=7)  # type: ignore[arg-type]  # a converter's mistake
        elif text == "!set":
            yield Document(name, text, "notes", metadata={"a": {1, object()}})
        else:
            yield Document(name, text, "notes")


NOTES = Source(name="notes", convert=convert, shards=Hashed(3), quarantine_limit=0.1)
