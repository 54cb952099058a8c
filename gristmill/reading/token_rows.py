"""The rows of a token cache with their documents, in the order in which a trainer reads them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from gristmill.errors import DataError, RecipeError, known_names
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME
from gristmill.lake.address import SPLITS, cache_index, mix_asset, place
from gristmill.lake.asset_kinds import ledger_of_asset, names_in_asset_address
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.index_ledger import read_index_ledger
from gristmill.lake.rows.batches import IdPair
from gristmill.lake.store.json_object import read_free_form
from gristmill.lake.store.protocol import Store
from gristmill.reading.arguments import check_count, check_names
from gristmill.reading.partitions import open_partition
from gristmill.reading.rows import Rows
from gristmill.recipes.row_format import Text, format_from_mapping
from gristmill.stages.token_cache.part import PartRecord, row_with_folder
from gristmill.stages.token_cache.token_stream import INDEX_MEND, TokenStream, open_split
from gristmill.tracing.rows import Partition
from gristmill.tracing.tokens import trace_shard_documents

DecodeRows = Callable[[list[list[int]]], list[str]]
"""Decodes the token ids of each row to text."""

ELEMENTS = 1 << 20
"""Most tokens of a batch, unless a single row has more."""

_ORIGIN = ("source", "id", "snapshot", "shard", "row")


@dataclass(frozen=True)
class _Part:
    """A part of the cache: the slices that it belongs to, its record, and the number of its first row in the split."""

    cache: Partition
    mix: Partition
    record: PartRecord
    first: int


class TokenRows(Rows):
    """Rows of a token cache. OpenedLake.tokens() describes the arguments.

    Args:
        store: the lake.
        asset: address of the cache.
        split: `train` or `validation`.
        columns: names of the columns, in order; None: all.
        snapshots: keys of the snapshots; None: all of the split.
        shards: names of shards of the mix; None: all.
        limit: most rows; None: all.
        decode: decoder of the column `text`; None: there is no such column.
        verified: whether the cache's objects are compared with their ledgers.

    Raises:
        RecipeError: a column, split, snapshot or shard does not exist.
        DataError: the cache has no index, or a slice of it is not finished.
        StoreError: a run is at work on a slice.
    """

    def __init__(
        self,
        store: Store,
        asset: str,
        split: str,
        columns: Sequence[str] | None,
        snapshots: Sequence[str] | None,
        shards: Sequence[str] | None,
        limit: int | None,
        decode: DecodeRows | None,
        *,
        verified: bool = True,
    ) -> None:
        if split not in SPLITS:
            raise RecipeError(f"there is no split {split!r}; {known_names(split, SPLITS)}")
        check_count("limit is", limit)
        check_names(columns=columns, snapshots=snapshots, shards=shards)
        self._store, self._split, self._decode, self._verified = store, split, decode, verified
        self._stream = open_split(store, asset, split, verified=verified)
        self._parts = _parts_of_split(store, asset, split, self._stream, snapshots)
        self._only = _checked_shards(self._parts, shards, asset)
        dtypes = _declared_dtypes(self._parts)
        types = {name: pa.list_(pa.from_numpy_dtype(np.dtype(dtype))) for name, dtype in dtypes.items()}
        types |= {name: pa.int64() if name == "row" else pa.string() for name in _ORIGIN}
        types |= {"text": pa.string()} if decode else {}
        for name in columns or ():
            if name not in types:
                raise RecipeError(f"{asset}: there is no column {name!r}; {known_names(name, types)}")
        chosen = [*columns, *(["text"] if decode and "text" not in columns else [])] if columns is not None else types
        schema = pa.schema([(name, types[name]) for name in chosen])
        self._ids = next(iter(dtypes))
        self._fields = [name for name in chosen if name in dtypes]
        self._paired = "source" in chosen or "id" in chosen
        rows = sum(bounds[1] for part in self._parts for _, bounds in self._row_ranges(part))
        title = f"{asset} ({split})"
        super().__init__(schema, self._read_batches, title, rows if limit is None else min(rows, limit))

    def _row_ranges(self, part: _Part) -> list[tuple[str, tuple[int, int, int, int]]]:
        ranges = part.record.in_order(self._split)
        return [(name, bounds) for name, bounds in ranges if self._only is None or name in self._only]

    def _read_batches(self) -> Iterator[Any]:
        for part in self._parts:
            for name, (first, rows, _, _) in self._row_ranges(part):
                if rows:
                    yield from self._read_shard_rows(part, name, part.first + first)

    def _read_shard_rows(self, part: _Part, name: str, first: int) -> Iterator[Any]:
        """The rows of one shard; `first` is the number of its first row in the split."""
        documents = self._documents_with_rows(part, name)
        for start, count, pairs in self._document_blocks(part, name):
            here = documents[(documents >= start) & (documents < start + count)]
            done = 0
            while done < len(here):
                ends = self._stream.row_bounds(self._ids, first + done, first + len(here))
                taken = max(1, int(np.searchsorted(ends, ends[0] + ELEMENTS, "right")) - 1)
                some = here[done : done + taken]
                origin = {"snapshot": part.mix.place.snapshot, "shard": name}
                chosen = [pairs[number] for number in (some - start).tolist()] if pairs else []
                yield self._token_batch(first + done, some, chosen, origin)
                done += len(some)
            first += len(here)

    def _documents_with_rows(self, part: _Part, name: str) -> Any:
        """The numbers of the mix's documents that have a row in the split, in order."""
        shard, old = part.mix.shards.get(name), part.record.shards[name]
        if shard is None or shard.identity != old.content:
            where = part.mix.place
            raise DataError(
                f"{part.cache.place.asset}, snapshot {where.snapshot}: shard {name} was tokenized from another version:"
                f" {where.asset} was made again since; make the token cache"
            )
        return np.flatnonzero(
            trace_shard_documents(part.cache, part.mix, old, shard).splits == SPLITS.index(self._split)
        )

    def _document_blocks(self, part: _Part, name: str) -> Iterator[tuple[int, int, list[Pair]]]:
        """(number of the first document, documents, their pairs) of each block of a shard of the mix."""
        shard = part.mix.shards[name]
        if not self._paired:
            yield 0, shard.rows, []
            return
        for first, rows in open_shard(self._store, part.mix.place, shard).rows(IdPair, verified=self._verified):
            yield first, len(rows), [row.pair for row in rows]

    def _token_batch(self, first: int, documents: Any, pairs: list[Pair], origin: dict[str, str]) -> Any:
        count = len(documents)
        arrays: dict[str, Any] = {"row": pa.array(documents, pa.int64())}
        for name in dict.fromkeys((*self._fields, *([self._ids] if self._decode else []))):
            bounds = self._stream.row_bounds(name, first, first + count)
            values = self._stream.read_elements(name, int(bounds[0]), int(bounds[-1]))
            arrays[name] = pa.ListArray.from_arrays(pa.array(bounds - bounds[0], pa.int32()), pa.array(values))
        for name, value in origin.items():
            arrays[name] = pa.repeat(pa.scalar(value, pa.string()), count)
        if pairs:
            arrays["source"] = pa.array([source for source, _ in pairs], pa.string())
            arrays["id"] = pa.array([id_ for _, id_ in pairs], pa.string())
        if self._decode:
            arrays["text"] = pa.array(self._decode(arrays[self._ids].to_pylist()), pa.string())
        return pa.record_batch([arrays[field.name] for field in self.schema], schema=self.schema)


def snapshots_of_split(store: Store, asset: str, split: str) -> list[str]:
    """The keys of the snapshots that have rows in a split of a token cache, in the order of its index.

    Args:
        store: the lake.
        asset: address of the cache.
        split: `train` or `validation`.

    Raises:
        DataError: the cache has no index.
    """
    names = names_in_asset_address(asset)
    closed = read_index_ledger(store, ledger_of_asset(cache_index(names["mix"], names["tokenizer"])))
    is_closed = closed is not None and any(each.asset == asset for each in closed.inputs)
    if closed is not None and is_closed and f"{asset}/{split}/{LEDGER_NAME}" not in closed.files:
        return []  # as `validation` of a mix that holds nothing out
    return list(dict.fromkeys(part.partition("/")[0] for part in open_split(store, asset, split, verified=False).parts))


def _parts_of_split(
    store: Store, asset: str, split: str, stream: TokenStream, snapshots: Sequence[str] | None
) -> list[_Part]:
    """The parts of a split in order, with the slices that they belong to."""
    known = list(dict.fromkeys(part.partition("/")[0] for part in stream.parts))
    for key in snapshots or ():
        if key not in known:
            raise RecipeError(f"{stream.path}: the index names no snapshot {key!r}; {known_names(key, known)}")
    names = names_in_asset_address(asset)
    slices: dict[str, tuple[Partition, Partition]] = {}
    for key in known if snapshots is None else snapshots:
        documents = place(mix_asset(names["mix"], names["stream"]), key)
        opened = [open_partition(store, where) for where in (place(asset, key), documents)]
        cache, mix = (Partition(store, each.place, each.head, each.shards) for each in opened)
        slices[key] = cache, mix
    parts: list[_Part] = []
    for part in stream.parts:
        key = part.partition("/")[0]
        if key not in slices:
            continue
        cache, mix = slices[key]
        row = row_with_folder(cache.shards.values(), split, f"{asset}/{split}/{part}/")
        first = stream.first_row_of_part(part)
        if row is None or first is None:
            raise DataError(f"{asset}/{split}/{part}: no ledger names this part any longer; {INDEX_MEND}")
        parts.append(_Part(cache, mix, PartRecord.decode_from_row(row, cache.place.table), first))
    return parts


def _checked_shards(parts: Sequence[_Part], shards: Sequence[str] | None, asset: str) -> set[str] | None:
    if shards is None:
        return None
    known = {name for part in parts for name in part.record.shards}
    for name in shards:
        if name not in known:
            raise RecipeError(f"{asset}: there is no shard {name!r}; {known_names(name, sorted(known))}")
    return set(shards)


def _declared_dtypes(parts: Sequence[_Part]) -> dict[str, str]:
    """The element type of each field, as the recipe in the cache's ledger declares the format of its rows."""
    if not parts:
        return dict(Text().dtypes)
    cache = parts[0].cache
    with read_free_form(cache.place.ledger):
        declared = cache.head.recipe.parameters["format"]
        return dict((Text() if declared == "text" else format_from_mapping(declared)).dtypes)
