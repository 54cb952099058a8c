"""Lines: the lines of a column of texts, and those that repeat within a text."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gristmill.text.code_points import BREAK, CodePoints, Hashes, Numbers, mix_hash_bits
from gristmill.text.pieces import Pieces
from gristmill.text.repeats import Repeats

_START = 8  # code points that are compared first

# Odd constants. The first makes the keys of one line in two texts differ.
_TEXT = np.uint64(0xD6E8FEB86659FD93)
_LENGTH = np.uint64(0x8EBC6AF09C88C6E3)


@dataclass(frozen=True)
class Lines(Pieces):
    r"""The L lines of T texts, as `str.split("\n")` cuts them: a text has one line more than line feeds.

    Args:
        column: the texts.
        starts, ends: line i is `column.units[starts[i]:ends[i]]` (L).
        bounds: text t has the lines from `bounds[t]` to before `bounds[t + 1]` (T + 1).

    >>> lines = Lines.of(CodePoints.of(["a\nbb\na", "a"]))
    >>> lines.counts.tolist(), lines.lengths.tolist(), lines.repeated().tolist()
    ([3, 1], [1, 2, 1, 1], [0, 2])
    """

    @classmethod
    def of(cls, column: CodePoints) -> "Lines":
        """The lines of a column."""
        (ends,) = np.nonzero((column.kinds & BREAK) != 0)
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1] + 1
        return cls(column, starts, ends, np.searchsorted(starts, column.bounds))

    def count(self, chosen: Numbers) -> Numbers:
        """The number of the chosen lines of each text (T); `chosen` are line numbers (any shape (n,))."""
        return np.bincount(self.texts[chosen], minlength=len(self.counts))

    def repeated(self) -> Numbers:
        """The numbers of all lines that occur more than once in their text, ascending (n)."""
        alike, repeats = self._repeated_candidates
        return alike[repeats.places]

    def copied_line_numbers(self) -> Numbers:
        r"""The numbers of all lines that occurred before in their text, ascending (n).

        >>> Lines.of(CodePoints.of(["a\nb\na\na", "a"])).copied_line_numbers().tolist()
        [2, 3]
        """
        alike, repeats = self._repeated_candidates
        again = np.ones(len(repeats.places), np.bool_)
        again[np.searchsorted(repeats.places, repeats.firsts)] = False
        return alike[repeats.places[again]]

    @cached_property
    def _repeated_candidates(self) -> tuple[Numbers, Repeats]:
        """Lines among which are all that repeat, and the repeats among these."""
        short = np.minimum(self.lengths, _START)
        keys = self._line_keys(self.starts, self.starts + short, np.arange(len(self.starts)))
        # Most lines differ from all others in their length or first letters, so only the rest is hashed completely.
        alike = Repeats.of(keys).places
        whole = self._line_keys(self.starts[alike], self.ends[alike], alike)
        return alike, Repeats.of(whole)

    def _line_keys(self, starts: Numbers, ends: Numbers, lines: Numbers) -> Hashes:
        keys = self.column.hashes(starts, ends)
        keys += self.lengths[lines].astype(np.uint64) * _LENGTH
        keys += self.texts[lines].astype(np.uint64) * _TEXT
        return mix_hash_bits(keys)
