"""Lines: those of a column of texts, and which of them repeat within a text."""

from dataclasses import dataclass

import numpy as np

from gristmill.text.code_points import BREAK, CodePoints, Hashes, Numbers, mixed
from gristmill.text.pieces import Pieces
from gristmill.text.repeats import Repeats

_START = 8  # code points that are compared before whole lines are

_TEXT = np.uint64(0xD6E8FEB86659FD93)  # odd: so that one line in two texts differs
_LENGTH = np.uint64(0x8EBC6AF09C88C6E3)


@dataclass(frozen=True)
class Lines(Pieces):
    r"""Lines as `str.split("\n")` cuts them: a text has one more than it has line feeds, so at least one."""

    @classmethod
    def of(cls, column: CodePoints) -> "Lines":
        """The lines of a column."""
        (ends,) = np.nonzero((column.kinds & BREAK) != 0)
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1] + 1
        return cls(column, starts, ends, np.searchsorted(starts, column.bounds))

    def count(self, chosen: Numbers) -> Numbers:
        """How many of the chosen lines each text has; `chosen` are line numbers."""
        return np.bincount(self.texts[chosen], minlength=len(self.counts))

    def repeated(self) -> Numbers:
        """The numbers of all lines that occur more than once in their text."""
        short = np.minimum(self.lengths, _START)
        keys = self._keys(self.starts, self.starts + short, np.arange(len(self.starts)))
        # Most lines differ from all others in length or first letters: those need not be read to their end.
        alike = Repeats.of(keys).places
        whole = self._keys(self.starts[alike], self.ends[alike], alike)
        return alike[Repeats.of(whole).places]

    def _keys(self, starts: Numbers, ends: Numbers, lines: Numbers) -> Hashes:
        keys = self.column.hashes(starts, ends)
        keys += self.lengths[lines].astype(np.uint64) * _LENGTH
        keys += self.texts[lines].astype(np.uint64) * _TEXT
        return mixed(keys)
