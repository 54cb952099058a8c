"""FilteredBlock: the rows of a block, the decisions of a selection about them, and their edits."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.identity import Pair
from gristmill.lake.rows.attribute import AttributeRow
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.json_object import NOT_DECODED

_NO_EDITS: Mapping[int, bytes] = {}
_NO_LABELS: Mapping[str, Sequence[AttributeRow]] = {}


class _EditedRow(msgspec.Struct):
    """The fields that an edit must not change."""

    source: str
    id: str | int  # adopted rows may have integer ids


class FilteredBlock(NamedTuple):
    """A block of a shard, and the decisions about its rows.

    Attributes:
        first: number of its first row in the shard.
        block: its lines.
        pairs: (source, id) of each row.
        values: the values of each declared column, one per row.
        decisions: shape (rows,): 0 for a row that is kept, else 1 + the index of the reason that drops it.
        reasons: blocklists, rules, then the rate.
        labels: the rows of the attribute sets whose labels the selection merges, by the set's name.
        edits: new bytes of a row, without a line feed, by its number in the block. Other rows keep their bytes.
    """

    first: int
    block: bytes
    pairs: Sequence[Pair]
    values: dict[str, Sequence[Any]]
    decisions: NDArray[np.int64]
    reasons: list[str]
    labels: Mapping[str, Sequence[AttributeRow]] = _NO_LABELS
    edits: Mapping[int, bytes] = _NO_EDITS

    def with_edits(self, edits: Mapping[int, bytes]) -> "FilteredBlock":
        """The same block with new bytes for some rows.

        Args:
            edits: new bytes of rows, by the row's number in the block.

        Raises:
            DataError: the block has no such row, or the new bytes are not one line of JSON with the row's id and
                source.
        """
        for number, row in edits.items():
            if not 0 <= number < len(self.pairs):
                raise DataError(f"an edit of row {number} of a block that has {len(self.pairs)} rows")
            try:
                edited = msgspec.json.decode(row, type=_EditedRow)
            except NOT_DECODED as error:
                raise DataError(f"row {self.first + number}: its edited bytes are not a row: {error}") from error
            if b"\n" in row or (edited.source, str(edited.id)) != self.pairs[number]:
                raise DataError(
                    f"row {self.first + number}: an edit must keep the row on one line, with its source and id"
                    f" {self.pairs[number]}"
                )
        return self._replace(edits=edits)

    def kept_rows(self) -> tuple[bytes, Sequence[Pair]]:
        """The rows that are kept: their lines, and the pair of each.

        Rows without an edit are copied as bytes. A block that is kept whole is returned as it is.
        """
        if not self.edits and not self.decisions.any():
            return self.block, self.pairs
        kept = np.flatnonzero(self.decisions == 0).tolist()
        if not kept:
            return b"", []
        lines = split_rows(self.block)
        for number, row in self.edits.items():
            lines[number] = row
        chosen = [lines[i] for i in kept]
        chosen.append(b"")
        return b"\n".join(chosen), [self.pairs[i] for i in kept]

    def dropped_counts(self) -> dict[str, int]:
        """The number of dropped rows, by reason."""
        numbers, counts = np.unique(self.decisions[self.decisions > 0], return_counts=True)
        return {self.reasons[n - 1]: c for n, c in zip(numbers.tolist(), counts.tolist(), strict=True)}
