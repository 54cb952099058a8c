"""The word n-grams of paragraphs, as 128-bit hashes that are computed together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from gristmill.text.code_points import Numbers
from gristmill.text.units.hashes import Hashes128, hash_word_sequences, word_hashes
from gristmill.text.units.normalisation import is_single_word_character, is_word_character, words_text
from gristmill.text.units.pieces_between import EMPTY, BytePieces
from gristmill.text.units.unit_hashes import HUGE, TOGETHER, TextGroup, UnitHashes, text_groups
from gristmill.text.units.utf8_column import Utf8Column, decode_text, encoded_text

FEW = "fewer words than an n-gram"
_LINE_FEED = 10
_BACK = 1 << 16  # code points in which the end of a word is looked for at first


@dataclass(frozen=True)
class Ngrams:
    """Which n-grams are taken.

    Attributes:
        length: words of an n-gram.
        stride: words between the beginnings of two n-grams of a paragraph.
        skip_short: whether a paragraph of fewer words has none. Else it has one of all its words.
        normalisation: name of the normalisation of the paragraphs before their words are taken.
    """

    length: int = 13
    stride: int = 1
    skip_short: bool = False
    normalisation: str = ""


def ngram_paragraphs(texts: Sequence[str], ngrams: Ngrams, separator: str = "\n") -> Iterator[UnitHashes]:
    """The paragraphs of texts, each with the hashes of its word n-grams. Words are what white space parts.

    The hash of an n-gram is `hash_word_sequences` of the `word_hashes` of its words (`hashes.py`).

    Args:
        texts: any texts.
        ngrams: choice of the n-grams.
        separator: between two paragraphs.

    >>> one, = ngram_paragraphs(["to be or not"], Ngrams(length=3))
    >>> one.spans.tolist(), one.starts.tolist(), one.ends.tolist(), one.counts.tolist(), len(one.hashes.low)
    ([1], [0], [12], [2], 2)
    """
    for group in text_groups(texts, separator):
        if len(group.texts) == 1 and len(group.texts[0]) > HUGE and separator not in group.texts[0]:
            yield from huge_paragraph(group, ngrams)
            continue
        pieces = BytePieces(group, separator)
        pieces.skip_blank()
        texts_kept = compress(pieces.pieces, pieces.kept.tolist())
        joined = b"\n".join([*texts_kept, b""]) if separator == "\n" else _join_flat_lines(texts_kept)
        counts, hashes = _hash_line_ngrams(joined, ngrams)
        (kept,) = np.nonzero(pieces.kept)
        empty, few = np.zeros(len(pieces.kept), np.bool_), np.zeros(len(pieces.kept), np.bool_)
        empty[kept] = counts == -1
        few[kept] = counts == 0
        pieces.skip_pieces(empty, EMPTY)
        pieces.skip_pieces(few, FEW)
        spans, starts, ends = pieces.spans()
        yield UnitHashes(group.first, spans, starts, ends, hashes, counts[counts > 0], pieces.skipped)


def _join_flat_lines(pieces: Iterator[bytes]) -> bytes:
    """The pieces, each with its line feeds as spaces, and followed by a line feed."""
    return b"\n".join([*(piece.replace(b"\n", b" ") for piece in pieces), b""])


def _hash_line_ngrams(joined: bytes, ngrams: Ngrams) -> tuple[Numbers, Hashes128]:
    """How many n-grams each line has (-1: it has no word), and the hashes of all."""
    data, words, lines = _normalised_word_places(joined, ngrams.normalisation)
    firsts = np.searchsorted(words[0], lines)
    firsts = np.append(0, firsts)
    counts = np.diff(firsts)
    hashes = word_hashes(data, *words)
    whole = counts >= ngrams.length
    taken = np.where(whole, (counts - ngrams.length) // ngrams.stride + 1, 0 if ngrams.skip_short else 1)
    taken[counts == 0] = 0
    lengths = np.minimum(counts, ngrams.length)
    before = np.cumsum(taken) - taken
    starts = (np.arange(int(taken.sum())) - np.repeat(before, taken)) * ngrams.stride + np.repeat(firsts[:-1], taken)
    found = hash_word_sequences(hashes, starts, np.repeat(lengths, taken))
    taken[counts == 0] = -1
    return taken, found


def _normalised_word_places(joined: bytes, normalisation: str) -> tuple[bytes, tuple[Numbers, Numbers], Numbers]:
    """The normalised bytes, the starts and ends of their words, and the places of the line feeds."""
    data = encoded_text(words_text(decode_text(joined))) if normalisation == "words-1" else joined
    column = Utf8Column(data, np.array([0, len(data)]))
    outside = np.ones(len(data) + 1, np.uint8)
    outside[1:] = column.is_space
    (edges,) = np.nonzero(outside[1:] != outside[:-1])
    (lines,) = np.nonzero(column.bytes == _LINE_FEED)
    return data, (edges[::2], edges[1::2]), lines


def huge_paragraph(group: TextGroup, ngrams: Ngrams, size: int = TOGETHER) -> Iterator[UnitHashes]:
    """The n-grams of a huge paragraph, part by part; at last its span.

    Args:
        group: one paragraph.
        ngrams: choice of the n-grams.
        size: code points of a part.
    """
    (text,) = group.texts
    none = np.zeros(0, np.int64)
    words, total, held = 0, 0, Hashes128(np.zeros(0, np.uint64), np.zeros(0, np.uint64))
    first = 0  # how many words come before those that are held
    for start, end in _split_at_word_ends(text, ngrams.normalisation, size):
        part = encoded_text(text[start:end].replace("\n", " ") + "\n")
        data, places, _ = _normalised_word_places(part, ngrams.normalisation)
        held = Hashes128(*map(np.concatenate, zip(held, word_hashes(data, *places), strict=True)))
        words += len(places[0])
        begins = np.arange(-first % ngrams.stride, len(held.low) - ngrams.length + 1, ngrams.stride)
        found = hash_word_sequences(held, begins, np.full(len(begins), ngrams.length))
        total += len(begins)
        yield UnitHashes(group.first, np.array([0]), none, none, found, none)
        gone = max(len(held.low) - ngrams.length + 1, 0)
        held, first = Hashes128(held.high[gone:], held.low[gone:]), first + gone
    short = 0 < words < ngrams.length
    if not words or (short and ngrams.skip_short):
        nothing = Hashes128(held.high[:0], held.low[:0])
        yield UnitHashes(group.first, np.array([0]), none, none, nothing, none, {FEW if words else EMPTY: 1})
        return
    last = hash_word_sequences(held, np.zeros(1, np.int64)[: int(short)], np.array([words])[: int(short)])
    span = np.array([group.offset]), np.array([group.offset + len(text)])
    yield UnitHashes(group.first, np.array([1]), *span, last, np.array([total + short]))


def _split_at_word_ends(text: str, normalisation: str, size: int) -> Iterator[tuple[int, int]]:
    """Divides a text where no word goes on."""
    start = 0
    while len(text) - start > size:
        end = start + size
        while end < len(text) and not (cut := _last_word_cut(text, max(start, end - _BACK), end, normalisation)):
            end += _BACK
        if end >= len(text):
            break
        yield start, cut
        start = cut
    yield start, len(text)


def _last_word_cut(text: str, start: int, end: int, normalisation: str) -> int:
    """The last place in a stretch behind a code point that is in no word, or is one alone; 0 if there is none."""
    stretch = text[start:end]
    if normalisation == "words-1":
        codes = np.frombuffer(stretch.encode("utf-32-le", "surrogatepass"), "<u4")
        (places,) = np.nonzero(~is_word_character().take(codes) | is_single_word_character().take(codes))
        return start + int(places[-1]) + 1 if len(places) else 0
    inside = stretch.split()
    if inside and not stretch[-1].isspace():
        place = len(stretch) - len(stretch.rsplit(None, 1)[-1])
        return start + place if place else 0
    return end
