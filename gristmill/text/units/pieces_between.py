"""The pieces of texts between separators, such as paragraphs and lines, with their hashes."""

from collections.abc import Iterator, Sequence
from itertools import chain, compress, pairwise

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import Numbers
from gristmill.text.units.hashes import Digests, hash_pieces
from gristmill.text.units.normalisation import normalise_text
from gristmill.text.units.unit_hashes import TextGroup, UnitHashes, spans_of_texts, text_groups
from gristmill.text.units.utf8_column import Utf8Column, decode_text, encoded_text

EMPTY, SHORT, FEW_WORDS = "empty", "too short", "too few words"
"""Why a unit is left out."""

_MAYBE_SPACE = np.array([code >= 0x80 or chr(code).isspace() for code in range(256)], np.bool_)
"""Whether a byte may be of white space. Each that is not, is a character with ink."""


class BytePieces:
    """The pieces of a group of texts between separators, in UTF-8.

    Args:
        group: the texts.
        separator: between two pieces.

    Attributes:
        column: the texts, each followed by the separator.
        pieces: content of each piece in UTF-8 (P).
        starts: offset in the column where each piece begins, in bytes (P).
        ends: offset where each ends (P).
        kept: whether each piece is not left out (P).
        skipped: number of pieces that were left out, by the reason.
    """

    def __init__(self, group: TextGroup, separator: str) -> None:
        self.group = group
        self.column = Utf8Column.of(group.texts, separator)
        mark = encoded_text(separator)
        data, bounds = self.column.data, self.column.bounds.tolist()
        if len(separator) == 1:
            self.pieces = data.split(mark)
            self.pieces.pop()
        else:
            texts = (data[a : b - len(mark)].split(mark) for a, b in pairwise(bounds))
            self.pieces = list(chain.from_iterable(texts))
        if len(mark) == 1:
            self.ends = np.flatnonzero(self.column.bytes == mark[0])
            self.starts = np.zeros_like(self.ends)
            self.starts[1:] = self.ends[:-1] + 1
        else:
            lengths = np.fromiter(map(len, self.pieces), np.int64, len(self.pieces))
            self.ends = np.cumsum(lengths + len(mark)) - len(mark)
            self.starts = self.ends - lengths
        self.kept = np.ones(len(self.pieces), np.bool_)
        self.skipped: dict[str, int] = {}

    def skip_pieces(self, chosen: NDArray[np.bool_], reason: str) -> None:
        """Leaves the chosen pieces out, if they are not left out already.

        Args:
            chosen: a flag for each piece.
            reason: reason under which they are counted.
        """
        chosen = chosen & self.kept
        count = int(np.count_nonzero(chosen))
        if count:
            self.kept &= ~chosen
            self.skipped[reason] = self.skipped.get(reason, 0) + count

    def trim_pieces(self) -> None:
        """Takes the white space from both ends of each piece, and leaves out what has nothing else."""
        places = self._pieces_with_space_edge(first_or_last=True)
        (ink,) = np.nonzero(self.column.is_space == 0)
        firsts = self.column.non_space_counts.before(self.starts[places])
        lasts = self.column.non_space_counts.before(self.ends[places])
        blank = firsts == lasts
        self.ends[places[blank]] = self.starts[places[blank]]
        places, firsts, lasts = places[~blank], firsts[~blank], lasts[~blank]
        self.starts[places], self.ends[places] = ink[firsts], ink[lasts - 1] + 1
        data = self.column.data
        bounds = zip(places.tolist(), self.starts[places].tolist(), self.ends[places].tolist(), strict=True)
        for place, start, end in bounds:
            self.pieces[place] = data[start:end]
        self.skip_pieces(self.ends == self.starts, EMPTY)

    def skip_blank(self) -> None:
        """Leaves out what is empty, or white space alone."""
        blank = self.ends == self.starts
        for place in self._pieces_with_space_edge(first_or_last=False).tolist():
            blank[place] = decode_text(self.pieces[place]).isspace()
        self.skip_pieces(blank, EMPTY)

    def _pieces_with_space_edge(self, *, first_or_last: bool) -> Numbers:
        """The pieces whose first or last byte, or both, may be of white space."""
        (some,) = np.nonzero(self.ends > self.starts)
        first = _MAYBE_SPACE[self.column.bytes.take(self.starts[some])]
        last = _MAYBE_SPACE[self.column.bytes.take(self.ends[some] - 1)]
        return some[first | last if first_or_last else first & last]

    def spans(self) -> tuple[Numbers, Numbers, Numbers]:
        """The spans of each text, and the starts and ends of those that are kept, in code points of their texts."""
        starts, ends = self.starts[self.kept], self.ends[self.kept]
        bounds = self.column.bounds
        counts = spans_of_texts(starts, bounds)
        before = np.repeat(self.column.code_points(bounds[:-1]) - self.group.offset, counts)
        return counts, self.column.code_points(starts) - before, self.column.code_points(ends) - before

    def hash_kept_pieces(self, normalisation: str, hashed: Digests = hash_pieces) -> UnitHashes:
        """The units of the pieces that are kept. What is empty after its normalisation is left out too.

        Args:
            normalisation: name of the normalisation of each piece before it is hashed.
            hashed: function that computes the hashes.
        """
        if normalisation:
            self._normalise_pieces(normalisation)
        whole = bool(self.kept.all())
        pieces = self.pieces if whole else compress(self.pieces, self.kept.tolist())
        hashes = hashed(pieces)
        spans, starts, ends = self.spans()
        return UnitHashes(self.group.first, spans, starts, ends, hashes, None, self.skipped)

    def _normalise_pieces(self, name: str) -> None:
        for place in np.flatnonzero(self.kept).tolist():
            text = normalise_text(decode_text(self.pieces[place]), name)
            self.pieces[place] = encoded_text(text)
        self.skip_pieces(np.fromiter((not piece for piece in self.pieces), np.bool_, len(self.pieces)), EMPTY)


def paragraphs(
    texts: Sequence[str],
    separator: str = "\n",
    min_length: int = 0,
    min_words: int = 0,
    normalisation: str = "",
    hashed: Digests = hash_pieces,
) -> Iterator[UnitHashes]:
    r"""The paragraphs of texts: what is between separators and not white space alone. White space at its ends counts.

    Args:
        texts: any texts.
        separator: between two paragraphs.
        min_length: paragraphs with fewer code points are left out.
        min_words: paragraphs with fewer words between white space are left out.
        normalisation: name of the normalisation of each paragraph before it is hashed; see `normalisation.py`.
        hashed: function that computes the hashes.

    >>> one, = paragraphs(["to be\n\n or not", "to be"])
    >>> one.spans.tolist(), one.starts.tolist(), one.ends.tolist(), bool(one.hashes.low[0] == one.hashes.low[2])
    ([2, 1], [0, 7, 0], [5, 14, 5], True)
    """
    for group in text_groups(texts, separator):
        pieces = BytePieces(group, separator)
        pieces.skip_blank()
        _skip_short_pieces(pieces, min_length)
        if min_words:
            words = (len(decode_text(piece).split()) for piece in pieces.pieces)
            pieces.skip_pieces(np.fromiter(words, np.int64, len(pieces.pieces)) < min_words, FEW_WORDS)
        yield pieces.hash_kept_pieces(normalisation, hashed)


def lines(
    texts: Sequence[str], min_length: int = 0, normalisation: str = "", hashed: Digests = hash_pieces
) -> Iterator[UnitHashes]:
    r"""The lines of texts, without white space at both ends. Empty ones are left out.

    Args:
        texts: any texts.
        min_length: lines with fewer code points are left out.
        normalisation: name of the normalisation of each line before it is hashed.
        hashed: function that computes the hashes.

    >>> one, = lines(["  to be \n\t\n"])
    >>> one.starts.tolist(), one.ends.tolist(), one.skipped
    ([2], [7], {'empty': 2})
    """
    for group in text_groups(texts, "\n"):
        pieces = BytePieces(group, "\n")
        pieces.trim_pieces()
        _skip_short_pieces(pieces, min_length)
        yield pieces.hash_kept_pieces(normalisation, hashed)


def _skip_short_pieces(pieces: BytePieces, least: int) -> None:
    if least:
        column = pieces.column
        pieces.skip_pieces(column.code_points(pieces.ends) - column.code_points(pieces.starts) < least, SHORT)
