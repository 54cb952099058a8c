"""Finds the bytes of the raw object that a document of v0 was made from.

Conversion writes these raw spans at the end of v0's id index, if the source's converter reports them. Shards of
Gristmill 0.1 have none. For these, raw objects are converted again, until the converter gives the same row as v0.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import raw_folder
from gristmill.lake.asset_kinds import RAW, kind_of, names_in_asset_address
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.id_index import IdIndex
from gristmill.lake.ledger.model import Input
from gristmill.lake.ledger.receipts import RawVersion, raw_stamps
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.quarantined import QuarantinedRow
from gristmill.lake.rows.raw_parts import PartEdges
from gristmill.lake.rows.raw_spans import RawSpan, find_raw_span
from gristmill.lake.rows.shard_file import PACKINGS, lower_suffix
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.raw_path import find_raw_path, has_digest
from gristmill.raw_data.roots import open_raw
from gristmill.recipes.raw_object import Converted, Copied, LeftOut, RawObject, Refused
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.stages.conversion.converter import convert_with_spans
from gristmill.stages.conversion.parts import recorded_part_edges
from gristmill.stages.conversion.quarantine import quarantined_row
from gristmill.tracing.rows import LocatedRow, Partition

ADOPTED = "adopted: others have made this file, so the trace ends here"
OTHER_BYTES = "its bytes there are not those that were read: it was replaced, or `raw=` led elsewhere then"
UNKNOWN_ORIGIN = "the reader tells no single place of it in the object: it may be made of several records"


class Shelves(NamedTuple):
    """The recipes, and the access to raw data outside of the lake.

    Attributes:
        packages: names of the Python packages with recipes.
        options: options of the store that holds a source's raw data.
    """

    packages: tuple[str, ...]
    options: Mapping[str, str]


class RawPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """The position of a document in the raw data.

    Attributes:
        asset: the asset of the raw snapshots.
        object: name of the raw object, below the snapshot; empty if it is unknown.
        sha256: sha256 of the object, or of its part, when it was converted.
        path: path of the object; empty if the object does not exist.
        range: [start, end) of the record; None if it is unknown.
        counted_in: the unit of `range`: bytes of the `object`, of the `unpacked object`, of the `unpacked part` (what
            it unpacks to from its byte `begins` on) or of a `member`; or `rows` of the object.
        member: the file inside the archive; empty if the object is not an archive.
        why: reasons why some of these are unknown.
        part: bytes [start, end) of the object that the shard was made from; None: the whole object.
        begins: byte offset, known for a part of a packed object: the byte at which its first gzip member, frame or
            block begins.
    """

    asset: str
    object: str = ""
    sha256: str = ""
    path: str = ""
    range: tuple[int, int] | None = None
    counted_in: str = ""
    member: str = ""
    why: str = ""
    part: tuple[int, int] | None = None
    begins: int | None = None


def find_raw_place(documents: Partition, row: LocatedRow, shelves: Shelves) -> RawPlace:
    """Finds a document of v0 in the raw data.

    Args:
        documents: the partition of v0.
        row: the document's row there.
        shelves: recipes; used only if the lake itself does not have the answer.

    Returns:
        The place, as far as it is known.

    Raises:
        DataError: the id index is damaged.
        StoreError: the lake does not answer.
    """
    inputs = [upstream for upstream in row.shard.inputs if kind_of(upstream.asset) is RAW]
    if row.shard.at:
        here = (row.row, row.row + 1)
        return RawPlace(inputs[0].asset, row.shard.at, row.shard.sha256, row.path, here, "rows", why=ADOPTED)
    packed = IdIndex(documents.store, documents.place, row.shard).raw_spans()
    finder = _Finder(documents, shelves, names_in_asset_address(inputs[0].asset)["source"])
    if not packed:
        return finder.by_conversion(inputs, row)
    index = documents.place.index(row.shard.name)
    number, raw_span = find_raw_span(packed, row.row, index)
    part = recorded_part_edges(row.shard, documents.place.table)
    if part is None:
        return finder.find_raw_place(inputs[number], raw_span)
    return _place_within_part(
        part, finder.find_raw_place(msgspec.structs.replace(inputs[number], shard=part.object), raw_span)
    )


def _place_within_part(part: PartEdges, found: RawPlace) -> RawPlace:
    """A place in an object as the place in the part that was read of it."""
    if found.counted_in == "unpacked object" and part.first is not None:
        found = msgspec.structs.replace(found, counted_in="unpacked part", begins=part.first.unit)
    return msgspec.structs.replace(found, part=tuple(part.part))


def left_out_again(
    documents: Partition, read: Input, shelves: Shelves, wanted: Collection[Pair]
) -> Iterator[tuple[LeftOut, RawPlace | None]]:
    """What a reader leaves out of a raw object: the object is converted again, because no ledger keeps these records.

    Args:
        documents: the partition of v0 that the object was converted for.
        read: the object, as an input of a shard.
        shelves: recipes.
        wanted: the documents whose places are told.

    Yields:
        What was left out, and the place of a record that is wanted.

    Raises:
        DataError: the object is gone, or the converter fails.
        RecipeError: no recipe reads it.
        StoreError: the object is being replaced, or the lake does not answer.
    """
    finder = _Finder(documents, shelves, names_in_asset_address(read.asset)["source"])
    for row, raw_span in finder.convert_again(read):
        if isinstance(row, LeftOut):
            yield row, finder.find_raw_place(read, raw_span) if (row.source, row.id) in wanted else None


def convert_refused_rows(
    documents: Partition, read: Input, shelves: Shelves
) -> Iterator[tuple[QuarantinedRow, RawPlace]]:
    """The rows of a raw object that its reader refuses, as the quarantine has them, each with its whole place.

    The quarantine knows where a row begins, and not where it ends. So the object is converted again.

    Args:
        documents: the partition of v0 that the object was converted for.
        read: the object, as an input of a shard.
        shelves: recipes.

    Raises:
        DataError: the object is gone, or the converter fails.
        RecipeError: no recipe reads it.
        StoreError: the object is being replaced, or the lake does not answer.
    """
    finder = _Finder(documents, shelves, names_in_asset_address(read.asset)["source"])
    for row, told in finder.convert_again(read):
        if isinstance(row, Refused):
            end = None if row.offset is None else row.offset + (row.size or len(row.raw))
            raw_span = told or (None if end is None else RawSpan(row.offset or 0, end, row.member))
            yield quarantined_row(row, read.shard, raw_span), finder.find_raw_place(read, raw_span)


class _Object(NamedTuple):
    """A raw object: its `path` in the store, and the path `shown` to people. If it is missing, both are empty."""

    store: Store
    path: str
    shown: str
    why: str = ""


class _Finder:
    """Finds the raw objects of one source's snapshot."""

    def __init__(self, documents: Partition, shelves: Shelves, source: str) -> None:
        self._store, self._place, self._source = documents.store, documents.place, source
        self._snapshot = documents.place.snapshot
        self._other: dict[str, bool] = {}
        self._shelves = shelves

    @cached_property
    def _raw_versions(self) -> Mapping[str, RawVersion]:
        return raw_stamps(self._store, self._place)

    def find_raw_place(self, read: Input, raw_span: RawSpan | None) -> RawPlace:
        """The result for a raw object and the span in it."""
        raw = self._open_raw_object(read)
        why = "; ".join(filter(None, (raw.why or self._other_bytes(raw, read), "" if raw_span else UNKNOWN_ORIGIN)))
        if raw_span is None:
            return RawPlace(read.asset, read.shard, read.content, raw.shown, why=why)
        bounds = (raw_span.start, raw_span.end)
        counted_in = _counts_of_object(read.shard.lower(), raw_span)
        return RawPlace(read.asset, read.shard, read.content, raw.shown, bounds, counted_in, raw_span.member, why)

    def _other_bytes(self, raw: _Object, read: Input) -> str:
        """Tells that an object is not the one that was read. It is hashed if it has another stamp."""
        if raw.path not in self._other:
            version, entry = self._raw_versions.get(read.shard), raw.store.head(raw.path)
            self._other[raw.path] = not (
                version is None
                or entry is None
                or version.same(entry)
                or (version.size == entry.size and has_digest(raw.store, raw.path, version.sha256))
            )
        return OTHER_BYTES if self._other[raw.path] else ""

    def _open_raw_object(self, read: Input) -> _Object:
        path = find_raw_path(self._store, read.asset, self._snapshot, read.shard, read.content)
        if path is not None:
            return _Object(self._store, path, path)
        missing = f"the object is not under {raw_folder(self._source)}"
        try:
            recipe = self._source_recipe()
        except RecipeError:
            return _Object(self._store, "", "", f"{missing}, and no recipe in --shelves names another place")
        if recipe.raw is None:
            return _Object(self._store, "", "", f"{missing} any longer")
        try:
            store = open_raw(recipe, self._store, self._shelves.options)
        except RecipeError as error:
            return _Object(self._store, "", "", f"{missing}, and {error}")
        path = recipe.partition.prefix(self._snapshot) + read.shard
        if store.head(path) is None:
            return _Object(store, "", "", f"the object is not in {store.url}, where `raw=` leads now")
        return _Object(store, path, f"{store.url}/{path}")

    def _source_recipe(self) -> Source:
        return find_recipe("sources", Source, self._shelves.packages, self._source)

    def convert_again(self, read: Input) -> Iterator[tuple[Converted, RawSpan | None]]:
        """The rows that a raw object gives today, each with its span.

        Raises:
            DataError: the object is gone, or the converter fails.
            RecipeError: no recipe reads it.
        """
        recipe, listed = self._source_recipe(), self._open_raw_object(read)
        entry = listed.store.head(listed.path) if listed.path else None
        if entry is None:
            raise DataError(f"{read.asset}/{self._snapshot}/{read.shard}: {listed.why or 'there is no such object'}")
        raw = RawObject(listed.store, listed.path, read.shard, entry.size, recipe.limits)
        yield from convert_with_spans(recipe, raw, self._snapshot)

    def by_conversion(self, inputs: Sequence[Input], located: LocatedRow) -> RawPlace:
        """Converts raw objects again, until one gives the row."""
        asset, old = inputs[0].asset, "v0 was made before raw spans were recorded"
        try:
            self._source_recipe()
        except RecipeError as error:
            return RawPlace(asset, why=f"{old}, and {error}")
        for read in inputs:
            if not self._open_raw_object(read).path:
                continue
            for row, raw_span in self.convert_again(read):
                if _is_same_row(row, located):
                    return self.find_raw_place(read, raw_span)
        return RawPlace(asset, why=f"{old}, and no raw object gives this row any longer: convert again")


def _counts_of_object(name: str, raw_span: RawSpan) -> str:
    if name.endswith(".parquet"):
        return "rows"
    if raw_span.member:
        return "member"
    return "unpacked object" if lower_suffix(name) in PACKINGS else "object"


_encoder = msgspec.json.Encoder()


def _is_same_row(row: Converted, located: LocatedRow) -> bool:
    """Whether a converter's result is the same row as in v0."""
    if isinstance(row, Copied):
        return row.line == located.line
    return isinstance(row, Document) and (row.source, row.id) == located.pair and _encoder.encode(row) == located.line
