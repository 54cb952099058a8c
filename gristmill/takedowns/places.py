"""The places in a lake that have a document, and what could not be searched for it."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from gristmill.errors import GristmillError
from gristmill.lake.address import Place
from gristmill.lake.identity import Pair
from gristmill.tracing.raw import RawPlace, Shelves, find_raw_place
from gristmill.tracing.rows import LocatedRow, Partition, read_located_row
from gristmill.tracing.tokens import find_token_place

Area = str
"""The name of the part of a lake in which a document was found.

It is the `area` of a kind of asset. For files beside the shards of an asset it is `raw`, `quarantine`, `columns`,
`examples` or `labels`.
"""

TRAINED: Sequence[Area] = ("mixes", "token caches", "exports")
"""The areas that training reads. A takedown empties them; raw data and v0 keep the document until it is erased."""


class FoundPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place that has a document.

    Attributes:
        source: the document's source.
        id: the document's id.
        area: the part of the lake.
        asset: address of the asset.
        snapshot: the snapshot.
        shard: name of the shard.
        where: the file, and the place in it, in words.
        row: number of the row in the shard, from 0; -1 where it is no row of documents or of a mix.
        by_id_of: name of the recipe whose row it is, if the row says no source of its own: then its id alone was
            compared. Of a labelled set: the document's source, if the row has this source and id. Empty otherwise.
    """

    source: str
    id: str
    area: Area
    asset: str
    snapshot: str
    shard: str
    where: str
    row: int = -1
    by_id_of: str = ""

    @property
    def pair(self) -> Pair:
        """The source and id of the document."""
        return self.source, self.id


class Unsearched(msgspec.Struct, frozen=True):
    """Something that could not be searched: its area, and a line for people that names it and says why."""

    area: Area
    what: str


class LeftOutPlace(NamedTuple):
    """A record of a raw object that has the id of a document, and that a reader left out.

    Attributes:
        pair: the document.
        documents: the partition that the object was converted for.
        shard: name of the shard.
        where: the place in words.
        raw: the place.
    """

    pair: Pair
    documents: Place
    shard: str
    where: str
    raw: RawPlace


class Search(msgspec.Struct):
    """The result of a search.

    Attributes:
        found: the places, in the order in which they were searched.
        unsearched: list of what could not be searched.
        searched: number of searched partitions by area.
        read: the objects beside shards that were read whole. A proof takes nothing else for read.
        left_out: the raw records of the documents that readers left out.
        unread_raw: reasons why raw objects have records that were not searched, by path.
        unread_rows: reasons why quarantines have refused rows that may be of the documents, by path.
        texts: the documents with each text that the lake has of them, or had when they were erased, by its digest.
            Empty if nobody needs it.
    """

    found: list[FoundPlace] = []
    unsearched: list[Unsearched] = []
    searched: dict[str, int] = {}
    read: set[str] = set()
    left_out: list[LeftOutPlace] = []
    unread_raw: dict[str, str] = {}
    unread_rows: dict[str, str] = {}
    texts: dict[str, list[Pair]] = {}

    def places_of_document(self, pair: Pair) -> list[FoundPlace]:
        """The places of one document."""
        return [place for place in self.found if place.pair == pair]

    def note_skipped(self, area: Area, what: str, why: object) -> None:
        """Notes that something was not searched."""
        self.unsearched.append(Unsearched(area, f"{what}: {why}"))

    def skipped_in_words(self, areas: Sequence[Area]) -> list[str]:
        """The names of what was not searched of some areas."""
        return [each.what for each in self.unsearched if each.area in areas]


def raw_place_in_words(documents: Partition, shard: str, row: int, shelves: Shelves) -> str:
    """The place of a document of v0 in the raw data, in words.

    Args:
        documents: the partition of v0.
        shard: name of the shard.
        row: number of the row there.
        shelves: recipes, and the access to raw data outside of the lake.
    """
    try:
        return place_in_words(find_raw_place(documents, read_located_row(documents, shard, row), shelves))
    except GristmillError as error:
        return f"not known: {error}"


def place_in_words(found: RawPlace) -> str:
    """A place in the raw data in words."""
    path = found.path or found.object or found.asset
    member = f", member {found.member}" if found.member else ""
    span = f": {found.counted_in} {found.range[0]}-{found.range[1]}" if found.range else ""
    return f"{path}{member}{span}" + (f" ({found.why})" if found.why else "")


def token_place_in_words(cache: Partition, mix: Partition, document: LocatedRow) -> str:
    """The place of the tokens of a document in a cache, in words."""
    found = find_token_place(cache, mix, document)
    if not found.split:
        return f"{found.asset}: no tokens: {found.why}"
    tokens = f", tokens {found.tokens[0]}-{found.tokens[1]} of {found.split}" if found.tokens else f" ({found.why})"
    return f"{found.part}: row {found.row}{tokens}"
