"""TextLengths: the lengths of the texts of a block, measured only where one is asked for."""

from collections.abc import Sequence
from functools import cached_property
from typing import overload

from gristmill.errors import DataError
from gristmill.lake.rows.shard_file import split_rows
from gristmill.stages.mixing.edits.row_bytes import text_of_line


class TextLengths(Sequence[int]):
    r"""The number of code points of each text: a score without a span is a span of the whole text.

    Written rows have their spans, so most blocks are never decoded for this.

    Args:
        block: the lines of the rows.
        rows: their number.

    >>> list(TextLengths(b'{"text":"to be"}\n{"text":null}\n', 2))
    [5, 0]
    """

    def __init__(self, block: bytes, rows: int) -> None:
        self._block, self._rows = block, rows

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, number: int) -> int: ...

    @overload
    def __getitem__(self, number: slice) -> list[int]: ...

    def __getitem__(self, number: int | slice) -> int | list[int]:
        """The length of one text, 0 if the row has none; or those of several."""
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(self._rows))]
        try:
            return len(text_of_line(self._row_lines[number]))
        except DataError:
            return 0

    @cached_property
    def _row_lines(self) -> list[bytes]:
        return split_rows(self._block)
