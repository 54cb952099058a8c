"""Token places: where the tokens of a document lie in a token cache, and which document a token belongs to.

A cache keeps its documents' order. The ledger's row of a part says where the rows of each shard begin in each split,
which documents have no row, and which were held out for validation: counting them leads from a document to its row and
back. Caches of Gristmill 0.1 do not say who was held out: there the shard is read, and drawn once more.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME
from gristmill.lake.address import SPLITS, cache_asset, mix_asset, place
from gristmill.lake.asset_kinds import names_of
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.batches import IdPair, read_rows
from gristmill.lake.rows.bitmap import unpack_bits
from gristmill.lake.rows.draw import fraction
from gristmill.lake.store.protocol import Store
from gristmill.stages.token_cache.part import (
    PartRecord,
    PartShard,
    read_part_record,
    row_with_folder,
    row_with_shard,
)
from gristmill.stages.token_cache.token_stream import INDEX_MEND, open_split
from gristmill.tracing.rows import REMADE, Located, Standing, row_of, standing

NOT_YET = "not in the cache's index, and so in no stream: materialize the index, unless another edition replaced it"
NO_ROW = "dropped when it was tokenized: its row was in trouble, and the stream's format drops such rows"


class TokenPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a document lies in a token cache.

    Attributes:
        asset: of the cache.
        split: `train` or `validation`; empty if it has no row.
        part: folder of the part.
        row: number of its row in the part.
        tokens: [start, end) in the stream of all parts of the split; None while the index does not name the part.
        why: what is not there, and why.
    """

    asset: str
    split: str = ""
    part: str = ""
    row: int | None = None
    tokens: tuple[int, int] | None = None
    why: str = ""


@dataclass(frozen=True)
class _Shard:
    """A shard in a part of a cache: for each of its documents the split, as a number; -1: it has no row."""

    old: PartShard
    splits: NDArray[np.int8]

    def row_of(self, document: int) -> tuple[str, int] | None:
        """The split of a document and its row in the part, or None."""
        number = int(self.splits[document])
        if number < 0:
            return None
        before = int(np.count_nonzero(self.splits[:document] == number))
        return SPLITS[number], self.old.ranges[SPLITS[number]][0] + before

    def document_at(self, split: str, row: int) -> int:
        """The document whose row in the part this is."""
        here = np.flatnonzero(self.splits == SPLITS.index(split))
        return int(here[row - self.old.ranges[split][0]])


def token_place(cache: Standing, mix: Standing, found: Located) -> TokenPlace:
    """Where a document of a mix lies in one of its caches.

    Args:
        cache: the slice of the cache.
        mix: the slice of the mix, of the same snapshot.
        found: the document's row there.

    Raises:
        DataError: the ledger contradicts itself, or the cache is damaged.
    """
    name, asset = found.shard.name, cache.here.asset
    row = row_with_shard(cache.shards.values(), name)
    if row is None:
        return TokenPlace(asset, why=f"has no shard {name}: it is due to be made again")
    part = read_part_record(row, cache.here.table)
    if part.shards[name].content != found.shard.content:
        return TokenPlace(asset, why=REMADE)
    at = _shard(cache, mix, part.shards[name], found.shard).row_of(found.row)
    return TokenPlace(asset, why=NO_ROW) if at is None else _placed(cache, part, *at)


def _placed(cache: Standing, part: PartRecord, split: str, row: int) -> TokenPlace:
    folder, asset = part.folders[split], cache.here.asset
    top = f"{asset}/{split}"
    if cache.store.head(f"{top}/{LEDGER_NAME}") is None:
        return TokenPlace(asset, split, folder, row, why=NOT_YET)
    stream = open_split(cache.store, asset, split, verified=False)
    first = stream.first_row_of(folder.removeprefix(f"{top}/").rstrip("/"))
    if first is None:
        return TokenPlace(asset, split, folder, row, why=NOT_YET)
    start, end = stream.bounds(stream.fields[0], first + row, first + row + 1).tolist()
    return TokenPlace(asset, split, folder, row, (start, end))


@dataclass(frozen=True)
class TokenOwner:
    """Whose a token is: the slice of the mix, the document's row there, and its tokens from `start` to before `end`."""

    mix: Standing
    found: Located
    place: TokenPlace
    start: int
    end: int


def owner_of(store: Store, asset: str, split: str, offset: int) -> TokenOwner:
    """Whose a token of a stream is.

    Args:
        store: the lake.
        asset: `token_caches/<mix>/<tokenizer>/<stream>`.
        split: `train` or `validation`.
        offset: of the token, from 0, in the stream of all parts of the split.

    Raises:
        DataError: there is no such token; or the cache, its index and its mix do not agree.
    """
    stream = open_split(store, asset, split, verified=False)
    count = stream.count(stream.fields[0]) if stream.fields else 0
    if not 0 <= offset < count:
        end = f"the last one is {count - 1:,}" if count else "it has none"
        raise DataError(f"{stream.path}: there is no token {offset:,}: {end}")
    row = stream.row_of(stream.fields[0], offset)
    path, number = stream.part_of(row)
    cache, part = _named_part(store, asset, split, path)
    name = next((n for n, old in part.shards.items() if _holds(old, split, number)), None)
    names = names_of(asset)
    documents = mix_asset(names["mix"], names["stream"])
    mix = standing(store, place(documents, cache.here.snapshot))
    if name is None or mix is None or name not in mix.shards:
        raise DataError(f"{stream.path}/{path}: row {number} is of no shard of {documents}")
    old, shard = part.shards[name], mix.shards[name]
    if old.content != shard.content:
        raise DataError(
            f"{asset} ({cache.here.snapshot}): shard {name} was tokenized from another state of it: {mix.here.asset}"
            " was made again since; materialize the cache"
        )
    found = row_of(mix, name, _shard(cache, mix, old, shard).document_at(split, number))
    start, end = stream.bounds(stream.fields[0], row, row + 1).tolist()
    here = TokenPlace(asset, split, part.folders[split], number, (start, end))
    return TokenOwner(mix, found, here, start, end)


def _holds(old: PartShard, split: str, row: int) -> bool:
    first, rows, _, _ = old.ranges[split]
    return first <= row < first + rows


def _named_part(store: Store, asset: str, split: str, path: str) -> tuple[Standing, PartRecord]:
    """The slice that a part lies in, and what its ledger says of the part."""
    cache = standing(store, place(asset, path.partition("/")[0]))
    row = row_with_folder(cache.shards.values(), split, f"{asset}/{split}/{path}/") if cache else None
    if cache and row:
        return cache, read_part_record(row, cache.here.table)
    raise DataError(f"{asset}/{split}/{path}: no ledger names this part any longer; {INDEX_MEND}")


def _shard(cache: Standing, mix: Standing, old: PartShard, shard: Shard) -> _Shard:
    """Where each document of a shard went.

    Raises:
        DataError: they are not as many as the ranges have rows.
    """
    splits = np.zeros(shard.rows, np.int8)
    share = float(cache.head.recipe.parameters["validation"])
    if old.held:
        splits[unpack_bits(old.held, shard.rows)] = 1
    elif share:
        splits[_drawn(mix, shard, share, int(cache.head.recipe.parameters["validation_seed"]))] = 1
    splits[list(old.dropped)] = -1
    found = {split: int(np.count_nonzero(splits == number)) for number, split in enumerate(SPLITS)}
    said = {split: old.ranges[split][1] if split in old.ranges else 0 for split in SPLITS}
    if found != said:
        raise DataError(
            f"{cache.here.table}: shard {shard.name}: documents by split are {found}, its rows {said};"
            " materialize the cache again"
        )
    return _Shard(old, splits)


def _drawn(mix: Standing, shard: Shard, share: float, seed: int) -> NDArray[np.bool_]:
    """Which documents a draw by the hash of (source, id) holds out."""
    path = mix.here.shard(shard.name)
    flags: list[bool] = []
    for _, rows in read_rows(mix.store, path, shard.sha256, IdPair):
        flags += [fraction(row.pair, seed) < share for row in rows]
    return np.array(flags, np.bool_)


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
