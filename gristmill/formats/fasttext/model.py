"""LanguageModel: fastText's model of languages, for many texts at once, bit for bit as fastText computes it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gristmill.formats.fasttext.exponential import Floats, exponential
from gristmill.formats.fasttext.huffman import HuffmanTree
from gristmill.formats.fasttext.word_rows import WordRows

BYTES = 300_000
"""Bytes of texts that are computed together. Fewer take more calls of numpy, and more take more memory."""

_LITTLE = 1e-5


@dataclass(frozen=True)
class LanguageModel:
    """A classifier with L labels, over vectors of D numbers.

    Args:
        labels: names, without fastText's `__label__` (L).
        rows: finder of the rows of texts.
        vectors: the input matrix (rows, D).
        outputs: the output matrix (L, D).
        tree: tree of the labels.
        end: the row of the word that ends each text.
    """

    labels: tuple[str, ...]
    rows: WordRows
    vectors: Floats
    outputs: Floats
    tree: HuffmanTree
    end: int

    def likeliest(self, texts: Sequence[str], most: int, least: float) -> list[list[tuple[str, float]]]:
        """The likeliest labels of each text, as `fasttext.predict(text, k=most, threshold=least)` gives them.

        In place of a line feed or a zero, which `predict` refuses or cuts at, a text may have either: they end a word.
        Of labels that are equally likely the first in `labels` is taken.

        Args:
            texts: any texts. A lone surrogate is read as `?`.
            most: labels of a text at most.
            least: no label has a lower probability.

        Returns:
            For each text its labels with their probabilities, the likeliest first.
        """
        found: list[list[tuple[str, float]]] = [[] for _ in texts]
        lowest = np.float32(np.log(float(np.float32(least)) + _LITTLE))
        for places, coded in _columns(texts):
            labels, columns, logs = self.tree.search(self.outputs, self._means(coded), lowest)
            order = np.lexsort((labels, -logs, columns))
            labels, columns, logs = labels[order], columns[order], logs[order]
            ranks = np.arange(len(columns)) - np.searchsorted(columns, columns)
            chosen = ranks < most
            labels, columns = labels[chosen], columns[chosen]
            scores = exponential(logs[chosen])
            for label, column, score in zip(labels.tolist(), columns.tolist(), scores.tolist(), strict=True):
                found[places[column]].append((self.labels[label], score))
        return found

    def _means(self, texts: Sequence[bytes]) -> Floats:
        """The mean vector of each text, shape (T, D)."""
        rows = self.rows.of(texts)
        vectors = self.vectors.take(rows.rows, axis=0)
        sums = np.zeros((len(texts), self.vectors.shape[1]), np.float32)
        bounds = rows.bounds.tolist()
        for text in range(len(texts)):
            # Along the first axis numpy adds row after row, as fastText does. Another order gives other bits.
            np.add.reduce(vectors[bounds[text] : bounds[text + 1]], axis=0, out=sums[text])
        sums += self.vectors[self.end]
        sums *= (1.0 / (np.diff(rows.bounds) + 1)).astype(np.float32)[:, None]
        return sums


def _columns(texts: Sequence[str]) -> Iterator[tuple[list[int], list[bytes]]]:
    """Texts with their places, about BYTES of them together. Those in ASCII are apart, because they take less work."""
    waiting: dict[bool, tuple[list[int], list[bytes]]] = {True: ([], []), False: ([], [])}
    sizes = {True: 0, False: 0}
    for place, text in enumerate(texts):
        ascii_only = text.isascii()
        coded = text.encode("utf-8", "replace").replace(b"\0", b" ")
        if sizes[ascii_only] and sizes[ascii_only] + len(coded) > BYTES:
            yield waiting[ascii_only]
            waiting[ascii_only], sizes[ascii_only] = ([], []), 0
        places, column = waiting[ascii_only]
        places.append(place)
        column.append(coded)
        sizes[ascii_only] += len(coded) + 1
    for places, column in waiting.values():
        if places:
            yield places, column
