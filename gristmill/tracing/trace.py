"""Whereabouts: all places of a document, from its raw bytes to its tokens; and the way from a token back to them.

A shard keeps its name from version to version, in every attribute set and every mix. So a document is looked for in all
shards once, in the first version that is there; everywhere below it stands in the shard of that name, or nowhere.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from gristmill.errors import DataError, Misaligned
from gristmill.lake.address import VERSION, Place, attributes_asset, cache_asset, documents_asset, mix_asset, place
from gristmill.lake.ledger.files import read_head
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
    known = list(_names(store, "sources/"))
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
    source = documents.asset.split("/")[1]
    for there in _first_versions(store, source, owner.mix.here.snapshot):
        located = find_in(there, name, pair)
        if located is not None:
            document = _all_places(there, located, shelves)
            return TokenWhereabouts(asset, split, offset, offset - owner.start, (owner.start, owner.end), document)
    raise DataError(
        f"{owner.found.path}: row {owner.found.row}: id {pair[1]!r} (source {pair[0]!r}) is no longer in {source}:"
        " the mix is due to be made again"
    )


def _names(store: Store, prefix: str) -> Iterator[str]:
    """The folders directly below a prefix, by name."""
    return (folder.removeprefix(prefix).rstrip("/") for folder in store.folders(prefix))


def _versions(store: Store, source: str) -> list[str]:
    found = [name for name in _names(store, f"sources/{source}/") if VERSION.fullmatch(name)]
    return sorted(found, key=lambda version: int(version[1:]))


def _first_versions(store: Store, source: str, snapshot: str) -> Iterator[Standing]:
    """Of each finished snapshot the first version: it has every document that a later one has."""
    seen: set[str] = set()
    for version in _versions(store, source):
        asset = documents_asset(source, version)
        for key in [snapshot] if snapshot else list(_names(store, f"{asset}/")):
            there = None if key in seen else standing(store, place(asset, key))
            if there is not None:
                seen.add(key)
                yield there


def _all_places(there: Standing, located: Located, shelves: Shelves) -> Whereabouts:
    """The places of a document that was found in the first version of a snapshot."""
    store, snapshot, pair = there.store, there.here.snapshot, located.pair
    _, source, first, _ = there.here.asset.split("/")
    down = _Down(there, located)
    for version in _versions(store, source):
        if int(version[1:]) > int(first[1:]):
            down.select(documents_asset(source, version))
    for version in _versions(store, source):
        for name in _names(store, f"sources/{source}/{version}/attributes/"):
            down.attribute(documents_asset(source, version), attributes_asset(source, version, name))
    for asset in _streams(store, source, snapshot):
        down.select(asset)
        _, mix, _, stream = asset.split("/")
        for tokenizer in _names(store, f"token_caches/{mix}/"):
            down.spell(asset, cache_asset(mix, tokenizer, stream))
    return Whereabouts(
        *pair,
        snapshot,
        located.shard.name,
        raw_place(there, located, shelves) if first == "v0" else None,
        tuple(row for row in down.rows if row.asset.startswith("sources/")),
        tuple(down.attributes),
        tuple(row for row in down.rows if row.asset.startswith("mixes/")),
        tuple(down.tokens),
    )


def _streams(store: Store, source: str, snapshot: str) -> list[str]:
    """The streams that are made of a source's documents, as the heads of their ledgers say."""
    assets = [mix_asset(mix, s) for mix in _names(store, "mixes/") for s in _names(store, f"mixes/{mix}/documents/")]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        heads = list(pool.map(lambda asset: read_head(store, place(asset, snapshot)), assets))
    found = []
    for asset, head in zip(assets, heads, strict=True):
        above = parent_of(head) if head else None
        if above is not None and above.asset.split("/")[1] == source:
            found.append(asset)
    return found


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
