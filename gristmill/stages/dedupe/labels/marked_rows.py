"""MarkedRows: the labels of the documents of a shard, from their spans and from the marks of their hashes."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import DocumentUnits, NgramUnits, SentenceUnits
from gristmill.recipes.tagger import Column
from gristmill.stages.dedupe.marks.key_numbers import KEY_MARK
from gristmill.stages.fingerprints.spans import SpanTable
from gristmill.stages.near_duplicates.mark_records import NEAR_MARK

Labelled = list[tuple[str, Column, bool]]
"""For each label its name, a label for each document, and whether scores are written with all digits."""

COUNT = "duplicate characters"
"""Count of the code points in duplicates. One in several spans counts once."""
OVERLAPPING = "overlapping characters"
"""Count of the characters of duplicate spans that lie in an earlier one too. Version 0.2 lacks it: there they are
counted among the duplicate characters."""


@dataclass
class MarkedRows:
    """The spans of the documents of a shard, and what is marked of them.

    Attributes:
        spans: the spans of each document.
        near: records of near duplicates, one for each document in a cluster; else None.
        keyed: records of the documents that share their key with another, one for each, if documents are numbered by a
            key; else None.
        scores: the score of each span; 0 if it is no duplicate.
        whole: whether a label is one number for the whole document.
        counts: counters for the shard's row of the table.
        marks: number of duplicates that the file `marks` names.
    """

    spans: SpanTable
    near: NDArray[Any] | None
    scores: NDArray[np.float64]
    whole: bool
    counts: dict[str, int] = field(default_factory=dict)
    keyed: NDArray[Any] | None = None
    marks: int = 0

    @classmethod
    def of(cls, dedupe: Dedupe, table: SpanTable, marks: bytes, where: str) -> "MarkedRows":
        """Reads the file of a part of marks.

        Args:
            dedupe: the recipe.
            table: the spans of the part of fingerprints.
            marks: content of the file `marks`.
            where: names the part of marks, for messages.

        Returns:
            The spans and marks of the part's shard.

        Raises:
            DataError: the marks are not of these spans.
        """
        if dedupe.near:
            return cls._read_near_marks(table, marks, where)
        if dedupe.numbered:
            return cls._read_numbered_marks(table, marks, where)
        if len(marks) % 4:
            raise DataError(f"{where}: cut; make this partition again")
        ordinals = np.frombuffer(marks, "<u4").astype(np.int64)
        if len(ordinals) and (ordinals[-1] >= table.hashes or (np.diff(ordinals) <= 0).any()):
            raise DataError(f"{where}: not the marks of its fingerprints; make this partition again")
        hit = np.zeros(table.hashes, np.bool_)
        hit[ordinals] = True
        scores = _duplicate_hash_shares(table, hit)
        if isinstance(dedupe.unit, NgramUnits):
            scores[scores < dedupe.unit.threshold] = 0
        found = cls(table, None, scores, isinstance(dedupe.unit, DocumentUnits), marks=len(ordinals))
        taken = scores > 0
        again = _overlapped_code_points(table, taken)
        found.counts = {
            "duplicates": int(taken.sum()),
            COUNT: int((table.ends - table.starts)[taken].sum()) - again,
        }
        if isinstance(dedupe.unit, SentenceUnits):
            found.counts[OVERLAPPING] = again
        return found

    @classmethod
    def _read_near_marks(cls, table: SpanTable, marks: bytes, where: str) -> "MarkedRows":
        if len(marks) % NEAR_MARK.itemsize:
            raise DataError(f"{where}: cut; make this partition again")
        records = np.frombuffer(marks, NEAR_MARK)
        rows = records["row"].astype(np.int64)
        if len(rows) and (rows[-1] >= table.documents or (np.diff(rows) <= 0).any()):
            raise DataError(f"{where}: not the marks of its fingerprints; make this partition again")
        found = cls(table, records, np.zeros(len(table.starts)), whole=True)
        dropped = rows[records["duplicate"] > 0]
        found.marks = len(dropped)
        found.counts = {
            "duplicates": len(dropped),
            COUNT: int(table.lengths[dropped].sum()),
            "in clusters": len(rows),
        }
        return found

    @classmethod
    def _read_numbered_marks(cls, table: SpanTable, marks: bytes, where: str) -> "MarkedRows":
        if len(marks) % KEY_MARK.itemsize:
            raise DataError(f"{where}: cut; make this partition again")
        records = np.frombuffer(marks, KEY_MARK)
        ordinals = records["ordinal"].astype(np.int64)
        if len(ordinals) and (ordinals[-1] >= table.hashes or (np.diff(ordinals) <= 0).any()):
            raise DataError(f"{where}: not the marks of its fingerprints; make this partition again")
        found = cls(table, None, np.zeros(len(table.starts)), whole=True, keyed=records)
        again = np.searchsorted(table.first_spans, ordinals[records["number"] > 1], "right") - 1
        found.marks = len(again)
        found.counts = {"duplicates": len(again), COUNT: int(table.lengths[again].sum())}
        return found

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.spans.documents

    def columns(self, first: int, last: int) -> tuple[NDArray[np.int64], Labelled]:
        """The labels of the documents [first, last), and the length of each text that has a label, in code points."""
        lengths = self.spans.lengths[first:last]
        if self.near is not None:
            return lengths, self._near_columns(first, last)
        begin, end = int(self.spans.first_spans[first]), int(self.spans.first_spans[last])
        if self.keyed is not None:
            low, high = np.searchsorted(self.keyed["ordinal"], [begin, end])
            some = self.keyed[low:high]
            places = np.searchsorted(self.spans.first_spans, some["ordinal"], "right") - 1 - first
            number, size = _masked_column(last - first, np.int64), _masked_column(last - first, np.int64)
            number[places], size[places] = some["number"], some["size"]
            return lengths, [("number", number, True), ("size", size, True)]
        hit = np.flatnonzero(self.scores[begin:end]) + begin
        if self.whole:
            scores: Any = _masked_column(last - first, np.int64)
            scores[np.searchsorted(self.spans.first_spans, hit, "right") - 1 - first] = 1
            return lengths, [("duplicate", scores, False)]
        return lengths, [("duplicate", self._duplicate_spans(hit, first, last), False)]

    def _duplicate_spans(self, hit: NDArray[np.int64], first: int, last: int) -> list[Any]:
        """For each document its duplicate spans, as an array of shape (spans, 3)."""
        exact = bool((self.scores[hit] == 1).all())
        rows = np.empty((len(hit), 3), np.int64 if exact else np.float64)
        rows[:, 0], rows[:, 1], rows[:, 2] = self.spans.starts[hit], self.spans.ends[hit], self.scores[hit]
        bounds = np.searchsorted(hit, self.spans.first_spans[first : last + 1]).tolist()
        return [
            rows[begin:end] if exact else [(int(a), int(b), c) for a, b, c in rows[begin:end].tolist()]
            for begin, end in pairwise(bounds)
        ]

    def _near_columns(self, first: int, last: int) -> Labelled:
        records = self.near if self.near is not None else np.empty(0, NEAR_MARK)
        begin, end = np.searchsorted(records["row"], [first, last])
        some = records[begin:end]
        places = some["row"].astype(np.int64) - first
        duplicate, cluster, size = (_masked_column(last - first, np.int64) for _ in range(3))
        similarity = _masked_column(last - first, np.float64)
        cluster[places], size[places], similarity[places] = some["cluster"], some["size"], some["similarity"]
        duplicate[places[some["duplicate"] > 0]] = 1
        return [
            ("cluster", cluster, True),
            ("duplicate", duplicate, False),
            ("similarity", similarity, False),
            ("size", size, True),
        ]


def _overlapped_code_points(table: SpanTable, taken: NDArray[np.bool_]) -> int:
    """The code points of the spans that are taken which an earlier one of the same document has too."""
    rows = np.searchsorted(table.first_spans, np.flatnonzero(taken), "right") - 1
    starts, ends = ((rows << 32) + each[taken] for each in (table.starts, table.ends))  # as if one text had them all
    reached = np.maximum.accumulate(ends)[:-1]
    return int(np.clip(reached - starts[1:], 0, (ends - starts)[1:]).sum())


def _duplicate_hash_shares(table: SpanTable, hit: NDArray[np.bool_]) -> NDArray[np.float64]:
    """For each span the share of its hashes that are duplicates."""
    if table.sizes is None:
        return hit.astype(np.float64)
    sums = np.concatenate([[0], np.cumsum(hit)])
    ends = np.cumsum(table.sizes.astype(np.int64))
    shares: NDArray[np.float64] = (sums[ends] - sums[ends - table.sizes]) / np.maximum(table.sizes, 1)
    return shares


def _masked_column(rows: int, kind: type[np.int64] | type[np.float64]) -> Any:
    """A column without labels: all of its numbers are masked."""
    return np.ma.MaskedArray(np.zeros(rows, kind), np.ones(rows, np.bool_))
