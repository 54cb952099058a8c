"""A small lake that has one of everything, and hands that plant lies in it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from testkit import SHELVES, SNAPSHOT, Mill, make_documents

from gristmill.execution.document_writer import DocumentWriter
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.lake.address import Place, cache_asset, place
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table, read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.recipes.mix import Mix
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer

TOKENIZER = Tokenizer(name="tiny-1", training=Training(mix="even", snapshots={"pages": (SNAPSHOT,)}, vocabulary=300))
DOCUMENTS = place("sources/pages/v0/documents", SNAPSHOT)
REVISED = place("sources/pages/v1/documents", SNAPSHOT)
WORDS = place("sources/pages/v0/attributes/words-1", SNAPSHOT)
STREAM = place("mixes/even/documents/pages", SNAPSHOT)
CACHE = place(cache_asset("even", "tiny-1", "pages"), SNAPSHOT)


def even() -> Mix:
    """The mix of the test shelf."""
    return find_recipe("mixes", Mix, SHELVES, "even")


def make_whole(root: Path, space: str = " ") -> Mill:
    """Two shards of 20 documents and a refused row; v1 has 16 of them, the mix 8, in one part of a cache.

    Documents 0 to 19 are shard `a`, 20 to 39 shard `b`. v1 keeps English of two words or more: even numbers that
    five does not divide; the mix those that four divides: 4, 8, 12, 16 and 24, 28, 32, 36.

    Args:
        root: the folder of the lake.
        space: between the words of a text.
    """
    root.mkdir()
    mill = Mill(root)
    mill.raw("a.jsonl.gz", [*(_spaced(each, space) for each in make_documents(20)), b"no document"])
    mill.raw("b.jsonl.gz", [_spaced(each, space) for each in make_documents(20, start=20)])
    mill.convert()
    mill.tag("words-1", "characters-1")
    mill.revise()
    mill.make(stream_step(even(), "pages", SNAPSHOT, SHELVES))
    make_tokenizer(mill.store, TOKENIZER, mill.said.append)
    make_cache(mill)
    return mill


def _spaced(document: dict[str, Any], space: str) -> dict[str, Any]:
    return document | {"text": document["text"].replace(" ", space)}


def make_cache(mill: Mill) -> None:
    """The token cache and its index."""
    mill.make(TokenCacheStep(even(), "pages", TOKENIZER, SNAPSHOT, SHELVES))
    index_cache(mill.store, even(), TOKENIZER, {"pages": mill.source()}, {"pages": [SNAPSHOT]})


def table(mill: Mill, where: Place) -> list[Shard]:
    """The table of a partition."""
    return read_ledger(mill.store, where)[1]


def reseal(mill: Mill, where: Place, shards: Sequence[Shard]) -> None:
    """Writes a table and the head that follows from it: a lie that the ledger tells consistently."""
    head, _ = read_ledger(mill.store, where)
    mill.store.put(where.table, pack_table(shards))
    mill.store.put(where.ledger, as_json(compose_ledger(where, head.recipe, head.inputs, list(shards))))


def reseal_shard(mill: Mill, where: Place, name: str, **changes: object) -> None:
    """Changes what the table says of one shard, consistently."""
    shards = table(mill, where)
    reseal(mill, where, [msgspec.structs.replace(s, **changes) if s.name == name else s for s in shards])


def rewrite(mill: Mill, where: Place, name: str, rows: Sequence[bytes]) -> None:
    """Writes a shard of documents anew, index and ledger with it."""
    old = next(shard for shard in table(mill, where) if shard.name == name)
    writer = DocumentWriter(mill.store, OneAssetSpec(place=where, token="", recipe=old.recipe), name, old.inputs)
    writer.dropped, writer.counts, writer.quarantine = old.dropped, old.counts, old.quarantine
    pairs = [(row["source"], row["id"]) for row in map(json.loads, rows)]
    writer.write(b"".join(row + b"\n" for row in rows), pairs)
    row = writer.close().row
    reseal(mill, where, [row if shard.name == name else shard for shard in table(mill, where)])


def flip(mill: Mill, path: str, at: int = -20) -> None:
    """Flips one bit of an object."""
    data = bytearray(mill.store.read(path))
    data[at] ^= 1
    mill.store.put(path, bytes(data))
