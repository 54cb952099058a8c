"""OverlapIndex: the n-grams and lines of evaluation sets, to be found in other texts; and the format of its file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.text.code_points import Hashes, Numbers
from gristmill.text.overlaps.quick_words import words_bytes
from gristmill.text.overlaps.text_words import TextWords
from gristmill.text.overlaps.word_filter import WordFilter, filter_hashes
from gristmill.text.units.hashes import Hashes128
from gristmill.text.units.utf8_column import encoded_text

_MAGIC = b"gristmill overlaps 1\n"
_ALIGNED = 8
"""The bytes of each array are filled up to a multiple of this number."""


@dataclass(frozen=True)
class Owners:
    """Hashes of one evaluation set, in ascending order, each with the number of the first item that has it.

    Attributes:
        hashes: the different hashes, in ascending order (n).
        items: uint32 number of the first item with each hash (n).
    """

    hashes: Hashes128
    items: NDArray[np.uint32]

    @classmethod
    def of(cls, high: Hashes, low: Hashes, items: NDArray[np.uint32]) -> "Owners":
        """The owners of some hashes, which may come in any order and repeat.

        Args:
            high: the high halves of the hashes (H).
            low: the low halves (H).
            items: the number of the item of each hash (H).
        """
        order = np.lexsort((items, low, high))
        high, low, items = high[order], low[order], items[order]
        first = np.ones(len(order), np.bool_)
        first[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        return cls(Hashes128(high[first], low[first]), items[first])

    def find(self, hashes: Hashes128) -> NDArray[np.uint32]:
        """The item of each hash; 0 if no item has it."""
        found = np.zeros(len(hashes.high), np.uint32)
        at = np.searchsorted(self.hashes.high, hashes.high)
        (left,) = np.nonzero(at < len(self.hashes.high))
        while left.size:  # several hashes may have one high half: try them one after another
            left = left[self.hashes.high[at[left]] == hashes.high[left]]
            same = self.hashes.low[at[left]] == hashes.low[left]
            found[left[same]] = self.items[at[left[same]]]
            left = left[~same]
            at[left] += 1
            left = left[at[left] < len(self.hashes.high)]
        return found


@dataclass(frozen=True)
class OverlapIndex:
    """The n-grams and lines of evaluation sets, ready to be found in texts.

    Attributes:
        length: number of words in an n-gram.
        least: number of words in the shortest line that is compared as a whole.
        ngrams: n-grams of each evaluation set, by its name.
        lines: lines of each evaluation set, by its name.
        filter: quick filter that finds the texts that may have such an n-gram or line.
        quick: the hashes that the filter is built from, those of all n-grams (n) and those of all lines (m).
    """

    length: int
    least: int
    ngrams: Mapping[str, Owners]
    lines: Mapping[str, Owners]
    filter: WordFilter
    quick: tuple[Hashes, Hashes]

    @classmethod
    def build(cls, items: Iterable[tuple[str, int, str]], length: int, least: int) -> "OverlapIndex":
        """The index of some items.

        Args:
            items: items, each as (evaluation set, number, text). The numbers of a set begin at 1 and ascend.
            length: number of words in an n-gram.
            least: number of words in the shortest line that is compared as a whole.
        """
        kept: dict[str, tuple[_Gathered, _Gathered]] = {}
        quick: tuple[list[Hashes], list[Hashes]] = [], []
        for name, number, text in items:
            ngrams, lines = kept.setdefault(name, (_Gathered(), _Gathered()))
            words = TextWords.of(text)
            ngrams.add(words.ngram_hashes(length), number)
            lines.add(words.line_hashes(least)[1], number)
            _, grams, _, whole = filter_hashes(words_bytes(encoded_text(text)), length)
            counts = np.diff(words.lines)
            quick[0].append(grams)
            quick[1].append(whole[counts[counts > 0] >= least])  # filter_hashes() skips lines without a word
        none = [np.zeros(0, np.uint64)]
        found = np.unique(np.concatenate(none + quick[0])), np.unique(np.concatenate(none + quick[1]))
        return cls(
            length,
            least,
            {name: ngrams.owners() for name, (ngrams, _) in kept.items()},
            {name: lines.owners() for name, (_, lines) in kept.items()},
            WordFilter(length, *found),
            found,
        )

    def to_bytes(self) -> bytes:
        """The file of the index: a line that names the format, a line of JSON, then arrays of little-endian numbers."""
        arrays: list[NDArray[Any]] = [*self.quick]
        for name in self.ngrams:
            for owners in (self.ngrams[name], self.lines[name]):
                arrays += [owners.hashes.high, owners.hashes.low, owners.items]
        head = {
            "length": self.length,
            "least": self.least,
            "sets": list(self.ngrams),
            "sizes": [len(array) for array in arrays],
        }
        return _MAGIC + json.dumps(head).encode() + b"\n" + b"".join(_padded_little_endian(array) for array in arrays)

    @classmethod
    def from_bytes(cls, data: bytes, what: str) -> "OverlapIndex":
        """The index in a file.

        Args:
            data: content of the file.
            what: its name, for messages.

        Raises:
            DataError: it is not the file of an index, or is truncated.
        """
        try:
            head, arrays = _read_index_file(data)
            length, least, sets = int(head["length"]), int(head["least"]), list[str](head["sets"])
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{what}: is no index of n-grams ({error}); make the model again") from error
        quick = arrays[0].astype(np.uint64), arrays[1].astype(np.uint64)
        owners = [Owners(Hashes128(*arrays[at : at + 2]), arrays[at + 2]) for at in range(2, len(arrays), 3)]
        return cls(
            length,
            least,
            dict(zip(sets, owners[::2], strict=True)),
            dict(zip(sets, owners[1::2], strict=True)),
            WordFilter(length, *quick),
            quick,
        )


class _Gathered:
    """Collects the hashes of one evaluation set, item by item."""

    def __init__(self) -> None:
        self._found: list[tuple[Hashes, Hashes, Numbers]] = []

    def add(self, hashes: Hashes128, number: int) -> None:
        self._found.append((hashes.high, hashes.low, np.full(len(hashes.high), number, np.uint32)))

    def owners(self) -> Owners:
        high, low, items = (np.concatenate(each) for each in zip(*self._found, strict=True))
        return Owners.of(high, low, items.astype(np.uint32))


def _padded_little_endian(array: NDArray[Any]) -> bytes:
    """The bytes of an array, little-endian, filled with zeros up to a multiple of _ALIGNED."""
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return data + bytes(-len(data) % _ALIGNED)


def _read_index_file(data: bytes) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """The head of a file, and its arrays.

    The first two are `quick`. Then each set has six: high halves, low halves and items of its n-grams, then of its
    lines.
    """
    if not data.startswith(_MAGIC):
        raise ValueError("it does not begin as an index does")
    end = data.index(b"\n", len(_MAGIC)) + 1
    head = json.loads(data[len(_MAGIC) : end])
    if len(head["sizes"]) != 2 + 6 * len(head["sets"]):
        raise ValueError("the number of sizes in its head does not fit its sets")
    return head, _view_arrays(data, end, head["sizes"])


def _view_arrays(data: bytes, at: int, sizes: Sequence[int]) -> list[NDArray[Any]]:
    found: list[NDArray[Any]] = []
    for number, size in enumerate(sizes):
        kind = "<u4" if number >= 2 and number % 3 == 1 else "<u8"  # after `quick`, each third array is of items
        found.append(np.frombuffer(data, kind, size, at))
        length = size * np.dtype(kind).itemsize
        at += length + -length % _ALIGNED
    if at != len(data):
        raise ValueError("it has another length than its head says")
    return found
