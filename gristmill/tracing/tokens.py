"""Finds the tokens of a document in a token cache, and the document of a token.

A cache keeps the order of its documents. For each shard, the ledger's row of a part has the first row in each split,
the documents that have no row, and the documents held out for validation. Counting them leads from a document to its
row, and back. Ledgers of Gristmill 0.1 do not list the documents held out. For these, the shard is read and the draw
is repeated.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME
from gristmill.lake.address import SPLITS, cache_asset, mix_asset, place
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.batches import IdPair
from gristmill.lake.rows.bitmap import unpack_bits
from gristmill.lake.rows.draw import draw_fraction
from gristmill.lake.store.json_object import read_free_form
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.part import (
    PartRecord,
    PartShard,
    row_with_folder,
    row_with_shard,
)
from gristmill.stages.token_cache.token_stream import INDEX_MEND, open_split
from gristmill.tracing.rows import REMADE, LocatedRow, Partition, find_partition, read_located_row

NOT_YET = "not in the cache's index: make the index (a source that replaces snapshots has only the newest there)"
NO_ROW = "dropped when it was tokenized: its row had an error, and the stream's format drops such rows"


class TokenPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """The position of a document in a token cache.

    Attributes:
        asset: address of the cache.
        split: `train` or `validation`; empty if the document has no row.
        part: folder of the part.
        row: number of the document's row in the part, from 0.
        tokens: [start, end) in the stream of all parts of the split; None while the index does not name the part.
        why: reasons why something is missing.
    """

    asset: str
    split: str = ""
    part: str = ""
    row: int | None = None
    tokens: tuple[int, int] | None = None
    why: str = ""


@dataclass(frozen=True)
class TracedShard:
    """A shard in a part of a cache.

    Attributes:
        old: the part's record of the shard.
        splits: (documents,) int8: the number of each document's split in SPLITS; -1: the document has no row.
    """

    old: PartShard
    splits: NDArray[np.int8]

    def split_and_row(self, document: int) -> tuple[str, int] | None:
        """The split of a document and its row in the part; None if it has no row."""
        number = int(self.splits[document])
        if number < 0:
            return None
        before = int(np.count_nonzero(self.splits[:document] == number))
        return SPLITS[number], self.old.ranges[SPLITS[number]][0] + before

    def document_at(self, split: str, row: int) -> int:
        """The number of the document that has this row of the part."""
        documents = np.flatnonzero(self.splits == SPLITS.index(split))
        return int(documents[row - self.old.ranges[split][0]])


def find_token_place(cache: Partition, mix: Partition, document: LocatedRow) -> TokenPlace:
    """Finds a document of a mix in one of the mix's caches.

    Args:
        cache: the slice of the cache.
        mix: the slice of the mix, of the same snapshot.
        document: the document's row in the mix.

    Returns:
        The place, as far as it is known.

    Raises:
        DataError: the ledger contradicts itself, or the cache is damaged.
    """
    name, asset = document.shard.name, cache.place.asset
    row = row_with_shard(cache.shards.values(), name)
    if row is None:
        return TokenPlace(asset, why=f"has no shard {name}: it is due to be rebuilt")
    part = PartRecord.decode_from_row(row, cache.place.table)
    if part.shards[name].content != document.shard.identity:
        return TokenPlace(asset, why=REMADE)
    key = (row.name, name, document.shard.content)
    traced = cache.read_once(
        "splits", key, lambda: trace_shard_documents(cache, mix, part.shards[name], document.shard)
    )
    position = traced.split_and_row(document.row)
    return TokenPlace(asset, why=NO_ROW) if position is None else _token_place(cache, part, *position)


def _token_place(cache: Partition, part: PartRecord, split: str, row: int) -> TokenPlace:
    folder, asset = part.folders[split], cache.place.asset
    top = f"{asset}/{split}"
    if cache.store.head(f"{top}/{LEDGER_NAME}") is None:
        return TokenPlace(asset, split, folder, row, why=NOT_YET)
    stream = cache.read_once(f"stream of {split}", split, lambda: open_split(cache.store, asset, split, verified=False))
    first = stream.first_row_of_part(folder.removeprefix(f"{top}/").rstrip("/"))
    if first is None:
        return TokenPlace(asset, split, folder, row, why=NOT_YET)
    start, end = stream.row_bounds(stream.fields[0], first + row, first + row + 1).tolist()
    return TokenPlace(asset, split, folder, row, (start, end))


@dataclass(frozen=True)
class TokenOwner:
    """The document of a token.

    Attributes:
        mix: the slice of the mix that contains the document.
        found: the document's row there.
        place: the document's position in the cache.
        start: offset of the document's first token in the split's stream.
        end: offset after its last token.
    """

    mix: Partition
    found: LocatedRow
    place: TokenPlace
    start: int
    end: int


def owner_of_token(store: Store, asset: str, split: str, offset: int) -> TokenOwner:
    """Finds the document of a token.

    Args:
        store: the lake.
        asset: address of the cache, `token_caches/<mix>/<tokenizer>/<stream>`.
        split: `train` or `validation`.
        offset: the token's offset, from 0, in the stream of all parts of the split.

    Returns:
        The document, and the place of its row in the split.

    Raises:
        DataError: no such token exists; or the cache, its index and its mix do not agree.
    """
    stream = open_split(store, asset, split, verified=False)
    count = stream.count(stream.fields[0]) if stream.fields else 0
    if not 0 <= offset < count:
        end = f"the last one is {count - 1:,}" if count else "the stream has no tokens"
        raise DataError(f"{stream.path}: there is no token {offset:,}: {end}")
    row = stream.row_of_element(stream.fields[0], offset)
    path, number = stream.part_of_row(row)
    cache, part = _slice_of_part(store, asset, split, path)
    name = next((n for n, old in part.shards.items() if _contains_row(old, split, number)), None)
    names = names_in_asset_address(asset)
    documents = mix_asset(names["mix"], names["stream"])
    mix = find_partition(store, place(documents, cache.place.snapshot))
    if name is None or mix is None or name not in mix.shards:
        raise DataError(f"{stream.path}/{path}: row {number} belongs to no shard of {documents}; make the cache again")
    old, shard = part.shards[name], mix.shards[name]
    if old.content != shard.identity:
        raise DataError(
            f"{asset} ({cache.place.snapshot}): shard {name} was tokenized from another version of it:"
            f" {mix.place.asset} was rebuilt since; make the cache"
        )
    document = read_located_row(mix, name, trace_shard_documents(cache, mix, old, shard).document_at(split, number))
    start, end = stream.row_bounds(stream.fields[0], row, row + 1).tolist()
    position = TokenPlace(asset, split, part.folders[split], number, (start, end))
    return TokenOwner(mix, document, position, start, end)


def _contains_row(old: PartShard, split: str, row: int) -> bool:
    first, rows, _, _ = old.ranges.get(split, (0, 0, 0, 0))
    return first <= row < first + rows


def _slice_of_part(store: Store, asset: str, split: str, path: str) -> tuple[Partition, PartRecord]:
    """The slice that a part belongs to, and the record of the part in its ledger."""
    cache = find_partition(store, place(asset, path.partition("/")[0]))
    row = row_with_folder(cache.shards.values(), split, f"{asset}/{split}/{path}/") if cache else None
    if cache and row:
        return cache, PartRecord.decode_from_row(row, cache.place.table)
    raise DataError(f"{asset}/{split}/{path}: no ledger names this part any longer; {INDEX_MEND}")


def trace_shard_documents(cache: Partition, mix: Partition, old: PartShard, shard: Shard) -> TracedShard:
    """The split of each document of a shard.

    Args:
        cache: the slice of the cache.
        mix: the slice of the mix, of the same snapshot.
        old: the part's record of the shard.
        shard: the shard of the mix, in the version that was tokenized.

    Raises:
        DataError: the number of documents in a split differs from the number of its rows in the ledger.
    """
    splits = np.zeros(shard.rows, np.int8)
    with read_free_form(cache.place.ledger):
        share = float(cache.head.recipe.parameters["validation"])
        seed = int(cache.head.recipe.parameters["validation_seed"]) if share else 0
    if old.held:
        splits[unpack_bits(old.held, shard.rows)] = 1
    elif share:
        splits[_drawn_flags(mix, shard, share, seed)] = 1
    splits[list(old.dropped)] = -1
    documents = {split: int(np.count_nonzero(splits == number)) for number, split in enumerate(SPLITS)}
    recorded = {split: old.ranges[split][1] if split in old.ranges else 0 for split in SPLITS}
    if documents != recorded:
        raise DataError(
            f"{cache.place.table}: shard {shard.name}: documents by split are {documents}, but its rows are {recorded};"
            " make the cache again"
        )
    return TracedShard(old, splits)


def _drawn_flags(mix: Partition, shard: Shard, share: float, seed: int) -> NDArray[np.bool_]:
    """For each document, whether the draw by the hash of (source, id) holds it out for validation."""
    flags: list[bool] = []
    for _, rows in open_shard(mix.store, mix.place, shard).rows(IdPair):
        flags += [draw_fraction(row.pair, seed) < share for row in rows]
    return np.array(flags, np.bool_)


class TracedTokens(msgspec.Struct, frozen=True):
    """Tokens of one document in a cache.

    Attributes:
        offset: offset of the first of these tokens in the split's stream.
        ids: the token ids (at most as many as were asked for).
        source: the document's source.
        id: the document's id.
        shard: the shard of the mix that contains the document.
        snapshot: the shard's snapshot.
        part: the part of the cache.
    """

    offset: int
    ids: tuple[int, ...]
    source: str
    id: str
    shard: str
    snapshot: str
    part: str


def first_tokens(store: Store, mix: str, tokenizer: str, stream: str, count: int) -> Iterator[TracedTokens]:
    """The first tokens of a stream's training split, document by document, in the order in which a trainer reads them.

    Args:
        store: the lake.
        mix: name of the mix.
        tokenizer: name of the tokenizer.
        stream: name of the stream.
        count: number of tokens.

    Raises:
        DataError: the cache has no merged ledger yet, or it contradicts the slices' ledgers.
    """
    asset, split = cache_asset(mix, tokenizer, stream), SPLITS[0]
    tokens = open_split(store, asset, split, verified=False)
    field = next(iter(tokens.fields), "")
    offset, end = 0, min(count, tokens.count(field) if field else 0)
    while offset < end:
        owner = owner_of_token(store, asset, split, offset)
        stop = min(owner.end, end)
        ids: list[int] = tokens.read_elements(field, offset, stop).tolist()
        part = owner.place.part.removeprefix(f"{asset}/{split}/").rstrip("/")
        yield TracedTokens(
            offset, tuple(ids), *owner.found.pair, owner.found.shard.name, owner.mix.place.snapshot, part
        )
        offset = stop
