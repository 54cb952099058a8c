"""Traces a document from its raw bytes to its tokens, and a token back to its document.

A shard has the same name in every version, every attribute set and every mix. So all shards are searched only once, in
the first version that exists. Downstream, the document is in the shard of the same name, or it was dropped.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from gristmill.errors import DataError, Misaligned, Unknown
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import (
    ATTRIBUTES,
    DOCUMENTS,
    MIX,
    PARTITIONED,
    RAW,
    TOKEN_CACHE,
    kind_of,
    names_in_asset_address,
    report_rank,
)
from gristmill.lake.ledger.files import read_head
from gristmill.lake.ledger.model import Input, Ledger, Upstream
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.protocol import Store
from gristmill.text.differences import Difference
from gristmill.threads import thread_pool
from gristmill.tracing.parts import PartPlace, trace_part
from gristmill.tracing.raw import RawPlace, Shelves, find_raw_place
from gristmill.tracing.rows import (
    AT_ONCE,
    REMADE,
    LocatedRow,
    Partition,
    find_partition,
    locate_in_partition,
    locate_in_shard,
    other_sources_hint,
    parent_version,
    read_located_row,
    text_changes,
)
from gristmill.tracing.tokens import TokenPlace, find_token_place, owner_of_token


class RowPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """The position of a document in a dataset version, an attribute set or a mix.

    Attributes:
        asset: address of the asset.
        path: path of the shard; empty if the document is not in it.
        row: number of the row, from 0.
        member: bytes [start, end) of the gzip member that holds the row.
        attributes: the document's attributes in an attribute set, as JSON.
        why: reason why the document is missing, or why the row is about to change.
        changes: the first differences between the text in the version that was read and the text here.
    """

    asset: str
    path: str = ""
    row: int | None = None
    member: tuple[int, int] | None = None
    attributes: Any = None
    why: str = ""
    changes: tuple[Difference, ...] = ()


OTHERS = tuple(kind for kind in PARTITIONED if kind not in {DOCUMENTS, ATTRIBUTES, MIX, TOKEN_CACHE})
"""The kinds of assets in which a document is traced only to the part, not to a row."""


class DocumentTrace(msgspec.Struct, frozen=True):
    """All positions of one document in one snapshot. `raw` is None if v0 is not in the lake."""

    source: str
    id: str
    snapshot: str
    shard: str
    raw: RawPlace | None
    documents: tuple[RowPlace, ...]
    attributes: tuple[RowPlace, ...]
    mixes: tuple[RowPlace, ...]
    token_caches: tuple[TokenPlace, ...]
    parts: tuple[PartPlace, ...] = ()


class TokenTrace(msgspec.Struct, frozen=True):
    """A token and its document.

    Attributes:
        asset: address of the token cache.
        split: `train` or `validation`.
        offset: the token's offset in the split's stream.
        number: the token's number in the document, from 0.
        tokens: [start, end) of the document's tokens in the split's stream.
        document: all positions of the document.
    """

    asset: str
    split: str
    offset: int
    number: int
    tokens: tuple[int, int]
    document: DocumentTrace


def trace_document(
    store: Store, source: str, id_: str, shelves: Shelves, snapshot: str = ""
) -> Iterator[DocumentTrace]:
    """All positions of a document, one result for each snapshot.

    Args:
        store: the lake.
        source: the document's field `source`; usually the name of its source. If the lake has a source of this name,
            it is searched first, then the other sources.
        id_: the document's id.
        shelves: recipes; used only if the lake itself does not have the answer.
        snapshot: search only this snapshot; empty: all.

    Raises:
        Unknown: no such document exists.
        DataError: the rows found contradict each other.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    sources = [names_in_asset_address(asset)["source"] for asset in list_assets(store, RAW)]
    first = [name for name in sources if name == source]
    searched: list[Partition] = []
    for group in (first, [name for name in sources if name != source]):
        found = False
        for name in group:
            for version in _first_versions(store, name, snapshot):
                searched.append(version)
                located = locate_in_partition(version, (source, id_))
                if located is not None:
                    found = True
                    yield _all_document_places(version, located, shelves)
        if found:
            return
    names = [f"{each.place.asset} ({each.place.snapshot})" for each in searched[:_NAMED]]
    more = f" and {len(searched) - _NAMED} more" if len(searched) > _NAMED else ""
    raise Unknown(
        f"no document has the id {id_!r} and the source {source!r}; looked for in"
        f" {', '.join(names) or 'no finished partition'}{more}.{other_sources_hint(searched[:_NAMED], source)}"
        " Refused rows have no id; look for them in quarantine/"
    )


_NAMED = 8
"""Partitions that a message names at most."""


def trace_token_document(store: Store, asset: str, split: str, offset: int, shelves: Shelves) -> TokenTrace:
    """The document of a token, with all its positions. Arguments and errors: see owner_of and document_trace."""
    owner = owner_of_token(store, asset, split, offset)
    documents = owner.mix.parent
    if documents is None:
        raise DataError(f"{owner.mix.place.ledger}: does not name the documents it was selected from; make it again")
    pair, name = owner.found.pair, owner.found.shard.name
    source = names_in_asset_address(documents.asset)["source"]
    for version in _first_versions(store, source, owner.mix.place.snapshot):
        located = locate_in_shard(version, name, pair)
        if located is not None:
            document = _all_document_places(version, located, shelves)
            return TokenTrace(asset, split, offset, offset - owner.start, (owner.start, owner.end), document)
    raise DataError(
        f"{owner.found.path}: row {owner.found.row}: id {pair[1]!r} (source {pair[0]!r}) is no longer in {source}:"
        " the mix is due to be rebuilt"
    )


def _snapshot_folders(store: Store, asset: str) -> Iterator[str]:
    """The folders directly below an asset, by name."""
    return (folder.removeprefix(f"{asset}/").rstrip("/") for folder in store.folders(f"{asset}/"))


def _document_versions(store: Store, source: str) -> list[str]:
    """The addresses of a source's documents, the oldest version first."""
    return sorted(list_assets(store, DOCUMENTS, source=source), key=report_rank)


def _first_versions(store: Store, source: str, snapshot: str) -> Iterator[Partition]:
    """The first finished version of each snapshot. It has every document that a later version has."""
    seen: set[str] = set()
    for asset in _document_versions(store, source):
        for key in [snapshot] if snapshot else list(_snapshot_folders(store, asset)):
            version = None if key in seen else find_partition(store, place(asset, key))
            if version is not None:
                seen.add(key)
                yield version


def _all_document_places(partition: Partition, located: LocatedRow, shelves: Shelves) -> DocumentTrace:
    """All positions of a document that was found in a partition, the first version of its snapshot."""
    store, snapshot, pair = partition.store, partition.place.snapshot, located.pair
    first = names_in_asset_address(partition.place.asset)
    down = _Downstream(partition, located, shelves.packages)
    versions = _document_versions(store, first["source"])
    for version in versions:
        if report_rank(version) > report_rank(partition.place.asset):
            down.select(version)
    for version in versions:
        for asset in list_assets(store, ATTRIBUTES, **names_in_asset_address(version)):
            down.add_attribute_row(version, asset)
    for stream in _streams_of_source(store, first["source"], snapshot):
        down.select(stream)
        for asset in list_assets(store, TOKEN_CACHE, **names_in_asset_address(stream)):
            down.token_cache(stream, asset)
    for kind in OTHERS:
        down.parts += _parts_from_shard(store, list_assets(store, kind), down, snapshot)
    return DocumentTrace(
        *pair,
        snapshot,
        located.shard.name,
        find_raw_place(partition, located, shelves)
        if any(kind_of(i.asset) is RAW for i in located.shard.inputs)
        else None,
        tuple(row for row in down.rows if kind_of(row.asset) is DOCUMENTS),
        tuple(down.attributes),
        tuple(row for row in down.rows if kind_of(row.asset) is MIX),
        tuple(down.tokens),
        tuple(down.parts),
    )


def _streams_of_source(store: Store, source: str, snapshot: str) -> list[str]:
    """The streams that were selected from a source's documents, according to the heads of their ledgers."""
    streams = []
    for asset, head in _finished_heads(store, list_assets(store, MIX), snapshot):
        upstream = parent_version(head)
        if upstream is not None and names_in_asset_address(upstream.asset)["source"] == source:
            streams.append(asset)
    return streams


def _finished_heads(store: Store, assets: Iterable[str], snapshot: str) -> list[tuple[str, Ledger]]:
    """The ledger heads of those partitions that are finished; they are read at the same time."""
    addresses = list(assets)
    with thread_pool(AT_ONCE) as pool:
        heads = list(pool.map(lambda asset: read_head(store, place(asset, snapshot)), addresses))
    return [(asset, head) for asset, head in zip(addresses, heads, strict=True) if head is not None]


def _parts_from_shard(store: Store, assets: Iterable[str], down: "_Downstream", snapshot: str) -> Iterator[PartPlace]:
    """The parts that were made from the document's shard, in any asset that contains the document."""
    for asset, head in _finished_heads(store, assets, snapshot):
        made = find_partition(store, place(asset, snapshot)) if any(map(down.contains_document, head.inputs)) else None
        for row in made.shards.values() if made else ():
            for read in row.inputs:
                why = down.read(read)
                if why is not None and made is not None:
                    yield trace_part(store, made.place, row, down.row(read.asset), why)


class _Downstream:
    """Follows one document downstream from the first version, asset by asset."""

    def __init__(self, first: Partition, located: LocatedRow, packages: Sequence[str]) -> None:
        self._packages = packages
        self._store, self._pair, self._shard = first.store, located.pair, located.shard.name
        self._snapshot = first.place.snapshot
        self._standing: dict[str, Partition] = {first.place.asset: first}
        self._located: dict[str, LocatedRow | None] = {first.place.asset: located}
        self.rows: list[RowPlace] = [_row_place(first.place, located)]
        self.attributes: list[RowPlace] = []
        self.tokens: list[TokenPlace] = []
        self.parts: list[PartPlace] = []

    def contains_document(self, upstream: Upstream) -> bool:
        """Whether the document is in a partition that is an input of another."""
        return self._located.get(upstream.asset) is not None

    def row(self, asset: str) -> int:
        """The number of the document's row in an asset that contains it; -1 if no asset does."""
        located = self._located.get(asset)
        return located.row if located else -1

    def read(self, upstream: Input) -> str | None:
        """None if an input is not the document's shard; otherwise why its output is due to be rebuilt, or empty."""
        located = self._located.get(upstream.asset)
        if located is None or upstream.shard != self._shard:
            return None
        return "" if upstream.content == located.shard.identity else REMADE

    def select(self, asset: str) -> None:
        """Adds the document's row in a selection, or why it was dropped; nothing if the selection is not finished."""
        selected = find_partition(self._store, place(asset, self._snapshot))
        if selected is None:
            return
        located = locate_in_shard(selected, self._shard, self._pair)
        self._standing[asset], self._located[asset] = selected, located
        upstream = self._standing.get(selected.parent.asset) if selected.parent else None
        if located is None:
            self.rows.append(RowPlace(asset, why=self._drop_reason(selected, upstream)))
        else:
            due = upstream is not None and not selected.has_read(upstream, self._shard)
            before = self._located.get(upstream.place.asset) if upstream is not None else None
            changes = text_changes(before, located) if before is not None and not due else ()
            place_here = _row_place(selected.place, located, why=REMADE if due else "")
            self.rows.append(msgspec.structs.replace(place_here, changes=changes))

    def _drop_reason(self, selected: Partition, upstream: Partition | None) -> str:
        if upstream is None:
            return "the documents it was selected from are no longer in the lake"
        located = self._located[upstream.place.asset]
        if located is None:
            return f"not in {upstream.place.asset} either"
        from gristmill.tracing.drop_reason import drop_reason  # noqa: PLC0415 - rules need DuckDB, 0.2 s to import

        return drop_reason(selected, upstream, located, self._packages)

    def add_attribute_row(self, documents: str, asset: str) -> None:
        """Adds the document's attributes in a set, if both are finished. The set has the rows of its documents."""
        located = self._located.get(documents)
        attributes = find_partition(self._store, place(asset, self._snapshot)) if located else None
        if located is None or attributes is None:
            return
        if not attributes.has_read(self._standing[documents], self._shard):
            self.attributes.append(RowPlace(asset, why=REMADE))
            return
        row = read_located_row(attributes, self._shard, located.row)
        if row.pair[1] != self._pair[1] or row.pair[0] not in {"", self._pair[0]}:
            raise Misaligned(
                f"{row.path}: row {row.row}: id {row.pair[1]!r}, but {located.path} has {self._pair[1]!r}; make the"
                " attribute set again"
            )
        self.attributes.append(_row_place(attributes.place, row, _labels_of_line(row.line)))

    def token_cache(self, mix: str, asset: str) -> None:
        """Adds the document's tokens in a cache, if the cache is finished and the mix contains the document."""
        located = self._located[mix]
        cache = find_partition(self._store, place(asset, self._snapshot))
        if located is not None and cache is not None:
            self.tokens.append(find_token_place(cache, self._standing[mix], located))


def _row_place(partition: Place, row: LocatedRow, attributes: Any = None, why: str = "") -> RowPlace:
    return RowPlace(partition.asset, row.path, row.row, row.member, attributes, why)


def _labels_of_line(line: bytes) -> Any:
    """The attributes of a row. The older flat form has them beside `id` and `source`."""
    row: dict[str, Any] = msgspec.json.decode(line)
    return row.get("attributes", {key: value for key, value in row.items() if key not in {"id", "source"}})
