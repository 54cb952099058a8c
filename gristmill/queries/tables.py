"""The tables of a lake: one for each dataset version, attribute set, stream of a mix and token cache, and `ledgers`."""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from gristmill.errors import RecipeError, known_names
from gristmill.lake.address import SPLITS, Place
from gristmill.lake.asset_kinds import ATTRIBUTES, DOCUMENTS, MIX, TOKEN_CACHE, kind_of, names_in_asset_address
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.queries.lake_table import LakeTable
from gristmill.reading.lake_contents import lake_contents
from gristmill.reading.opened_lake import OpenedLake
from gristmill.reading.partitions import partitions_of_asset
from gristmill.reading.rows import Rows
from gristmill.reading.token_rows import snapshots_of_split
from gristmill.scores.column_file import ColumnsFile, open_columns
from gristmill.scores.described import has_kinds, known_kinds
from gristmill.scores.label_columns import PLACES, ColumnsHead, columns_of_label, make_columns

LEDGERS = "ledgers"
_KINDS = (DOCUMENTS, ATTRIBUTES, MIX, TOKEN_CACHE)
_SPLIT = "split"
_ORIGINS = (("snapshot", pa.string()), ("shard", pa.string()))


@dataclass(frozen=True)
class NamedTable:
    """A table that a query may name.

    Attributes:
        name: name as SQL takes it without quotes: `wiki_v1`, `wiki_v1_gopher_1`, `bedtime_tales`,
            `bedtime_bpe_1_tales`.
        address: address of its asset; it may be named by it too, in quotes. Empty for `ledgers`.
    """

    name: str
    address: str


def plain_table_name(name: str) -> str:
    """The form in which names of tables are compared: of an address, what names its fields.

    >>> [*map(plain_table_name, ("sources/wiki/v1/attributes/gopher-1", "wiki/v1/gopher-1", "Wiki_v1_gopher_1"))]
    ['wiki_v1_gopher_1', 'wiki_v1_gopher_1', 'wiki_v1_gopher_1']
    """
    names = next((names for kind in _KINDS if (names := kind.names(name))), None)
    return re.sub(r"[^a-z0-9]", "_", ("/".join(names.values()) if names else name).lower())


def tables_of_lake(store: Store) -> list[NamedTable]:
    """The tables of a lake, in the order of their addresses."""
    addresses = sorted(address for kind in _KINDS for address in list_assets(store, kind))
    return [*(NamedTable(plain_table_name(address), address) for address in addresses), NamedTable(LEDGERS, "")]


class Tables:
    """Opens the tables that a query names.

    Args:
        lake: the lake.
        snapshots: keys of the snapshots that are read; None: all.
        say: function that receives a line if many shards must be read before the query.
    """

    def __init__(self, lake: OpenedLake, snapshots: Sequence[str] | None, say: Callable[[str], None]) -> None:
        self._lake, self._snapshots, self._say = lake, snapshots, say
        self._store = lake.store()
        self._known = tables_of_lake(self._store)
        self._made = tempfile.TemporaryDirectory(prefix="gristmill-sql-")

    def close(self) -> None:
        """Removes the columns that were made for this query."""
        self._made.cleanup()

    def open(self, name: str) -> LakeTable:
        """The table of a name, or of the address of an asset.

        Raises:
            RecipeError: the lake has no such table; the message lists those that are near.
            DataError: a partition is not finished, or a row is wrong.
            StoreError: the lake does not answer.
        """
        found = [table for table in self._known if name in {table.address, table.name}]
        found = found or [table for table in self._known if table.name == plain_table_name(name)]
        if not found:
            raise RecipeError(f"there is no table {name!r}; {known_names(name, [table.name for table in self._known])}")
        if len(found) > 1:
            raise RecipeError(
                f"{name!r} may be {' or '.join(each.address for each in found)}: write one of them in quotes"
            )
        address = found[0].address
        if not address:
            return self._ledger_table()
        opens = {
            DOCUMENTS: self._document_table,
            ATTRIBUTES: self._label_table,
            MIX: self._mix_table,
            TOKEN_CACHE: self._token_table,
        }
        return next(table for kind, table in opens.items() if kind_of(address) is kind)(address)

    def _ledger_table(self) -> LakeTable:
        rows = [msgspec.to_builtins(each) for each in lake_contents(self._store)]
        texts, flags = ("asset", "snapshot"), ("finished",)
        kinds = {name: pa.string() for name in texts} | {name: pa.bool_() for name in flags}
        schema = pa.schema(
            [(name, kinds.get(name, pa.int64())) for name in (*texts, *flags, "shards", "rows", "bytes", "tokens")]
        )
        table = pa.Table.from_pylist(rows, schema)
        return LakeTable(schema, lambda names: iter(table.select(names).to_batches()))

    def _document_table(self, address: str) -> LakeTable:
        return _table_of_rows(lambda names: self._lake.documents(address, columns=names, snapshots=self._snapshots))

    def _mix_table(self, address: str) -> LakeTable:
        mix, stream = names_in_asset_address(address)["mix"], names_in_asset_address(address)["stream"]
        return _table_of_rows(
            lambda names: self._lake.mix(mix, streams=[stream], columns=names, snapshots=self._snapshots)
        )

    def _token_table(self, address: str) -> LakeTable:
        """The table of a token cache: the rows of both splits, with a column `split`."""
        keys = {split: snapshots_of_split(self._store, address, split) for split in SPLITS}
        known = sorted({key for found in keys.values() for key in found})
        for key in self._snapshots or ():
            if key not in known:
                raise RecipeError(f"{address}: the index names no snapshot {key!r}; {known_names(key, known)}")
        chosen = {split: [k for k in found if k in (self._snapshots or known)] for split, found in keys.items()}
        splits = [split for split in SPLITS if chosen[split]]
        names = names_in_asset_address(address)

        def rows(split: str, columns: Sequence[str] | None) -> Rows:
            cache = names["mix"], names["tokenizer"], names["stream"]
            return self._lake.tokens(*cache, split, columns=columns, snapshots=chosen[split])

        schema = (rows(splits[0], None).schema if splits else pa.schema([])).append(pa.field(_SPLIT, pa.string()))

        def batches(columns: Sequence[str]) -> Iterator[Any]:
            inner = [column for column in columns if column != _SPLIT] or ["row"]
            for split in splits:
                for batch in rows(split, inner).batches():
                    yield batch.append_column(_SPLIT, pa.repeat(split, batch.num_rows)).select(columns)

        return LakeTable(schema, batches)

    def _label_table(self, address: str) -> LakeTable:
        """The table of a set: its columns beside the ledger; those that are missing or stale are made in a temporary
        folder, because a query writes nothing to the lake.
        """
        name = names_in_asset_address(address)["set"]
        there = [
            (partition.place, shard, open_columns(self._store, partition.place, shard))
            for partition in partitions_of_asset(self._store, address, self._snapshots)
            for _, shard in sorted(partition.shards.items())
        ]
        kinds = known_kinds((found.head for _, _, found in there if found), self._lake.kinds(name))
        files: list[tuple[Place, Shard, ColumnsFile[ColumnsHead]]] = []
        missing = 0
        for place, shard, found in there:
            right = found if found and has_kinds(found.head, kinds) else None
            if right is None:
                missing += 1
                if missing == 1:
                    self._say(f"{address}: shards without columns are read; `gristmill report` keeps columns")
                right = self._make_columns_file(place, shard, kinds)
            files.append((place, shard, right))
        labels = {label: kind for _, _, file in files for label, kind in file.head.kinds.items()}
        inner = {
            field: kind for label, each in sorted(labels.items()) for field, kind in columns_of_label(name, label, each)
        }
        shown = _label_names_in_sql(list(inner), f"{name}__")
        schema = pa.schema([*PLACES, *((shown[field], kind) for field, kind in inner.items()), *_ORIGINS])
        fields = {each: field for field, each in shown.items()}
        return LakeTable(schema, lambda names: _record_batches(files, schema, fields, names))

    def _make_columns_file(
        self, partition: Place, shard: Shard, kinds: Mapping[str, str] | None
    ) -> ColumnsFile[ColumnsHead]:
        target = open_store(self._made.name, {})
        make_columns(self._store, partition, shard, kinds, target)
        found = open_columns(target, partition, shard)
        if found is None:
            raise RecipeError(f"{Path(self._made.name)}: files there were removed; query again")
        return found


def _table_of_rows(rows: Callable[[Sequence[str] | None], Rows]) -> LakeTable:
    """The table of rows that can be read with some columns only."""
    return LakeTable(rows(None).schema, lambda names: rows(names).batches())


def _label_names_in_sql(fields: Sequence[str], prefix: str) -> dict[str, str]:
    """The names that labels have in SQL, by their field: without the set's name. SQL does not tell `En` from `en`."""
    taken = {name for name, _ in (*PLACES, *_ORIGINS)}
    shown: dict[str, str] = {}
    for field in fields:
        name = field.removeprefix(prefix)
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        shown[field] = name
    return shown


def _record_batches(
    files: Sequence[tuple[Place, Shard, ColumnsFile[ColumnsHead]]],
    schema: Any,
    fields: dict[str, str],
    names: Sequence[str],
) -> Iterator[Any]:
    """Record batches of some columns of a set."""
    wanted = pa.schema([schema.field(name) for name in names])
    for place, shard, file in files:
        origin = {"snapshot": place.snapshot, "shard": shard.name}
        inner = [fields.get(name, name) for name in names if name not in origin]
        there = set(file.names)
        table = file.table([name for name in inner if name in there] or ["row"])
        arrays = [
            pa.repeat(origin[name], table.num_rows)
            if name in origin
            else table.column(fields.get(name, name)).combine_chunks()
            if fields.get(name, name) in there
            else pa.nulls(table.num_rows, wanted.field(name).type)
            for name in names
        ]
        yield from pa.table(arrays, schema=wanted).to_batches(max_chunksize=1 << 16)
