"""Whereabouts: all places of a document, from its raw bytes to its tokens; and the way from a token back to them.

A shard keeps its name from version to version, in every attribute set and every mix. So a document is looked for in all
shards once, in the first version that is there; everywhere below it stands in the shard of that name, or nowhere.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from gristmill.errors import DataError, Misaligned
from gristmill.lake.address import Place, part_at, place
from gristmill.lake.asset_kinds import (
    ATTRIBUTES,
    DOCUMENTS,
    MIX,
    PARTITIONED,
    RAW,
    TOKEN_CACHE,
    kind_of,
    names_of,
    rank_of,
)
from gristmill.lake.ledger.files import read_head
from gristmill.lake.ledger.model import Input, Ledger, Shard, Upstream
from gristmill.lake.ledger.receipts import objects_of
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.protocol import Store
from gristmill.tracing.raw import RawPlace, Shelves, raw_place
from gristmill.tracing.rows import AT_ONCE, REMADE, Located, Standing, find, find_in, parent_of, row_of, standing
from gristmill.tracing.tokens import TokenPlace, owner_of, token_place


class RowPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a document lies in a dataset version, an attribute set or a mix.

    Attributes:
        asset: whose partition.
        path: of the shard; empty if the document is not there.
        row: its number, from 0.
        member: bytes [start, end) of the gzip member that holds the row.
        attributes: what an attribute set says of it, as JSON.
        why: why it is not there, or why what is there is about to change.
    """

    asset: str
    path: str = ""
    row: int | None = None
    member: tuple[int, int] | None = None
    attributes: Any = None
    why: str = ""


class PartPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was made from a document's shard, in an asset of a kind whose rows are not traced.

    Attributes:
        asset: whose partition.
        path: the folder of the part, or the path of the shard.
        why: why it is about to change.
    """

    asset: str
    path: str
    why: str = ""


OTHERS = tuple(kind for kind in PARTITIONED if kind not in {DOCUMENTS, ATTRIBUTES, MIX, TOKEN_CACHE})
"""The kinds in which a document is traced to a part, and no further."""


class Whereabouts(msgspec.Struct, frozen=True):
    """All places of one document in one snapshot; `raw` is None where v0 is not in the lake."""

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


class TokenWhereabouts(msgspec.Struct, frozen=True):
    """A token: which of the document's tokens it is (from 0), and all places of the document."""

    asset: str
    split: str
    offset: int
    number: int
    tokens: tuple[int, int]
    document: Whereabouts


def of_document(store: Store, source: str, id_: str, shelves: Shelves, snapshot: str = "") -> Iterator[Whereabouts]:
    """All places of a document, a snapshot each.

    Args:
        store: the lake.
        source: what the documents' field `source` says: as a rule the source's name. If the lake has a source of this
            name, it is looked for there first, then in the others.
        id_: the document's.
        shelves: asked only where the lake itself does not tell.
        snapshot: only this one.

    Raises:
        DataError: there is no such document, or it stands somewhere where it cannot be.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    known = [names_of(asset)["source"] for asset in list_assets(store, RAW)]
    first = [name for name in known if name == source]
    looked: list[str] = []
    for group in (first, [name for name in known if name != source]):
        found = False
        for name in group:
            for there in _first_versions(store, name, snapshot):
                looked.append(f"{there.here.asset} ({there.here.snapshot})")
                located = find(there, (source, id_))
                if located is not None:
                    found = True
                    yield _all_places(there, located, shelves)
        if found:
            return
    where = ", ".join(looked) if len(looked) < 8 else f"{', '.join(looked[:8])} and {len(looked) - 8} more"
    raise DataError(
        f"no document has the id {id_!r} and the source {source!r}; looked for in {where or 'no finished partition'}."
        " Refused rows have no id: they lie in quarantine/"
    )


def of_token(store: Store, asset: str, split: str, offset: int, shelves: Shelves) -> TokenWhereabouts:
    """Whose a token is, and all places of that document; arguments and errors as in owner_of and of_document."""
    owner = owner_of(store, asset, split, offset)
    documents = owner.mix.parent
    if documents is None:
        raise DataError(f"{owner.mix.here.ledger}: names no documents that it was selected from")
    pair, name = owner.found.pair, owner.found.shard.name
    source = names_of(documents.asset)["source"]
    for there in _first_versions(store, source, owner.mix.here.snapshot):
        located = find_in(there, name, pair)
        if located is not None:
            document = _all_places(there, located, shelves)
            return TokenWhereabouts(asset, split, offset, offset - owner.start, (owner.start, owner.end), document)
    raise DataError(
        f"{owner.found.path}: row {owner.found.row}: id {pair[1]!r} (source {pair[0]!r}) is no longer in {source}:"
        " the mix is due to be made again"
    )


def _snapshots(store: Store, asset: str) -> Iterator[str]:
    """The folders directly below an asset, by name."""
    return (folder.removeprefix(f"{asset}/").rstrip("/") for folder in store.folders(f"{asset}/"))


def _versions(store: Store, source: str) -> list[str]:
    """The addresses of a source's documents, the oldest version first."""
    return sorted(list_assets(store, DOCUMENTS, source=source), key=rank_of)


def _first_versions(store: Store, source: str, snapshot: str) -> Iterator[Standing]:
    """Of each finished snapshot the first version: it has every document that a later one has."""
    seen: set[str] = set()
    for asset in _versions(store, source):
        for key in [snapshot] if snapshot else list(_snapshots(store, asset)):
            there = None if key in seen else standing(store, place(asset, key))
            if there is not None:
                seen.add(key)
                yield there


def _all_places(there: Standing, located: Located, shelves: Shelves) -> Whereabouts:
    """The places of a document that was found in the first version of a snapshot."""
    store, snapshot, pair = there.store, there.here.snapshot, located.pair
    first = names_of(there.here.asset)
    down = _Down(there, located)
    versions = _versions(store, first["source"])
    for version in versions:
        if rank_of(version) > rank_of(there.here.asset):
            down.select(version)
    for version in versions:
        for asset in list_assets(store, ATTRIBUTES, **names_of(version)):
            down.attribute(version, asset)
    for stream in _streams(store, first["source"], snapshot):
        down.select(stream)
        for asset in list_assets(store, TOKEN_CACHE, **names_of(stream)):
            down.spell(stream, asset)
    for kind in OTHERS:
        down.parts += _parts(store, list_assets(store, kind), down, snapshot)
    return Whereabouts(
        *pair,
        snapshot,
        located.shard.name,
        raw_place(there, located, shelves) if first["version"] == "v0" else None,
        tuple(row for row in down.rows if kind_of(row.asset) is DOCUMENTS),
        tuple(down.attributes),
        tuple(row for row in down.rows if kind_of(row.asset) is MIX),
        tuple(down.tokens),
        tuple(down.parts),
    )


def _streams(store: Store, source: str, snapshot: str) -> list[str]:
    """The streams that are made of a source's documents, as the heads of their ledgers say."""
    found = []
    for asset, head in _heads(store, list_assets(store, MIX), snapshot):
        above = parent_of(head)
        if above is not None and names_of(above.asset)["source"] == source:
            found.append(asset)
    return found


def _heads(store: Store, assets: Iterable[str], snapshot: str) -> list[tuple[str, Ledger]]:
    """The heads of those partitions that are finished, read at the same time."""
    asked = list(assets)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        heads = list(pool.map(lambda asset: read_head(store, place(asset, snapshot)), asked))
    return [(asset, head) for asset, head in zip(asked, heads, strict=True) if head is not None]


def _parts(store: Store, assets: Iterable[str], down: "_Down", snapshot: str) -> Iterator[PartPlace]:
    """The parts that were made from the document's shard of any asset that has the document."""
    for asset, head in _heads(store, assets, snapshot):
        made = standing(store, place(asset, snapshot)) if any(map(down.has, head.inputs)) else None
        for row in made.shards.values() if made else ():
            for read in row.inputs:
                why = down.read(read)
                if why is not None and made is not None:
                    yield PartPlace(asset, _folder(made.here, row), why)


def _folder(here: Place, row: Shard) -> str:
    """The part's folder, or the shard's path where shards are no parts."""
    path = min(path for path, _, _ in objects_of(row, here))
    part = part_at(path)
    return part[1] if part else path


class _Down:
    """The way of one document down from the first version, asset by asset."""

    def __init__(self, first: Standing, located: Located) -> None:
        self._store, self._pair, self._shard = first.store, located.pair, located.shard.name
        self._snapshot = first.here.snapshot
        self._standing: dict[str, Standing] = {first.here.asset: first}
        self._located: dict[str, Located | None] = {first.here.asset: located}
        self.rows: list[RowPlace] = [_row_place(first.here, located)]
        self.attributes: list[RowPlace] = []
        self.tokens: list[TokenPlace] = []
        self.parts: list[PartPlace] = []

    def has(self, upstream: Upstream) -> bool:
        """Whether the document stands in a partition that another was made from."""
        return self._located.get(upstream.asset) is not None

    def read(self, found: Input) -> str | None:
        """None if an input is not the document's shard; else empty, or why what was made from it will be made again."""
        located = self._located.get(found.asset)
        if located is None or found.shard != self._shard:
            return None
        return "" if found.content == located.shard.content else REMADE

    def select(self, asset: str) -> None:
        """What a selection did with it; nothing if it is not finished."""
        made = standing(self._store, place(asset, self._snapshot))
        if made is None:
            return
        found = find_in(made, self._shard, self._pair)
        self._standing[asset], self._located[asset] = made, found
        above = self._standing.get(made.parent.asset) if made.parent else None
        if found is None:
            self.rows.append(RowPlace(asset, why=self._why(made, above)))
        else:
            due = above is not None and not made.has_read(above, self._shard)
            self.rows.append(_row_place(made.here, found, why=REMADE if due else ""))

    def _why(self, made: Standing, above: Standing | None) -> str:
        if above is None:
            return "what it was selected from is not in the lake any longer"
        found = self._located[above.here.asset]
        if found is None:
            return f"not in {above.here.asset} either"
        from gristmill.tracing.drop_reason import drop_reason  # noqa: PLC0415 - rules need DuckDB, 0.2 s to import

        return drop_reason(made, above, found)

    def attribute(self, documents: str, asset: str) -> None:
        """What a set says of it, if it and its documents are finished; they stand row by row beside each other."""
        found = self._located.get(documents)
        beside = standing(self._store, place(asset, self._snapshot)) if found else None
        if found is None or beside is None:
            return
        if not beside.has_read(self._standing[documents], self._shard):
            self.attributes.append(RowPlace(asset, why=REMADE))
            return
        row = row_of(beside, self._shard, found.row)
        if row.pair[1] != self._pair[1] or row.pair[0] not in {"", self._pair[0]}:
            raise Misaligned(f"{row.path}: row {row.row}: id {row.pair[1]!r}, but {found.path} has {self._pair[1]!r}")
        self.attributes.append(_row_place(beside.here, row, _said(row.line)))

    def spell(self, mix: str, asset: str) -> None:
        """Where a cache has it, if it is finished and the mix has it."""
        found = self._located[mix]
        cache = standing(self._store, place(asset, self._snapshot))
        if found is not None and cache is not None:
            self.tokens.append(token_place(cache, self._standing[mix], found))


def _row_place(here: Place, found: Located, attributes: Any = None, why: str = "") -> RowPlace:
    return RowPlace(here.asset, found.path, found.row, found.member, attributes, why)


def _said(line: bytes) -> Any:
    """What an attribute row says; of the older flat form, all but whose it is."""
    row: dict[str, Any] = msgspec.json.decode(line)
    return row.get("attributes", {key: value for key, value in row.items() if key not in {"id", "source"}})
