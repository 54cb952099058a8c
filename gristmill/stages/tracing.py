"""Tracing: which documents the tokens of a cache came from."""

import json
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.address import Place, cache_asset, mix_asset, place
from gristmill.lake.identity import Pair, fraction
from gristmill.lake.ledger import read_ledger
from gristmill.lake.levanter_cache import CacheReader, ranges_of
from gristmill.lake.levanter_ledger import LEDGER_NAME
from gristmill.lake.rows import decode_rows
from gristmill.lake.shards import read_blocks
from gristmill.lake.store import Store
from gristmill.stages.token_cache_grinder import IDS, OldShard
from gristmill.stages.tokenizing import VALIDATION_SEED


class Traced(msgspec.Struct, frozen=True):
    """One document's tokens as they stand in a cache, from some token of the stream on.

    Attributes:
        offset: of the first of these tokens in the stream's split.
        ids: the token ids (at most as many as were asked for).
        source: of the document.
        id: of the document.
        shard: the mix's shard it stands in.
        snapshot: of that shard.
        part: the part of the cache.
    """

    offset: int
    ids: tuple[int, ...]
    source: str
    id: str
    shard: str
    snapshot: str
    part: str


class _Id(msgspec.Struct):
    id: str
    source: str


def first_tokens(store: Store, mix: str, tokenizer: str, stream: str, count: int) -> Iterator[Traced]:
    """The first tokens of a stream's training split, document by document, in the order that a trainer reads them.

    Raises:
        DataError: the cache has no merged ledger yet, or it and the slices' ledgers disagree.
    """
    asset = cache_asset(mix, tokenizer, stream)
    path = f"{asset}/train/{LEDGER_NAME}"
    found = store.read_tagged(path)
    if found is None:
        raise DataError(f"{path}: not there yet; materialize the cache's index")
    offset = 0
    for part in json.loads(found[0])["finished_shards"]:
        for traced in _of_part(store, mix, stream, asset, part, offset, count):
            yield traced
            count -= len(traced.ids)
            offset = traced.offset + len(traced.ids)
        if count <= 0:
            return


def _of_part(store: Store, mix: str, stream: str, asset: str, part: str, offset: int, count: int) -> Iterator[Traced]:
    snapshot, _, folder = part.partition("/")
    head, rows = read_ledger(store, place(asset, snapshot))
    row = next((r for r in rows if str(r.extra["folders"]["train"]).rstrip("/").endswith(f"/{folder}")), None)
    if row is None:
        raise DataError(f"{asset}: no ledger of {snapshot} names {folder}; materialize the cache's index again")
    shards = msgspec.convert(row.extra["shards"], dict[str, OldShard])
    reader = CacheReader(ranges_of(store), f"{asset}/train/{part}")
    share = float(head.recipe.parameters["validation"])
    documents = place(mix_asset(mix, stream), snapshot)
    for name, shard in sorted(shards.items(), key=lambda item: item[1].ranges["train"][0]):
        first = shard.ranges["train"][0]
        for number, pair in enumerate(train_pairs(store, documents, name, share)):
            if count <= 0:
                return
            ids: Sequence[int] = row_ids(reader, first + number)[:count].tolist()
            yield Traced(offset, tuple(ids), pair[0], pair[1], name, snapshot, part)
            offset += len(ids)
            count -= len(ids)


def row_ids(reader: CacheReader, row: int) -> NDArray[np.int32]:
    """The token ids of one row."""
    return reader.row(IDS, row).astype(np.int32)


def train_pairs(store: Store, documents: Place, shard: str, validation: float) -> Iterator[Pair]:
    """The documents of a mix's shard that are not held out for validation, in order."""
    decoder = msgspec.json.Decoder(_Id)
    path = documents.shard(shard)
    first = 0
    for block in read_blocks(store, path):
        for row in decode_rows(decoder, block, path, first):
            first += 1
            pair = (row.source, row.id)
            if not validation or fraction(pair, VALIDATION_SEED) >= validation:
                yield pair
