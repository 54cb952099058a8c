"""The scores of documents, from an attribute set, for a recipe that keeps the document with the highest one."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.rows.attribute import parse_rows
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.protocol import Store
from gristmill.stages.near_duplicates.inputs import Table
from gristmill.stages.near_duplicates.nodes import Nodes, equal_stretches, part_of_nodes, rank_of_nodes, shard_of_nodes
from gristmill.stages.near_duplicates.printed_documents import PrintedDocuments


class ScoreValues:
    """Reads one score of documents. Of several spans, the highest score counts; without the label it is the lowest.

    Args:
        store: the lake.
        printed: finder of the rows of documents.
        fingerprints: the table of each rank of this round.
        sets: the table of the attribute set of each rank of this round.
        score: the set and the label, such as `quality-1__good`.
    """

    def __init__(
        self,
        store: Store,
        printed: PrintedDocuments,
        fingerprints: Mapping[int, Table],
        sets: Mapping[int, Table],
        score: str,
    ) -> None:
        self._store, self._printed = store, printed
        self._fingerprints, self._sets = fingerprints, sets
        self._set, _, self._label = score.partition("__")

    def scores_of_documents(self, nodes: Nodes) -> NDArray[np.float64]:
        """The score of each document, ascending (n).

        Raises:
            DataError: the set is not of the same documents.
        """
        rows = self._printed.rows(nodes)
        found = np.empty(len(nodes), np.float64)
        for first, last in equal_stretches(part_of_nodes(nodes)):
            rank = int(rank_of_nodes(nodes[first : first + 1])[0])
            scores = self._read_shard_scores(rank, int(shard_of_nodes(nodes[first : first + 1])[0]))
            found[first:last] = scores[rows[first:last]]
        return found

    def _read_shard_scores(self, rank: int, number: int) -> NDArray[np.float64]:
        """The scores of all rows of a shard."""
        printed, table = self._fingerprints[rank], self._sets[rank]
        row = printed.row(number)
        if row.name not in table.rows or table.rows[row.name].ids != row.ids:
            raise DataError(
                f"{table.place.table}: shard {row.name} has other documents than its fingerprints; make"
                f" {table.place.asset} of {table.place.snapshot} again"
            )
        file = open_shard(self._store, table.place, table.rows[row.name])
        scores: list[float] = []
        for block in file.blocks():
            for each in parse_rows(split_rows(block), self._set, file.path, len(scores)):
                spans = each.labels.get(self._label, ())
                scores.append(max((score for _, _, score in spans), default=-np.inf))
        return np.array(scores, np.float64)
