"""Tracing: the first tokens of a cache, and whose they are."""

from collections.abc import Iterator

import msgspec

from gristmill.lake.address import SPLITS, cache_asset
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.token_stream import open_split
from gristmill.stages.token_places import owner_of


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


def first_tokens(store: Store, mix: str, tokenizer: str, stream: str, count: int) -> Iterator[Traced]:
    """The first tokens of a stream's training split, document by document, in the order that a trainer reads them.

    Raises:
        DataError: the cache has no merged ledger yet, or it and the slices' ledgers disagree.
    """
    asset, split = cache_asset(mix, tokenizer, stream), SPLITS[0]
    tokens = open_split(store, asset, split, verified=False)
    field = next(iter(tokens.fields), "")
    offset, end = 0, min(count, tokens.count(field) if field else 0)
    while offset < end:
        owner = owner_of(store, asset, split, offset)
        stop = min(owner.end, end)
        ids: list[int] = tokens.elements(field, offset, stop).tolist()
        part = owner.place.part.removeprefix(f"{asset}/{split}/").rstrip("/")
        yield Traced(offset, tuple(ids), *owner.found.pair, owner.found.shard.name, owner.mix.here.snapshot, part)
        offset = stop
