"""Signatures of documents, read by ranges from the parts of fingerprints."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord, file_of_part, read_part_file
from gristmill.stages.near_duplicates.inputs import Table
from gristmill.stages.near_duplicates.nodes import Nodes, equal_stretches, part_of_nodes, rank_of_nodes, shard_of_nodes
from gristmill.stages.near_duplicates.printed_documents import PrintedDocuments
from gristmill.text.units.minhash import Signatures

_WHOLE = 1 << 24  # files of so many bytes are read whole, and their sha256 is compared
_GAP = 1 << 16  # bytes between two signatures that are read together
_RANGE = 1 << 23  # most bytes of a range


class SignatureRows:
    """Reads signatures.

    Args:
        store: the lake.
        printed: finder of the rows of documents.
        fingerprints: the table of each rank.
        values: number of values of a signature.
    """

    def __init__(self, store: Store, printed: PrintedDocuments, fingerprints: Sequence[Table], values: int) -> None:
        self._store, self._printed, self._tables, self._width = store, printed, fingerprints, 4 * values

    def read(self, nodes: Nodes) -> Signatures:
        """The signatures of documents (n, values).

        Args:
            nodes: documents, ascending (n).

        Raises:
            DataError: a part has no such signature.
        """
        found = np.empty((len(nodes), self._width // 4), np.uint32)
        rows = self._printed.rows(nodes)
        for first, last in equal_stretches(part_of_nodes(nodes)):
            self._read_part(nodes[first:last], rows[first:last], found[first:last])
        return found

    def _read_part(self, nodes: Nodes, numbers: NDArray[np.int64], into: Signatures) -> None:
        table = self._tables[int(rank_of_nodes(nodes[:1])[0])]
        row = table.row(int(shard_of_nodes(nodes[:1])[0]))
        path, _ = file_of_part(row, table.place.table, "signatures")
        size = BinaryPartRecord.decode_from_row(row, table.place.table).objects[path][1]
        if (int(numbers[-1]) + 1) * self._width > size or size % self._width:
            raise DataError(
                f"{path}: {size:,} bytes have no signature of row {int(numbers[-1]):,}; make the fingerprints of"
                " this snapshot again"
            )
        if size <= _WHOLE:
            whole = read_part_file(self._store, row, table.place.table, "signatures")
            into[:] = np.frombuffer(whole, "<u4").reshape(-1, self._width // 4)[numbers]
            return
        for first, last in self._joint_read_ranges(numbers):
            begin = int(numbers[first])
            data = self._store.read_range(path, begin * self._width, (int(numbers[last - 1]) + 1) * self._width)
            read = np.frombuffer(data, "<u4").reshape(-1, self._width // 4)
            into[first:last] = read[numbers[first:last] - begin]

    def _joint_read_ranges(self, numbers: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Divides ascending numbers of documents into those that are read together."""
        near, most = max(_GAP // self._width, 1), max(_RANGE // self._width, 1)
        apart = np.flatnonzero(np.diff(numbers) > near) + 1
        for first, last in zip([0, *apart.tolist()], [*apart.tolist(), len(numbers)], strict=True):
            yield from equal_stretches(((numbers[first:last] - numbers[first]) // most), first)
