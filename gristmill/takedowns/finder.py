"""Finds every place of some documents in a lake, through its indexes.

A shard has the same name in every version, set and mix. The id indexes of documents and mixes give the rows. What is
made from such a shard, and recorded the same content, has the same rows. What was made from another content may have
other documents: it is reported as not searched.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from gristmill.errors import GristmillError
from gristmill.lake.address import Place, documents_asset, mix_asset
from gristmill.lake.asset_kinds import (
    ATTRIBUTES,
    DOCUMENTS,
    EXPORT,
    LABELS,
    MIX,
    RAW,
    TOKEN_CACHE,
    kind_of,
    names_in_asset_address,
    report_rank,
)
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.absent_kinds import absent_kinds
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.ledger.model import Input
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.erasures import WITHDRAWN, read_erasures, text_digest
from gristmill.stages.kind import KnownPart, WantedDocuments, behaviour_of_kind
from gristmill.stages.token_cache.part import PartRecord
from gristmill.takedowns.erasing.left_out import left_out_places
from gristmill.takedowns.id_rows import rows_by_shard, scanned_rows
from gristmill.takedowns.places import Area, FoundPlace, Search, raw_place_in_words, token_place_in_words
from gristmill.takedowns.refused import quarantine_places, source_of_documents
from gristmill.takedowns.side_files import (
    column_places,
    example_places,
    labelled_places,
)
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.parts import trace_part
from gristmill.tracing.raw import Shelves
from gristmill.tracing.rows import LocatedRow, Partition, find_partition, read_located_row

STALE = "made from another version of {}, so its documents are not known; make it again"


class _SearchedRows(NamedTuple):
    """A searched partition of documents or of a mix: the rows of the wanted documents in each shard."""

    partition: Partition
    rows: dict[str, dict[Pair, int]]


class _OwnText(msgspec.Struct):
    text: str


class Finder:
    """Searches a lake once.

    Args:
        store: the lake.
        wanted: the documents.
        shelves: recipes, to show where a document is in the raw data.
        proven: whether every index is read whole and compared with its digest.
        scan: whether rows are read where an index is missing.
        left_out: whether raw objects are converted again, of which readers left records out.
    """

    def __init__(
        self,
        store: Store,
        wanted: Wanted,
        shelves: Shelves,
        *,
        proven: bool = False,
        scan: bool = False,
        left_out: bool = False,
    ) -> None:
        self._store, self._wanted, self._shelves, self._proven, self._scan = store, wanted, shelves, proven, scan
        self._left_out = left_out
        self._searched: dict[tuple[str, str], _SearchedRows] = {}
        self._stale: list[str] = []
        self.search = Search()

    def run(self) -> Search:
        """All places. What cannot be read is reported as not searched.

        Raises:
            StoreError: the ledgers of the lake cannot be listed.
        """
        how = {
            DOCUMENTS: self._search_documents,
            MIX: self._search_indexed_partition,
            ATTRIBUTES: self._search_attributes,
            TOKEN_CACHE: self._token_cache,
            EXPORT: self._search_export,
        }
        for there in sorted(list_ledgers(self._store), key=lambda each: (report_rank(each.asset), each.snapshot)):
            if area := there.kind.area:
                self.search.searched[area] = self.search.searched.get(area, 0) + 1
                try:
                    partition = find_partition(self._store, there)
                    if partition is not None:
                        how.get(there.kind, self._search_token_parts)(partition)
                except GristmillError as error:
                    self.search.note_skipped(area, _partition_in_words(there), error)
                self._tell_stale(area, there)
        for folder, why in absent_kinds(self._store):
            self.search.note_skipped(folder, folder, why)
        if self._left_out or list_assets(self._store, LABELS):
            self._read_texts()
        self._add_places(labelled_places(self._store, self._wanted, self.search))
        return self.search

    def _add_places(self, places: Iterator[FoundPlace]) -> None:
        self.search.found += places

    def _record_found_row(
        self, pair: Pair, area: Area, there: Place, shard: str, where: str, by_id_of: str = ""
    ) -> None:
        found = FoundPlace(*pair, area, there.asset, there.snapshot, shard, where, by_id_of=by_id_of)
        self.search.found.append(found)

    def _search_indexed_partition(self, partition: Partition) -> None:
        there, area = partition.place, partition.place.kind.area
        rows: dict[str, dict[Pair, int]] = {}
        shards = list(partition.shards.values())
        found_rows = rows_by_shard(self._store, there, shards, self._wanted, proven=self._proven, scan=self._scan)
        for found in found_rows:
            if found.why:
                self.search.note_skipped(area, f"{_partition_in_words(there)}, shard {found.shard.name}", found.why)
                continue
            if found.rows:
                rows[found.shard.name] = found.rows
            for pair, row in found.rows.items():
                name = found.shard.name
                where = f"{open_shard(self._store, there, found.shard).path}: row {row}"
                self.search.found.append(FoundPlace(*pair, area, there.asset, there.snapshot, name, where, row))
        self._searched[there.asset, there.snapshot] = _SearchedRows(partition, rows)

    def _search_documents(self, partition: Partition) -> None:
        self._search_indexed_partition(partition)
        there = partition.place
        first = any(kind_of(upstream.asset) is RAW for upstream in partition.head.inputs)
        for pair, shard, row in self._rows_in(there.asset, there.snapshot):
            if first:
                where = raw_place_in_words(partition, shard, row, self._shelves)
                asset = next(each.asset for each in partition.head.inputs if kind_of(each.asset) is RAW)
                self.search.found.append(FoundPlace(*pair, "raw", asset, there.snapshot, shard, where))
        self._search_columns(
            partition, [(pair, shard) for pair, shard, _ in self._rows_in(there.asset, there.snapshot)]
        )
        if first and self._left_out:
            for each in left_out_places(self._store, partition, self._wanted, self.search, self._shelves):
                self.search.left_out.append(each)
                self._record_found_row(each.pair, "raw", there, each.shard, each.where)
        source = source_of_documents(partition, self._shelves.packages)
        self._add_places(quarantine_places(self._store, partition, source, self._wanted, self.search))

    def _search_columns(self, partition: Partition, rows: Sequence[tuple[Pair, str]]) -> None:
        by_shard: dict[str, list[Pair]] = {}
        for pair, shard in rows:
            by_shard.setdefault(shard, []).append(pair)
        self._add_places(column_places(self._store, partition, self._wanted, by_shard, self.search))

    def _rows_in(self, asset: str, snapshot: str) -> Iterator[tuple[Pair, str, int]]:
        """(pair, shard, row) of each wanted document in a partition that was searched."""
        searched = self._searched.get((asset, snapshot))
        for shard, rows in (searched.rows if searched else {}).items():
            for pair, row in sorted(rows.items(), key=lambda each: each[1]):
                yield pair, shard, row

    def _read_texts(self) -> None:
        """Learns the texts of the wanted documents, and tells what cannot be read."""
        texts = self.search.texts
        try:
            for _, record in read_erasures(self._store):
                for digest, pairs in record.texts.items():
                    texts.setdefault(digest, []).extend(pair for pair in pairs if pair in self._wanted.reasons)
        except GristmillError as error:
            self.search.note_skipped("labels", WITHDRAWN, error)
        for searched in self._searched.values():
            for shard, rows in searched.rows.items():
                try:
                    for pair, row in rows.items():
                        found = read_located_row(searched.partition, shard, row)
                        text = decode_object(found.line, _OwnText, found.path, "documents", "make its shard again").text
                        texts.setdefault(text_digest(text), []).append(pair)
                except GristmillError as error:
                    self.search.note_skipped(
                        "labels", f"{_partition_in_words(searched.partition.place)}, shard {shard}", error
                    )

    def _search_attributes(self, partition: Partition) -> None:
        there, names = partition.place, names_in_asset_address(partition.place.asset)
        documents = documents_asset(names["source"], names["version"])
        searched = self._searched.get((documents, there.snapshot))
        stale = {name for name, shard in partition.shards.items() if not _is_beside(searched, name, shard.ids)}
        rows = [each for each in self._rows_in(documents, there.snapshot) if each[1] in partition.shards]
        rows = [each for each in rows if each[1] not in stale]
        for name in sorted(stale):
            found = scanned_rows(self._store, there, partition.shards[name], self._wanted) if self._scan else None
            if found is None:
                self._stale.append(name)
            elif found.why:
                self.search.note_skipped("attributes", _partition_in_words(there), found.why)
            else:
                rows += [(pair, name, row) for pair, row in found.rows.items()]
        for pair, name, row in rows:
            file = open_shard(self._store, there, partition.shards[name]).path
            self._record_found_row(pair, "attributes", there, name, f"{file}: row {row}")
        self._search_columns(partition, [(pair, name) for pair, name, _ in rows])
        self._add_places(example_places(self._store, partition, self._wanted, self.search))

    def _search_token_parts(self, partition: Partition) -> None:
        there, wanted = (
            partition.place,
            WantedDocuments(partial(self._wanted_rows_of_shard, partition), self._wanted.by_id),
        )
        for row in partition.shards.values():
            for found in behaviour_of_kind(there.kind).held_documents(KnownPart(self._store, there, row), wanted):
                self._record_found_row(found.pair, there.kind.area, there, row.name, found.where, found.by_id_of)

    def _token_cache(self, partition: Partition) -> None:
        names = names_in_asset_address(partition.place.asset)
        mix = mix_asset(names["mix"], names["stream"])
        for row in partition.shards.values():
            for name, old in PartRecord.decode_from_row(row, partition.place.table).shards.items():
                for pair, number in self._wanted_rows_of_shard(partition, Input(mix, name, old.content)):
                    documents = self._searched[mix, partition.place.snapshot].partition
                    where = token_place_in_words(partition, documents, _locate_unread_row(documents, name, number))
                    self._record_found_row(pair, "token caches", partition.place, name, where)

    def _search_export(self, partition: Partition) -> None:
        for row in partition.shards.values():
            for read in row.inputs:
                if kind_of(read.asset) is MIX:
                    for pair, number in self._wanted_rows_of_shard(partition, read):
                        part = trace_part(self._store, partition.place, row, number)
                        lines = [f"{path}: line {line}" for path, line in part.lines]
                        where = ", ".join(lines) or f"{part.path}: made from its shard, but refused by the format"
                        self._record_found_row(pair, "exports", partition.place, read.shard, where)

    def _wanted_rows_of_shard(self, made: Partition, read: Input) -> Iterator[tuple[Pair, int]]:
        """(pair, row) of the wanted documents in a shard that was read; nothing, and a remark, if it has changed."""
        searched = self._searched.get((read.asset, made.place.snapshot))
        current = searched.partition.shards.get(read.shard) if searched else None
        if searched is None or current is None or current.identity != read.content:
            self._stale.append(read.shard)
            return
        yield from searched.rows.get(read.shard, {}).items()

    def _tell_stale(self, area: Area, there: Place) -> None:
        """One remark on all shards of a partition that were made from other shards than those of today."""
        names, self._stale = sorted(set(self._stale)), []
        if names:
            what = f"shard {names[0]}" if len(names) == 1 else f"{len(names)} shards, such as {names[0]}"
            self.search.note_skipped(area, _partition_in_words(there), STALE.format(what))


def _is_beside(documents: _SearchedRows | None, name: str, ids: str) -> bool:
    """Whether a shard of a set has the rows of the documents as they are now."""
    beside = documents.partition.shards.get(name) if documents else None
    return beside is not None and beside.ids == ids


def _partition_in_words(there: Place) -> str:
    return f"{there.asset} ({there.snapshot})"


def _locate_unread_row(partition: Partition, name: str, row: int) -> LocatedRow:
    """A row whose bytes nobody reads."""
    return LocatedRow(partition.shards[name], partition.place.shard(name), row, (0, 0), b"")
