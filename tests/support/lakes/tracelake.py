"""A lake of 90 numbered documents in three raw objects, each packed otherwise; and questions about whose is what."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from testkit import SHELVES, SNAPSHOT, Mill
from wholelake import TOKENIZER

from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.row_format import Text
from gristmill.recipes.rules import Rule, field
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer
from gristmill.tracing.raw import Shelves
from gristmill.tracing.trace import DocumentTrace, TokenTrace, trace_document, trace_token_document

KNOWN = Shelves(SHELVES, {})
CACHE = "token_caches/even/tiny-1/pages"
RAW = "sources/pages/raw/2024"
BLOCKED = 44
TAKEDOWN = b'{"source":"pages","id":"doc-44","reason":"asked for by its author"}\n'


def text(number: int) -> str:
    """Of a document."""
    return f"the text of number {number} is this"


def line(number: int) -> bytes:
    """A raw row: every seventh has no source of its own, every eighth no title, the odd ones are French."""
    row: dict[str, Any] = {"id": f"doc-{number}", "text": text(number), "source": "pages"}
    row["metadata"] = {"number": number, "language": "fr" if number % 2 else "en", "title": f"title {number}"}
    if number % 7 == 0:
        del row["source"]
    if number % 8 == 0:
        del row["metadata"]["title"]
    return json.dumps(row).encode()


def even(*, validation: float = 0.3, parts: int = 3, format: Text | None = None) -> Mix:  # noqa: A002 - the mix's word
    """The numbers that four divides, but for the blocked one; of three parts each has a shard, of two one has all."""
    stream = Stream(
        source="pages",
        version="v1",
        columns=(field("metadata.number", "BIGINT"),),
        include=(Rule("by-four", "number % 4 = 0", "a number that one can count by eye"),),
        blocklists=("takedowns",),
        format=format or Text(),
    )
    return Mix(name="even", streams=(stream,), validation=validation, parts=parts)


def make_trace_lake(root: Path, mix: Mix) -> Mill:
    """Documents 0 to 29 are shard `a`, to 59 `b`, to 89 `c`; v1 keeps the even ones, the mix what `even` says."""
    root.mkdir()
    mill = Mill(root)
    rows = [line(number) for number in range(90)]
    mill.raw("a.jsonl.gz", gzip.compress(b"\n".join([*rows[:5], b"no document", b"", *rows[5:30]]), mtime=0))
    mill.raw("b.jsonl", b"\xef\xbb\xbf" + b"\r\n".join([*rows[30:60], b""]))
    mill.raw("c.jsonl.zst", zstandard.compress(b"\n".join([*rows[60:], b""])))
    mill.store.put("blocklists/takedowns.jsonl", TAKEDOWN)
    mill.convert()
    mill.tag("words-1", "characters-1")
    mill.revise()
    mill.tag("characters-1", version="v1")
    mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
    make_tokenizer(mill.store, TOKENIZER, mill.said.append)
    spell(mill, mix)
    return mill


def spell(mill: Mill, mix: Mix, *, force: bool = False) -> None:
    """The token cache and its index."""
    mill.make(TokenCacheStep(mix, "pages", TOKENIZER, SNAPSHOT, SHELVES), force=force)
    index_cache(mill.store, mix, TOKENIZER, {"pages": mill.source()}, {"pages": [SNAPSHOT]})


def declare_tokenizer(patch: pytest.MonkeyPatch) -> None:
    """Puts the tokenizer of the cache on the shelf, so that a recipe makes the cache."""
    for catalogue in (read_catalogue(SHELVES), read_catalogue(SHELVES, checked=False)):
        patch.setitem(catalogue.tokenizers, TOKENIZER.name, TOKENIZER)
        patch.setitem(vars(catalogue.mixes["even"]), "tokenizers", (TOKENIZER.name,))


def where(mill: Mill, number: int) -> DocumentTrace:
    """All places of a document."""
    (found,) = trace_document(mill.store, "pages", f"doc-{number}", KNOWN)
    return found


def whose(mill: Mill, offset: int, split: str = "train") -> TokenTrace:
    """Whose a token is."""
    return trace_token_document(mill.store, CACHE, split, offset, KNOWN)


def in_mix() -> Iterator[int]:
    """The numbers that the mix keeps."""
    return (number for number in range(0, 90, 4) if number != BLOCKED)
