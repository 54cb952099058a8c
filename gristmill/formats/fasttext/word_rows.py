"""WordRows: the rows of texts. Words that were seen before are remembered, so that few words are hashed."""

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from gristmill.formats.fasttext.features import END, LABEL, Features, InputRows, Numbers, Rows, words_of

Keys = NDArray[np.uint64]
"""Eight bytes of each word, as numbers."""

REMEMBERED = 1 << 22
"""Rows that are remembered at most: 8 MB. If there are more, all are forgotten."""

_EIGHT = 8
_PARTS = 3  # words of up to 24 bytes are remembered
_SLOT_BITS = 16
_BEHIND = b"\n" * (_EIGHT * (_PARTS + 1))
_MIXERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)  # odd, and many bits
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(_EIGHT + 1)], np.uint64)
_SPACE, _TAB, _CONTROLS = ord(" "), ord("\t"), 5  # fastText's white space: a space, and from the tab on five controls


class WordRows:
    """The rows of texts. Each word has a slot by its bytes; the last word of a slot is remembered there.

    Args:
        features: reader of a word's features, such as its n-grams.
        remembered: rows that are remembered at most.

    >>> features = Features({b"mill": 0}, 2, 2, np.array([0xFFFF], np.uint16))
    >>> rows = WordRows(features).of([b"a mill and a mill", b"mill"])
    >>> rows.rows.tolist(), rows.bounds.tolist()
    ([0, 0, 0], [0, 2, 3])
    """

    def __init__(self, features: Features, remembered: int = REMEMBERED) -> None:
        self.features, self._most = features, remembered
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._rows, self._used = np.empty(0, np.uint16), 0
        self._keys = np.zeros((_PARTS, 1 << _SLOT_BITS), np.uint64)
        self._starts, self._sizes = np.zeros(1 << _SLOT_BITS, np.int64), np.zeros(1 << _SLOT_BITS, np.int64)

    @property
    def remembered(self) -> int:
        """The number of rows that are remembered now."""
        return self._used

    def of(self, texts: Sequence[bytes]) -> InputRows:
        """The rows of texts in UTF-8, each without a zero byte, in fastText's order."""
        ended = [_ended(text) for text in texts]
        joined = b"".join([b"\n", b"\n".join(ended), _BEHIND])
        limits = np.zeros(len(ended) + 1, np.int64)
        np.cumsum([len(text) + 1 for text in ended], out=limits[1:])
        starts, sizes = _words_in(np.frombuffer(joined, np.uint8))
        with self._lock:
            if self._used > self._most:
                self._forget()
            firsts, counts = self._found(joined, starts, sizes)
            bounds = np.zeros(len(starts) + 1, np.int64)
            np.cumsum(counts, out=bounds[1:])
            firsts -= bounds[:-1]
            at = np.repeat(firsts, counts)
            at += np.arange(len(at))
            rows = self._rows.take(at)
        return InputRows(rows, bounds.take(np.searchsorted(starts, limits + 1)))

    def _found(self, joined: bytes, starts: Numbers, sizes: Numbers) -> tuple[Numbers, Numbers]:
        """For each word the place of its first row among all that are remembered, and how many rows it has."""
        keys = _keys(joined, starts, sizes)
        slots = _slots(keys)
        same = sizes <= _EIGHT * _PARTS
        for kept, key in zip(self._keys, keys, strict=True):
            same &= kept.take(slots) == key
        firsts, counts = self._starts.take(slots), self._sizes.take(slots)
        (new,) = np.nonzero(~same)
        begins = starts.take(new)
        places = zip(begins.tolist(), (begins + sizes.take(new)).tolist(), strict=True)
        found = self.features.of([joined[start:end] for start, end in places])
        firsts[new], counts[new] = found.bounds[:-1] + self._used, np.diff(found.bounds)
        self._add(found.rows)
        new = new[sizes.take(new) <= _EIGHT * _PARTS]
        slots = slots.take(new)  # of several words of one slot numpy keeps the last, in each of these arrays
        self._starts[slots], self._sizes[slots] = firsts.take(new), counts.take(new)
        for kept, key in zip(self._keys, keys, strict=True):
            kept[slots] = key.take(new)
        return firsts, counts

    def _add(self, rows: Rows) -> None:
        end = self._used + len(rows)
        if end > len(self._rows):
            larger = np.empty(2 * end, np.uint16)
            larger[: self._used] = self._rows[: self._used]
            self._rows = larger
        self._rows[self._used : end] = rows
        self._used = end


def _ended(text: bytes) -> bytes:
    """A text without its labels, and without what follows the word END."""
    return b" ".join(words_of(text)) if END in text or LABEL in text else text


def _words_in(raw: NDArray[np.uint8]) -> tuple[Numbers, Numbers]:
    """Where words begin, and how many bytes they have. Bytes are white space as in fastText, which is ASCII's."""
    white = raw - np.uint8(_TAB) < _CONTROLS
    white |= raw == _SPACE
    (edges,) = np.nonzero(white[1:] != white[:-1])
    starts = edges[::2] + 1
    return starts, edges[1::2] + 1 - starts


def _keys(joined: bytes, starts: Numbers, sizes: Numbers) -> list[Keys]:
    """The bytes of words as numbers of eight bytes each. Behind a word's end they are zero."""
    eights = np.ndarray((len(joined) - _EIGHT + 1,), "<u8", joined, strides=(1,)).copy()
    keys: list[Keys] = []
    for part in range(_PARTS):
        keys.append(eights.take(starts + _EIGHT * part))
        keys[-1] &= _MASKS.take(sizes - _EIGHT * part, mode="clip")
    return keys


def _slots(keys: Sequence[Keys]) -> Numbers:
    """The slots of words."""
    mixed = np.zeros_like(keys[0])
    for key, mixer in zip(keys, _MIXERS, strict=True):
        mixed ^= key
        mixed *= mixer
        mixed ^= mixed >> np.uint64(29)
    return (mixed >> np.uint64(64 - _SLOT_BITS)).view(np.int64)
