"""The file `spans` of a part of fingerprints: the spans of each document, and how many hashes each span has."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError

_HEAD = 3
"""Numbers at the beginning of the file: documents, spans, hashes; unsigned 64-bit integers, little-endian."""


@dataclass(frozen=True)
class SpanTable:
    """The spans of a shard's documents, in the order of the rows.

    Attributes:
        counts: number of spans of each document, shape (documents,).
        starts: the first code point of each span, shape (spans,).
        ends: the code point after each span, shape (spans,).
        sizes: number of hashes of each span, shape (spans,); None: each span has one.
        hashes: number of hashes.
    """

    counts: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    ends: NDArray[np.uint32]
    sizes: NDArray[np.uint32] | None
    hashes: int

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self.counts)

    @cached_property
    def first_spans(self) -> NDArray[np.int64]:
        """The number of the first span of each document, and at the end the number of spans, shape (documents + 1,)."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts, dtype=np.int64)])

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The offset where the last span of each document ends, shape (documents,); 0 without spans.

        If the unit is the whole document, that is the length of its text in code points.
        """
        lengths = np.zeros(self.documents, np.int64)
        some = self.counts > 0
        lengths[some] = self.ends[self.first_spans[1:][some] - 1]
        return lengths

    def span_of_hash(self, ordinal: int, where: str) -> tuple[int, int, int]:
        """The span of a hash: the number of its document's row, its first code point, and the one after it.

        Args:
            ordinal: the number of the hash in the shard.
            where: the part, for the message.

        Raises:
            DataError: the shard has no such hash.

        >>> columns = (np.array(each, np.uint32) for each in ([2, 0, 1], [0, 5, 0], [4, 9, 3], [1, 2, 1]))
        >>> table = SpanTable(*columns, hashes=4)
        >>> [table.span_of_hash(ordinal, "part 00") for ordinal in range(4)]
        [(0, 0, 4), (0, 5, 9), (0, 5, 9), (2, 0, 3)]
        """
        if not 0 <= ordinal < self.hashes:
            raise DataError(f"{where}: it has no hash {ordinal:,}; make this partition again")
        span = ordinal
        if self.sizes is not None:
            span = int(np.searchsorted(np.cumsum(self.sizes, dtype=np.int64), ordinal, "right"))
        return self._locate_span(span)

    def first_document_span(self, number: int, where: str) -> tuple[int, int, int]:
        """The same of a document: the place of its first span.

        Args:
            number: number of the document among those that have spans.
            where: the part, for the message.

        Raises:
            DataError: the shard has no such document.

        >>> columns = (np.array(each, np.uint32) for each in ([0, 1, 1], [0, 0], [4, 9], [14, 14]))
        >>> table = SpanTable(*columns, hashes=28)
        >>> [table.first_document_span(number, "part 00") for number in range(2)]
        [(1, 0, 4), (2, 0, 9)]
        """
        (some,) = np.nonzero(self.counts)
        if not 0 <= number < len(some):
            raise DataError(f"{where}: it has no document {number:,} with words; make this partition again")
        return self._locate_span(int(self.first_spans[some[number]]))

    def _locate_span(self, span: int) -> tuple[int, int, int]:
        row = int(np.searchsorted(self.first_spans, span, "right")) - 1
        return row, int(self.starts[span]), int(self.ends[span])

    def encode(self) -> bytes:
        """The bytes of the file."""
        head = np.array([self.documents, len(self.starts), self.hashes], "<u8")
        columns = [self.counts, self.starts, self.ends, *([] if self.sizes is None else [self.sizes])]
        return b"".join([head.tobytes(), *(column.astype("<u4").tobytes() for column in columns)])

    @classmethod
    def decode(cls, data: bytes, where: str) -> "SpanTable":
        """Reads the bytes of the file.

        Args:
            data: the bytes.
            where: the part, for the message.

        Returns:
            The table of the spans.

        Raises:
            DataError: they are not the spans of documents.

        >>> counts, starts, ends = (np.array(each, np.uint32) for each in ([2, 0], [0, 5], [4, 9]))
        >>> table = SpanTable(counts, starts, ends, None, 2)
        >>> SpanTable.decode(table.encode(), "part 00").lengths.tolist()
        [9, 0]
        """
        wrong = DataError(f"{where}: its file of spans is cut or damaged; make this partition again")
        if len(data) < 8 * _HEAD or len(data) % 4:
            raise wrong
        documents, spans, hashes = np.frombuffer(data, "<u8", _HEAD).tolist()
        numbers = np.frombuffer(data, "<u4", offset=8 * _HEAD)
        if len(numbers) not in {documents + 2 * spans, documents + 3 * spans}:
            raise wrong
        counts, starts, ends, sizes = np.split(numbers, [documents, documents + spans, documents + 2 * spans])
        given = sizes if len(sizes) else None
        if int(counts.sum(dtype=np.int64)) != spans or (starts > ends).any():
            raise wrong
        if (int(given.sum(dtype=np.int64)) if given is not None else spans) != hashes:
            raise wrong
        return cls(counts, starts, ends, given, hashes)
