"""Raw places: the bytes of a raw object that a document of v0 was made from.

Conversion writes them down behind v0's id index, as far as the source's converter tells them. Where a shard is older
than that, its raw objects are converted once more, until the converter gives the very row that lies in v0.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from gristmill.errors import RecipeError
from gristmill.lake.address import raw_folder
from gristmill.lake.asset_kinds import RAW, kind_of, names_of
from gristmill.lake.ledger.id_index import IdIndex
from gristmill.lake.ledger.model import Input
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import Spot, find_spot
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.recipes.raw_object import Converted, Copied, RawObject
from gristmill.recipes.shelf import find
from gristmill.recipes.source import Source
from gristmill.stages.conversion.grinder import converted
from gristmill.tracing.rows import Located, Standing

UNTOLD = "its converter does not say where in the object"


class Shelves(NamedTuple):
    """Where recipes are found, and how the bucket of a source with raw data elsewhere is reached."""

    packages: tuple[str, ...]
    options: Mapping[str, str]


class RawPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a document lies in raw.

    Attributes:
        asset: of the raw snapshots.
        object: name of the raw object, below the snapshot; empty if it is not known.
        sha256: of the object as it was converted.
        path: of the object; empty if it is not there.
        range: [start, end) of the record; None if nobody knows.
        counted_in: what it counts: bytes of the `object`, of the `unpacked object`, of a `member`; or `rows`.
        member: the file of the archive.
        why: what is not known, and why.
    """

    asset: str
    object: str = ""
    sha256: str = ""
    path: str = ""
    range: tuple[int, int] | None = None
    counted_in: str = ""
    member: str = ""
    why: str = ""


def raw_place(documents: Standing, found: Located, shelves: Shelves) -> RawPlace:
    """Where a document of v0 lies in raw.

    Args:
        documents: the partition of v0.
        found: the document's row there.
        shelves: asked only where the lake itself does not tell.

    Raises:
        DataError: the index is damaged.
        StoreError: the lake does not answer.
    """
    inputs = [each for each in found.shard.inputs if kind_of(each.asset) is RAW]
    packed = IdIndex(documents.store, documents.here, found.shard).spots()
    finder = _Finder(documents, shelves, names_of(inputs[0].asset)["source"])
    if not packed:
        return finder.by_conversion(inputs, found)
    index = documents.here.index(found.shard.name)
    number, spot = find_spot(packed, found.row, index)
    return finder.placed(inputs[number], spot)


class _Object(NamedTuple):
    """Where a raw object lies: `path` in the store, as `shown` to people; or both empty, and why."""

    store: Store
    path: str
    shown: str
    why: str = ""


class _Finder:
    """Knows where the raw objects of one source's snapshot lie."""

    def __init__(self, documents: Standing, shelves: Shelves, source: str) -> None:
        self._store, self._snapshot, self._source = documents.store, documents.here.snapshot, source
        self._shelves = shelves

    def placed(self, read: Input, spot: Spot | None) -> RawPlace:
        """A raw object and a spot in it, in words."""
        there = self._object(read.shard)
        if spot is None:
            why = "; ".join(filter(None, (there.why, UNTOLD)))
            return RawPlace(read.asset, read.shard, read.content, there.shown, why=why)
        bounds = (spot.start, spot.end)
        counted_in = _counted_in(read.shard.lower(), spot)
        return RawPlace(read.asset, read.shard, read.content, there.shown, bounds, counted_in, spot.member, there.why)

    def _object(self, name: str) -> _Object:
        for lead in (f"{self._snapshot}/", ""):
            path = f"{raw_folder(self._source)}{lead}{name}"
            if self._store.head(path) is not None:
                return _Object(self._store, path, path)
        here = f"it does not lie under {raw_folder(self._source)}"
        try:
            recipe = self._recipe()
        except RecipeError:
            return _Object(self._store, "", "", f"{here}, and no --shelves name another place")
        if recipe.raw is None:
            return _Object(self._store, "", "", f"{here} any longer")
        store = open_store(recipe.raw, self._shelves.options)
        path = recipe.partition.prefix(self._snapshot) + name
        if store.head(path) is None:
            return _Object(store, "", "", f"it does not lie in {store.url} any longer")
        return _Object(store, path, f"{store.url}/{path}")

    def _recipe(self) -> Source:
        return find("sources", Source, self._shelves.packages, self._source)

    def by_conversion(self, inputs: Sequence[Input], found: Located) -> RawPlace:
        """Converts raw objects until one gives the row."""
        asset, old = inputs[0].asset, "v0 was made before such places were written down"
        try:
            recipe = self._recipe()
        except RecipeError as error:
            return RawPlace(asset, why=f"{old}, and {error}")
        for read in inputs:
            there = self._object(read.shard)
            entry = there.store.head(there.path) if there.path else None
            if entry is None:
                continue
            raw = RawObject(there.store, there.path, read.shard, entry.size)
            for row in converted(recipe, raw, self._snapshot):
                spot = raw.taken_spot()
                if _gives(row, found):
                    return self.placed(read, spot)
        return RawPlace(asset, why=f"{old}, and no raw object gives this row any longer: convert again")


def _counted_in(name: str, spot: Spot) -> str:
    if name.endswith(".parquet"):
        return "rows"
    if spot.member:
        return "member"
    return "unpacked object" if name.endswith((".gz", ".zst", ".zstd")) else "object"


_encoder = msgspec.json.Encoder()


def _gives(row: Converted, found: Located) -> bool:
    """Whether what a converter gives is the row that lies in v0."""
    if isinstance(row, Copied):
        return row.line == found.line
    return isinstance(row, Document) and (row.source, row.id) == found.pair and _encoder.encode(row) == found.line
