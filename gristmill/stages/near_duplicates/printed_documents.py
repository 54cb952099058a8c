"""Rows, lengths and ids of documents, from the parts of fingerprints."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.shard_file import unpacked_whole
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord, read_part_file
from gristmill.stages.fingerprints.spans import SpanTable
from gristmill.stages.near_duplicates.inputs import Table
from gristmill.stages.near_duplicates.nodes import (
    Nodes,
    document_of_nodes,
    encode_nodes,
    equal_stretches,
    part_of_nodes,
    rank_of_nodes,
    shard_of_nodes,
)

_MOST = 1 << 34  # bytes that the ids of one shard may unpack to


class PrintedDocuments:
    """Reads what the parts of fingerprints say of documents.

    Args:
        store: the lake.
        fingerprints: the table of each rank.
    """

    def __init__(self, store: Store, fingerprints: Sequence[Table]) -> None:
        self._store, self._tables = store, fingerprints

    def rows(self, nodes: Nodes) -> NDArray[np.int64]:
        """The number of each document's row in its shard (n).

        Args:
            nodes: documents, ascending (n).

        Raises:
            DataError: a part has not so many documents.
        """
        rows = document_of_nodes(nodes)
        for first, last, row, table in self._nodes_by_shard(nodes):
            where, record = (
                f"{table.place.table}: part {row.name}",
                BinaryPartRecord.decode_from_row(row, table.place.table),
            )
            spans = record.count("spans")
            if spans is None or int(rows[last - 1]) >= spans:
                raise DataError(
                    f"{where}: has no document {int(rows[last - 1]):,} with words; make this partition again"
                )
            if spans != row.rows:  # some documents have no words
                (some,) = np.nonzero(self._read_shard_spans(row, table).counts)
                rows[first:last] = some[rows[first:last]]
        return rows

    def nodes_of_rows(self, rank: int, shard: str, rows: Sequence[int]) -> tuple[NDArray[np.int64], Nodes]:
        """The rows, of those given, that have words, ascending (n), and their documents (n).

        Args:
            rank: rank of the snapshot.
            shard: name of the shard.
            rows: numbers of rows of the shard.
        """
        table = self._tables[rank]
        (some,) = np.nonzero(self._read_shard_spans(table.rows[shard], table).counts)
        found = np.intersect1d(some, rows)
        return found, encode_nodes(rank, table.names.index(shard), np.searchsorted(some, found))

    def lengths(self, nodes: Nodes) -> NDArray[np.int64]:
        """The length of the text of each document in code points (n).

        Args:
            nodes: documents, ascending (n).
        """
        lengths = self.rows(nodes)
        for first, last, row, table in self._nodes_by_shard(nodes):
            lengths[first:last] = self._read_shard_spans(row, table).lengths[lengths[first:last]]
        return lengths

    def _read_shard_spans(self, row: Shard, table: Table) -> SpanTable:
        data = read_part_file(self._store, row, table.place.table, "spans")
        return SpanTable.decode(data, f"{table.place.table}: part {row.name}")

    def pairs(self, nodes: Nodes, rows: NDArray[np.int64]) -> list[Pair]:
        """The (source, id) of each document.

        Args:
            nodes: documents, ascending (n).
            rows: their rows (n).

        Raises:
            DataError: a part has no such row.
        """
        pairs: list[Pair] = []
        for first, last, row, table in self._nodes_by_shard(nodes):
            where = f"{table.place.table}: part {row.name}"
            data = read_part_file(self._store, row, table.place.table, "ids.gz")
            plain = unpacked_whole(data, f"{row.name}/ids.gz", _MOST) if data else b""
            if xxhash.xxh3_128_hexdigest(plain) != row.ids:
                raise DataError(f"{where}: its ids are not those of its ledger; make this partition again")
            lines = plain.splitlines()
            try:
                for number in rows[first:last].tolist():
                    source, id_ = msgspec.json.decode(lines[number], type=tuple[str, str])
                    pairs.append((source, id_))
            except (IndexError, *NOT_DECODED) as error:
                raise DataError(f"{where}: its ids are not those of its rows; make this partition again") from error
        return pairs

    def _nodes_by_shard(self, nodes: Nodes) -> Iterator[tuple[int, int, Shard, Table]]:
        for first, last in equal_stretches(part_of_nodes(nodes)):
            table = self._tables[int(rank_of_nodes(nodes[first : first + 1])[0])]
            yield first, last, table.row(int(shard_of_nodes(nodes[first : first + 1])[0])), table
