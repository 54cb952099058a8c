"""The places in a lake that have a document, and what could not be searched for it."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from gristmill.lake.identity import Pair

Area = Literal[
    "raw",
    "quarantine",
    "documents",
    "columns",
    "attributes",
    "examples",
    "dedupe",
    "labels",
    "mixes",
    "token caches",
    "exports",
]
"""The part of a lake in which a document was found."""

AREA_OF_KIND: dict[str, Area] = {
    "documents": "documents",
    "attributes": "attributes",
    "mix": "mixes",
    "token cache": "token caches",
    "export": "exports",
    "fingerprints": "dedupe",
    "clusters": "dedupe",
}
"""The area of a kind of asset, by the kind's name."""

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
    """

    source: str
    id: str
    area: Area
    asset: str
    snapshot: str
    shard: str
    where: str
    row: int = -1

    @property
    def pair(self) -> Pair:
        """(source, id) of the document."""
        return self.source, self.id


class Unsearched(msgspec.Struct, frozen=True):
    """Something that could not be searched: its area, and a line for people that names it and says why."""

    area: Area
    what: str


class Search(msgspec.Struct):
    """The result of a search.

    Attributes:
        found: the places, in the order in which they were searched.
        unsearched: what could not be searched.
        searched: number of searched partitions by area.
        read: the objects beside shards that were read whole. A proof takes nothing else for read.
    """

    found: list[FoundPlace] = []
    unsearched: list[Unsearched] = []
    searched: dict[str, int] = {}
    read: set[str] = set()

    def of(self, pair: Pair) -> list[FoundPlace]:
        """The places of one document."""
        return [place for place in self.found if place.pair == pair]

    def skip(self, area: Area, what: str, why: object) -> None:
        """Notes that something was not searched."""
        self.unsearched.append(Unsearched(area, f"{what}: {why}"))

    def skipped(self, areas: Sequence[Area]) -> list[str]:
        """What was not searched of some areas."""
        return [each.what for each in self.unsearched if each.area in areas]
