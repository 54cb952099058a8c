"""Refused records in the raw data. The quarantine does not tell where a record ends, so its raw object is read again.

A reader may keep other bytes of a record than stand in the object: the content of a web page, or the text of a wiki.
"""

from collections.abc import Iterator

from gristmill.errors import GristmillError
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.model import Input
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.raw_path import find_raw_path
from gristmill.stages.conversion.parts import recorded_part_edges
from gristmill.takedowns.refused import RefusedPlace, refused_rows, source_of_documents
from gristmill.takedowns.refused_ids import pairs_of_refused_row
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.raw import RawPlace, Shelves, convert_refused_rows
from gristmill.tracing.rows import Partition

_NOT_ITS_OWN = (
    "this refused row has the id in one of its fields, and may be another document: look at it, erase it by hand"
)
_NO_PLACE = "the place of a refused row is not known to the byte: erase it by hand"
_IN_PARTS = "its object is read in parts: rewrite the object by hand"
_NOT_REFUSED = "its reader does not refuse this row any longer; make it (gristmill make), then erase again"


def refused_places(
    store: Store, documents: Partition, wanted: Wanted, shelves: Shelves
) -> Iterator[tuple[Pair, RawPlace]]:
    """The places of refused records of wanted documents in the raw data.

    Args:
        store: the lake.
        documents: the partition of documents.
        wanted: the documents.
        shelves: recipes.

    Yields:
        A document, and the place of its record. A place without a range says why it has none.

    Raises:
        DataError: a row of the quarantine is wrong.
        StoreError: the lake does not answer.
    """
    source = source_of_documents(documents, shelves.packages)
    of_objects: dict[tuple[str, str], list[RefusedPlace]] = {}
    for refused in refused_rows(store, documents, source, wanted):
        own = pairs_of_refused_row(refused.row, source, wanted, documents.place.snapshot) if source else None
        if own is None:
            yield refused.pair, RawPlace(_rows_in_quarantine(documents, refused), why=_NOT_ITS_OWN)
        elif refused.pair in own:  # else it is another document, which names this one
            of_objects.setdefault((refused.shard, refused.row.file), []).append(refused)
    for (shard, file), rows in of_objects.items():
        in_parts = recorded_part_edges(documents.shards[shard], documents.place.table) is not None
        read = next((each for each in documents.shards[shard].inputs if each.shard == file), None)
        if read is None or in_parts:
            why = _IN_PARTS if in_parts else _NO_PLACE
            yield from ((each.pair, RawPlace(_rows_in_quarantine(documents, each), why=why)) for each in rows)
        else:
            yield from _refused_rows_in_object(store, documents, read, rows, shelves)


def _refused_rows_in_object(
    store: Store, documents: Partition, read: Input, rows: list[RefusedPlace], shelves: Shelves
) -> Iterator[tuple[Pair, RawPlace]]:
    path = find_raw_path(store, read.asset, documents.place.snapshot, read.shard, read.content) or ""
    places: dict[tuple[int | None, int | None, str], RawPlace] = {}
    why = _NOT_REFUSED
    try:
        for row, place in convert_refused_rows(documents, read, shelves) if path else ():
            places[row.offset, row.row, row.member] = place
    except GristmillError as error:
        why = str(error)
    for each in rows:
        row = each.row
        found = places.get((row.offset, row.row, row.member))
        if found is None and path and hash_object(store, path) != read.content:
            found = RawPlace(read.asset, read.shard, read.content, path, (0, 0), "object")  # erased, or changed since
        if found is None:
            found = RawPlace(read.asset, read.shard, read.content, path, why=why if path else "")
        elif found.range is None:
            found = RawPlace(_rows_in_quarantine(documents, each), why=_NO_PLACE)
        yield each.pair, found


def _rows_in_quarantine(documents: Partition, refused: RefusedPlace) -> str:
    return f"{documents.place.quarantine_path(refused.shard)}: row {refused.number} ({refused.row.place})"
