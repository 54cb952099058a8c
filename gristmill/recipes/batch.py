"""Batch: documents that several taggers look at, and what the taggers have in common, computed once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from gristmill.lake.rows.document import Document
from gristmill.text.column import TextColumn, text_columns
from gristmill.text.huge.blocks import Cut, Sums, last_line_end, measured_in_blocks
from gristmill.text.huge.limits import TooManySpans
from gristmill.text.huge.windows import HUGE
from gristmill.text.shared import shared

Scores = NDArray[np.float64]
"""One score for each document; in a masked array (`numpy.ma`) a masked one is None."""

Measured = Mapping[str, Sequence[Any] | NDArray[Any]]
"""For each label's name one value for each text of a column: an array of numbers, or a list of labels."""


class Batch(Sequence[Document]):
    """A sequence of documents. A tagger's `batch=` gets one.

    Every tagger of a run gets the same batch. So the columns, and the words and lines in them, are computed once. The
    arrays are read-only: a tagger that changes one fails.

    Args:
        documents: the documents, in their order.

    >>> batch = Batch.of([Document(id="a", text="To be", source="plays"), Document(id="b", text="or", source="plays")])
    >>> batch.texts, batch.lowered
    (('To be', 'or'), ('to be', 'or'))
    >>> batch.measured(lambda column: {"words": column.words.counts})["words"].tolist()
    [2.0, 1.0]
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._partial: dict[tuple[int, ...], tuple[TextColumn, ...]] = {}

    @classmethod
    def of(cls, documents: Sequence[Document]) -> "Batch":
        """The batch of these documents; a batch is returned as it is."""
        return documents if isinstance(documents, cls) else cls(documents)

    @overload
    def __getitem__(self, index: int) -> Document: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Document]: ...
    def __getitem__(self, index: int | slice) -> Document | Sequence[Document]:
        return self._documents[index]

    def __len__(self) -> int:
        return len(self._documents)

    def __iter__(self) -> Iterator[Document]:
        return iter(self._documents)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The text of each document."""
        return tuple([document.text for document in self._documents])

    @cached_property
    def lowered(self) -> tuple[str, ...]:
        """The text of each document in lower case, as `str.lower` gives it. Its length may differ from the text's."""
        return tuple([text.lower() for text in self.texts])

    @shared
    def lengths(self) -> NDArray[np.int64]:
        """The number of code points of each text (T)."""
        return np.fromiter(map(len, self.texts), np.int64, len(self.texts))

    @cached_property
    def columns(self) -> tuple[TextColumn, ...]:
        """The texts as columns of code points. Their `places` are indices of this batch."""
        return tuple(text_columns(self.texts))

    def measured(
        self,
        measure: Callable[[TextColumn], Measured],
        huge: Callable[[str], Measured] | None = None,
        limit: int = HUGE,
    ) -> dict[str, Any]:
        """Measures all columns, and puts the values in the order of the documents.

        Args:
            measure: function that takes a column, and returns for each label one value for each of its texts. It
                returns the same labels for every column: arrays of numbers (masked ones for None), or lists of labels.
            huge: function that takes one text of more than `limit` code points, and returns for each label a value for
                this text, as `measure` does. It works in windows (gristmill/text/huge), because a column of a text of
                100 MB takes 3 GB. Without it, such a text is a column.
            limit: code points of the longest text that is not huge.

        Returns:
            For each label an array of scores, or a list of labels, with one entry for each document.

        Raises:
            TooManySpans: a huge text has more than 1,000,000 spans of a label.
        """
        results: dict[str, Any] = {}
        vast = tuple(np.flatnonzero(self.lengths > limit).tolist())
        if huge is None or not vast:
            for column in self.columns:
                self._add_measured_columns(results, column.places, measure(column))
            return results
        for column in self._columns_without_huge(vast):
            self._add_measured_columns(results, column.places, measure(column))
        for place in vast:
            try:
                self._add_measured_columns(results, [place], huge(self.texts[place]))
            except TooManySpans as error:
                raise TooManySpans(error.label, place) from None
        return results

    def in_blocks(
        self,
        measure: Callable[[TextColumn], Sums],
        finish: Callable[[dict[str, Any]], Measured] = dict,
        cut: Cut = last_line_end,
        size: int = HUGE,
    ) -> dict[str, Any]:
        """Measures all columns, and a huge text block by block, as though each block were a text.

        So `measure` is written once, for texts of any length. It returns what can be put together: numbers that are
        added, such as counts, and spans. What is not a sum, such as a share, is computed from sums at the end.

        Args:
            measure: function that takes a column, and returns for each label an array of numbers, or a list of arrays
                of spans or None, with one entry for each of its texts.
            finish: function that takes what `measure` returned, of one text or several. It returns labels.
            cut: function that finds the ends of blocks; by default after a line.
            size: code points of the longest text that is not huge, and of a block.

        Returns:
            For each label an array of scores, or a list of labels, with one entry for each document.

        Raises:
            TooManySpans: a huge text has more than 1,000,000 spans of a label.

        >>> batch = Batch.of([Document(id="a", text="to be or not", source="plays")])
        >>> batch.in_blocks(lambda column: {"words": column.words.counts}, size=5)["words"].tolist()
        [4.0]
        """
        return self.measured(
            lambda column: finish(dict(measure(column))),
            lambda text: finish(measured_in_blocks(text, measure, cut, size)),
            size,
        )

    def scored(self, found: Mapping[str, Mapping[int, float]]) -> dict[str, Scores]:
        """Arrays of labels that few documents have. They are checked and written faster than lists with many None.

        Args:
            found: scores of the documents that have a label: for each label, by the document's index in the batch.

        Returns:
            For each label a masked array of one score for each document.

        >>> Batch.of([Document(id=each, text="mill", source="tales") for each in "ab"]).scored({"en": {1: 0.5}})
        {'en': masked_array(data=[--, 0.5],
                     mask=[ True, False],
               fill_value=1e+20)}
        """
        results: dict[str, Scores] = {}
        for label, given in found.items():
            places = list(given)
            scores, missing = np.zeros(len(self), np.float64), np.ones(len(self), np.bool_)
            scores[places], missing[places] = list(given.values()), False
            results[label] = np.ma.MaskedArray(scores, mask=missing)
        return results

    def _columns_without_huge(self, vast: tuple[int, ...]) -> tuple[TextColumn, ...]:
        """The columns of all texts but some huge ones. Taggers with the same limit share them."""
        if vast not in self._partial:
            places = [place for place in range(len(self)) if place not in set(vast)]
            found = text_columns([self.texts[place] for place in places])
            self._partial[vast] = tuple(
                TextColumn([places[index] for index in column.places], column.points) for column in found
            )
        return self._partial[vast]

    def _add_measured_columns(self, results: dict[str, Any], places: list[int], measured: Measured) -> None:
        for label, values in measured.items():
            if isinstance(values, np.ndarray):
                self._put_label_values(results, label, places, values)
            else:
                row = results.setdefault(label, [None] * len(self))
                for place, value in zip(places, values, strict=True):
                    row[place] = value

    def _put_label_values(self, results: dict[str, Any], label: str, places: list[int], values: NDArray[Any]) -> None:
        masked = isinstance(values, np.ma.MaskedArray)
        scores = results.get(label)
        if scores is None:
            scores = results[label] = np.zeros(len(self), np.float64)
        if masked and not isinstance(scores, np.ma.MaskedArray):
            scores = results[label] = np.ma.MaskedArray(scores, mask=np.zeros(len(self), np.bool_))
        scores[places] = values
