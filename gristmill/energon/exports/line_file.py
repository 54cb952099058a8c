"""A file of JSON lines and the index beside it, as Energon reads them."""

from array import array

import numpy as np
import xxhash

from gristmill.lake.rows.shard_file import MEMBER
from gristmill.recipes.export_formats.codec import Cut, FileFacts, Sink

INDEX = ".idx"
"""What is added to the name of a file for that of its index."""
_LINE_FEED = 10


class LineFile:
    """Writes lines, and the index of their bytes. Nothing is visible before close().

    The index has 64-bit integers, little-endian: 0, then the end of each line.

    Args:
        lines: file that receives the lines.
        index: file that receives the index.
    """

    def __init__(self, lines: Sink, index: Sink) -> None:
        self._lines, self._index = lines, index
        self._content = xxhash.xxh3_128()
        self._ends = array("Q", [0])
        self._cuts: list[Cut] = []

    def write(self, lines: bytes) -> None:
        """Appends lines, each with its line feed."""
        size = self._ends[-1]
        ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == _LINE_FEED).astype("<u8") + size + 1
        if not self._cuts or size - self._cuts[-1].start >= MEMBER:
            self._cuts.append(Cut(size, len(self._ends) - 1, size))
        self._ends.frombytes(ends.tobytes())
        self._content.update(lines)
        self._lines.write(lines)

    def close(self) -> tuple[FileFacts, FileFacts]:
        """Publishes both files. Returns what is known of the lines and of the index."""
        index = np.frombuffer(self._ends, np.uint64).astype("<u8").tobytes()
        self._index.write(index)
        self._lines.close()
        self._index.close()
        facts = FileFacts(len(self._ends) - 1, self._ends[-1], self._content.hexdigest(), tuple(self._cuts))
        return facts, FileFacts(0, len(index), xxhash.xxh3_128_hexdigest(index))
