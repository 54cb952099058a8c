"""Statistics of a token cache's rows: lengths, text bytes, unknown tokens; counted while the rows are written."""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from gristmill.encoding.vocabulary import Vocabulary
from gristmill.lake.ledger.counts import add_counts, sum_counts

Ids = npt.NDArray[np.int32]
Lengths = npt.NDArray[np.int64]

BUCKETS = 32
"""Number of length buckets. Bucket 0 counts empty rows, bucket n rows of 2^(n-1) to 2^n - 1 tokens."""


class TokenStatistics(msgspec.Struct, frozen=True, omit_defaults=True):
    """Statistics of the rows of a shard, all splits together.

    Attributes:
        bytes: bytes of UTF-8 of the rows' texts.
        unknown: number of unknown tokens.
        fragments: number of tokens that are a byte fallback, or whose bytes alone are not UTF-8: see Vocabulary.
        lengths: number of rows in each length bucket, up to the last bucket that is not empty.
        kept: number of rows that were kept although they have an error, by reason.
        dropped: number of rows that were dropped because of an error, by reason.
    """

    bytes: int = 0
    unknown: int = 0
    fragments: int = 0
    lengths: tuple[int, ...] = ()
    kept: dict[str, int] = {}
    dropped: dict[str, int] = {}

    @property
    def counts(self) -> dict[str, int]:
        """The statistics that the ledger's totals include. The histogram of lengths stays in the table."""
        counts = {"text bytes": self.bytes, "unknown tokens": self.unknown, "tokens inside a character": self.fragments}
        kept = {f"kept: {reason}": rows for reason, rows in self.kept.items()}
        return {name: number for name, number in counts.items() if number} | kept


def length_bucket_edges(count: int) -> list[int]:
    """The edges of `count` length buckets: 0, 1, 2, 4, 8, ... (count + 1 numbers)."""
    return [0, *(1 << n for n in range(count))]


def add_statistics(facts: Iterable[TokenStatistics]) -> TokenStatistics:
    """The sum of several statistics."""
    total = TokenStatistics()
    for counted in facts:
        width = max(len(total.lengths), len(counted.lengths))
        total = TokenStatistics(
            total.bytes + counted.bytes,
            total.unknown + counted.unknown,
            total.fragments + counted.fragments,
            tuple(
                a + b
                for a, b in zip(
                    _pad_row_lengths(total.lengths, width), _pad_row_lengths(counted.lengths, width), strict=True
                )
            ),
            sum_counts((total.kept, counted.kept)),
            sum_counts((total.dropped, counted.dropped)),
        )
    return total


def _pad_row_lengths(lengths: Sequence[int], width: int) -> list[int]:
    return [*lengths, *[0] * (width - len(lengths))]


class TokenCounter:
    """Counts the rows of one shard."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._any_fragment = bool(vocabulary.fragments.any())
        self._lengths: npt.NDArray[np.int64] = np.zeros(BUCKETS, np.int64)
        self._bytes = self._unknown = self._fragments = 0
        self._kept: dict[str, int] = {}
        self._dropped: dict[str, int] = {}

    def add(
        self, ids: Ids, lengths: Lengths, sizes: Lengths, kept: dict[str, int] | None, dropped: dict[str, int] | None
    ) -> None:
        """Counts the rows of a batch.

        Args:
            ids: (tokens,): token ids of all rows, concatenated.
            lengths: (rows,): tokens of each row.
            sizes: (rows,): bytes of UTF-8 of each row's text.
            kept: number of rows that were kept although they have an error, by reason.
            dropped: number of dropped rows, by reason.
        """
        self._bytes += int(sizes.sum())
        if self._any_fragment:
            self._fragments += int(np.count_nonzero(self._vocabulary.fragments[ids]))
        if self._vocabulary.unknown is not None:
            self._unknown += int(np.count_nonzero(ids == self._vocabulary.unknown))
        buckets = np.minimum(np.frexp(lengths.astype(np.float64))[1], BUCKETS - 1)
        self._lengths += np.bincount(buckets, minlength=BUCKETS)
        add_counts(self._kept, kept or {})
        add_counts(self._dropped, dropped or {})

    def token_statistics(self) -> TokenStatistics:
        """The statistics of all rows counted so far."""
        used = np.flatnonzero(self._lengths)
        lengths = tuple(self._lengths[: used[-1] + 1].tolist()) if len(used) else ()
        kept, dropped = sum_counts((self._kept,)), sum_counts((self._dropped,))
        return TokenStatistics(self._bytes, self._unknown, self._fragments, lengths, kept, dropped)
