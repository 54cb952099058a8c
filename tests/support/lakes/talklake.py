"""A small lake of conversations: two raw shards, a mix of one stream, and a tokenizer that knows bytes alone."""

import json
from pathlib import Path
from typing import Any

from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.formats.levanter.cache import CacheReader, range_reader_of_store
from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.raw_object import RawObject
from gristmill.recipes.row_format import Format, Text
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.part_table import check_cache_complete
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer
from gristmill.verification.token_caches import cache_findings

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


def build(mill: Mill, mix: Mix) -> Ledger:
    mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
    made = mill.make(TokenCacheStep(mix, "pages", BYTES, SNAPSHOT, SHELVES))
    here = place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT)
    documents = place("mixes/talk/documents/pages", SNAPSHOT)
    verdict = check_cache_complete(
        mill.store, read_ledger(mill.store, documents)[1], read_ledger(mill.store, here)[1], here
    )
    assert verdict.passed, verdict.description
    assert [finding.what for finding in cache_findings(mill.store, here, mill.said.append)] == []
    return made


def rows_of(mill: Mill, split: str = "train") -> list[dict[str, list[Any]]]:
    found: list[dict[str, list[Any]]] = []
    _, table = read_ledger(mill.store, place(cache_asset("talk", "bytes-1", "pages"), SNAPSHOT))
    for part in table:
        reader = CacheReader(range_reader_of_store(mill.store), part.extra["folders"][split].rstrip("/"))
        found += [{field: reader.row(field, n).tolist() for field in reader.fields} for n in range(reader.rows)]
    return found


def spelled(mill: Mill, ids: list[int]) -> str:
    tokens = json.loads(mill.store.read("tokenizers/bytes-1/tokenizer.json"))["model"]["vocab"]
    names = {number: token for token, number in tokens.items()}
    return "".join(names[each] for each in ids)


TROUBLED = (
    row(0, talk("Hi", "Hello")),
    row(1, talk("nobody answers")),
    row(2, {"messages": None}),
    row(3, {"other": 1}),
    row(4, talk("Hi", "Ho")),
    row(5, {"messages": [{"role": "assistant"}]}),
)
