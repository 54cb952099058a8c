"""Shingles: the word n-grams of texts as 64-bit hashes, for MinHash and for exact Jaccard similarities."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gristmill.text.code_points import SPACE, CodePoints, Hashes, Numbers, mix_hash_bits
from gristmill.text.units.normalisation import words_text
from gristmill.text.words import Words

_COLUMN = 1 << 19  # code points of texts that are hashed together, so that their arrays stay in the processor's cache
_LONG = 1 << 22  # code points of a text, or bytes of a piece of a longer one, so that memory is bounded
_LINE_FEED = 10
_PAD = bytes(8)  # the chunk of the last word reads so far past the end

# The powers of an odd constant tell the places of words in an n-gram apart: the fractional part of the golden ratio.
_PLACE = 0x9E3779B97F4A7C15

_SPACES = bytes(SPACE if chr(code).isspace() and code < 128 else 0 for code in range(256))
_SPACE = re.compile(rb"[\t-\r\x1c- ]")


@dataclass(frozen=True)
class Shingles:
    """The n-grams of some texts.

    Attributes:
        places: the numbers of the texts, ascending (T). Each has a word at least. A huge text comes in several pieces.
        bounds: text t has the hashes from `bounds[t]` to before `bounds[t + 1]` (T + 1).
        hashes: one for each n-gram, in the order of the text. Equal n-grams of any texts have equal hashes.
    """

    places: Numbers
    bounds: Numbers
    hashes: Hashes


def hash_shingles(texts: Sequence[str], ngram: int, normalisation: str = "") -> Iterator[Shingles]:
    """The word n-grams of texts. Words are what white space parts, as `str.split()` cuts the normalised text.

    A text of fewer words than an n-gram has one shorter n-gram: all its words. A text without words has none. Texts
    that are not ASCII come after those before them that are.

    Args:
        texts: any texts.
        ngram: words of an n-gram.
        normalisation: name of the normalisation of each text; see gristmill.text.units.normalisation.

    >>> one, = hash_shingles(["to be or not", "", "be or not", "not"], 3)
    >>> one.places.tolist(), one.bounds.tolist(), bool(one.hashes[1] == one.hashes[2])
    ([0, 2, 3], [0, 2, 3, 4], True)
    """
    waiting: dict[bool, list[int]] = {True: [], False: []}
    sizes = {True: 0, False: 0}
    for place, text in enumerate(texts):
        ascii_only = text.isascii()
        if len(text) > _LONG:
            # `words-1` changes each character by itself.
            step = _LONG if normalisation == "words-1" else len(text)
            data = b"".join(
                _encode_normalised_texts([text[at : at + step]], normalisation) for at in range(0, len(text), step)
            )
            for piece in _cut_text_pieces(data, ngram):
                yield from _shingles_of_texts([place], piece + b"\n", ngram)
            continue
        if sizes[ascii_only] + len(text) > _COLUMN:
            yield from _shingles_of_column(texts, waiting[ascii_only], ngram, normalisation)
            waiting[ascii_only], sizes[ascii_only] = [], 0
        waiting[ascii_only].append(place)
        sizes[ascii_only] += len(text) + 1
    for places in waiting.values():
        yield from _shingles_of_column(texts, places, ngram, normalisation)


def _shingles_of_column(
    texts: Sequence[str], places: Sequence[int], ngram: int, normalisation: str
) -> Iterator[Shingles]:
    if places:
        yield from _shingles_of_texts(
            places, _encode_normalised_texts([texts[place] for place in places], normalisation) + b"\n", ngram
        )


def _encode_normalised_texts(texts: Sequence[str], normalisation: str) -> bytes:
    """The normalised texts in UTF-8, with line feeds between them alone, and no white space beyond ASCII.

    In UTF-8 a word has the same bytes, whatever the other words are.
    """
    plain = "\n".join([text.replace("\n", " ") for text in texts])
    if normalisation == "words-1":
        plain = words_text(plain)
    elif not plain.isascii():
        plain = "\n".join([" ".join(text.split()) for text in texts])
    return plain.encode("utf-8", "surrogatepass")


def _cut_text_pieces(data: bytes, ngram: int) -> Iterator[bytes]:
    """Cuts a text into pieces of at least an n-gram. Each begins with the last n - 1 words of the one before."""
    at, size = 0, _LONG
    while True:
        space = _SPACE.search(data, at + size)
        piece = data[at : space.start()] if space else data[at:]
        starts = Words.of(_byte_column(piece + b"\n")).starts
        if space and len(starts) < ngram:
            size *= 2
            continue
        if len(starts) >= ngram or not at:
            yield piece
        if not space:
            return
        at, size = at + (int(starts[1 - ngram]) if ngram > 1 else len(piece)), _LONG


def _byte_column(raw: bytes) -> CodePoints:
    """Texts in UTF-8, each followed by a line feed, as a column whose units are bytes."""
    units = np.frombuffer(raw, np.uint8)
    bounds = np.append(0, np.flatnonzero(units == _LINE_FEED) + 1)
    chunks: Hashes = np.ndarray((len(raw),), "<u8", buffer=raw + _PAD, strides=(1,))
    return CodePoints(units, bounds, np.frombuffer(raw.translate(_SPACES), np.uint8), chunks)


def _shingles_of_texts(places: Sequence[int], raw: bytes, ngram: int) -> Iterator[Shingles]:
    """The n-grams of texts that are hashed together; nothing if no text has a word."""
    words = Words.of(_byte_column(raw))
    (some,) = np.nonzero(words.counts)
    if not len(some):
        return
    counts, firsts = words.counts[some], words.bounds[some]
    numbers = np.maximum(counts - ngram + 1, 1)
    bounds = np.zeros(len(some) + 1, np.int64)
    np.cumsum(numbers, out=bounds[1:])
    hashes = np.empty(int(bounds[-1]), np.uint64)
    whole = counts >= ngram
    if whole.any():
        edges = np.zeros(len(words.starts) + 1, np.int8)
        edges[firsts[whole]] = 1
        edges[firsts[whole] + numbers[whole]] -= 1  # an n-gram would begin here, but go on in the next text
        starts = np.cumsum(edges[: len(words.starts) - ngram + 1], dtype=np.int8).view(np.bool_)
        found = _combine_word_hashes(words.hashes, ngram)[starts]
        if whole.all():
            hashes = found
        else:
            hashes[np.repeat(whole, numbers)] = found
    short = np.flatnonzero(~whole)
    if len(short):
        hashes[bounds[short]] = _short_text_sums(words.hashes, firsts[short], counts[short])
    yield Shingles(np.asarray(places, np.int64)[some], bounds, mix_hash_bits(hashes))


def _combine_word_hashes(words: Hashes, count: int) -> Hashes:
    """For each run of `count` words the sum of their hashes, each times the power of its place (W - count + 1).

    The sums of runs of 1, 2, 4, ... words are added up as the binary digits of `count` ask.
    """
    total: Hashes | None = None
    taken, length, runs = 0, 1, words
    while True:
        if count & length:
            runs_here = runs[taken:]
            if total is None:
                total = runs_here.copy()
            else:
                size = min(len(total), len(runs_here))
                total = total[:size]
                total += runs_here[:size] * np.uint64(pow(_PLACE, taken, 1 << 64))
            taken += length
        length *= 2
        if length > count:
            break
        half = length // 2
        runs = runs[:-half] + runs[half:] * np.uint64(pow(_PLACE, half, 1 << 64))
    return total if total is not None else words


def _short_text_sums(words: Hashes, firsts: Numbers, counts: Numbers) -> Hashes:
    """The sum of all words of each text that has fewer than an n-gram."""
    total = np.zeros(len(firsts), np.uint64)
    for place in range(int(counts.max())):
        (more,) = np.nonzero(counts > place)
        total[more] += words[firsts[more] + place] * np.uint64(pow(_PLACE, place, 1 << 64))
    return total
