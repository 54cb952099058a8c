"""Finds in texts the n-grams and lines of evaluation sets, with the item that each is of."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.text.overlaps.index import OverlapIndex
from gristmill.text.overlaps.text_words import TextWords
from gristmill.text.units.normalisation import is_single_word_character, is_word_character

GROUP = 1 << 19
"""Code points of texts that are looked at together, so that their arrays stay in the processor's cache."""
PIECE = 1 << 21
"""Code points of a piece of a longer text: memory is bounded."""
_BACK = 1 << 16

SpanArray = NDArray[np.int64]
"""Spans in code points, each with the number of its item; shape (n, 3)."""

NO_SPANS: SpanArray = np.zeros((0, 3), np.int64)
LINES = "lines"
"""The name of the label of lines begins with that of the evaluation set, and ends so."""


def label_of_lines(name: str) -> str:
    """The label of the lines of an evaluation set."""
    return f"{name}_{LINES}"


def overlaps(index: OverlapIndex, texts: Sequence[str]) -> dict[str, list[SpanArray]]:
    """The spans of each text that are in evaluation sets.

    N-grams of one item that overlap or touch are one span. A line is one that equals a line of an item.

    Args:
        index: index of the evaluation sets.
        texts: any texts.

    Returns:
        For each evaluation set two labels, `<set>` for n-grams and `<set>_lines`; for each a span array by text.

    >>> index = OverlapIndex.build([("quiz", 1, "What is the colour of the sky?")], 3, 2)
    >>> found = overlaps(index, ["Well: WHAT IS the colour, then?"])
    >>> found["quiz"][0].tolist(), found["quiz_lines"][0].tolist()
    ([[6, 24, 1]], [])
    """
    labels = [label for name in index.ngrams for label in (name, label_of_lines(name))]
    found: dict[str, list[SpanArray]] = {label: [NO_SPANS] * len(texts) for label in labels}
    for number in _candidate_texts(index, texts):
        for label, spans in _exact_overlap_spans(index, texts[number]).items():
            found[label][number] = spans
    return found


def _candidate_texts(index: OverlapIndex, texts: Sequence[str]) -> Iterator[int]:
    """The numbers of the texts that may have an overlap. Huge ones are looked at piece by piece later."""
    numbers: list[int] = []
    size = 0
    for number, text in enumerate(texts):
        if len(text) > PIECE:
            yield number
            continue
        numbers.append(number)
        size += len(text)
        if size > GROUP:
            yield from _filter_candidate_texts(index, texts, numbers)
            numbers, size = [], 0
    yield from _filter_candidate_texts(index, texts, numbers)


def _filter_candidate_texts(index: OverlapIndex, texts: Sequence[str], numbers: Sequence[int]) -> Iterator[int]:
    if numbers:
        yield from (numbers[place] for place in index.filter.among([texts[number] for number in numbers]).tolist())


def _exact_overlap_spans(index: OverlapIndex, text: str) -> Mapping[str, SpanArray]:
    """The spans of one text."""
    pieces = _split_huge_text(text, index.length) if len(text) > PIECE else [(0, 0, text)]
    found: dict[str, list[SpanArray]] = {}
    for offset, begins, piece in pieces:
        if len(text) > PIECE and not len(index.filter.among([piece])):
            continue
        for label, spans in _find_piece_overlaps(
            index, piece, begins, text[offset + len(piece) : offset + len(piece) + 1]
        ):
            found.setdefault(label, []).append(spans + np.array([offset, offset, 0]))
    joined = {label: np.concatenate(spans) for label, spans in found.items()}
    return {label: spans if label.endswith(f"_{LINES}") else merge_item_spans(spans) for label, spans in joined.items()}


def _find_piece_overlaps(index: OverlapIndex, text: str, begins: int, after: str) -> Iterator[tuple[str, SpanArray]]:
    """The spans of a piece: of n-grams, not yet merged, and of lines that begin at `begins` or later and are whole."""
    words = TextWords.of(text)
    ngrams = words.ngram_hashes(index.length)
    numbers, lines = words.line_hashes(index.least)
    first, last = words.lines[numbers], words.lines[numbers + 1] - 1
    whole = words.starts[first] >= begins
    if after and not text.endswith("\n"):
        whole &= numbers < len(words.lines) - 2
    for name in index.ngrams:
        items = index.ngrams[name].find(ngrams)
        (hits,) = np.nonzero(items)
        if hits.size:
            yield name, _span_array(words.starts[hits], words.ends[hits + index.length - 1], items[hits])
        items = index.lines[name].find(lines) * whole
        (hits,) = np.nonzero(items)
        if hits.size:
            yield label_of_lines(name), _span_array(words.starts[first[hits]], words.ends[last[hits]], items[hits])


def _span_array(starts: NDArray[Any], ends: NDArray[Any], items: NDArray[Any]) -> SpanArray:
    return np.stack([starts, ends, items.astype(np.int64)], 1)


def merge_item_spans(spans: SpanArray) -> SpanArray:
    """The spans (n, 3), those of one item that overlap or touch as one, in the order of their starts.

    >>> merge_item_spans(np.array([[0, 5, 1], [3, 9, 1], [4, 8, 2], [20, 30, 1]])).tolist()
    [[0, 9, 1], [4, 8, 2], [20, 30, 1]]
    """
    spans = spans[np.lexsort((spans[:, 0], spans[:, 2]))]
    first = np.ones(len(spans), np.bool_)
    first[1:] = (spans[1:, 2] != spans[:-1, 2]) | (spans[1:, 0] > spans[:-1, 1])
    places = np.flatnonzero(first)
    # n-grams have one length, so a later one of the same item also ends later
    ends = np.append(places[1:], len(spans)) - 1
    found = np.stack([spans[places, 0], spans[ends, 1], spans[places, 2]], 1)
    return found[np.lexsort((found[:, 2], found[:, 1], found[:, 0]))]


def _split_huge_text(text: str, length: int) -> Iterator[tuple[int, int, str]]:
    """Parts of a huge text: where each begins, from where on its lines are new, and the part.

    A part begins `length - 1` words before the end of the one before, so that each n-gram is in one of them. It ends
    after a line. If that is too far away it ends where a word does.
    """
    start, begins = 0, 0
    while True:
        end = _piece_end(text, start + PIECE)
        piece = text[start:end]
        yield start, begins, piece
        if end == len(text):
            return
        words = TextWords.of(piece).starts
        back = int(words[-(length - 1)]) if length > 1 and len(words) >= length - 1 else 0 if length > 1 else len(piece)
        partial = 0 if text[end - 1] == "\n" else max(text.find("\n", end), end) + 1 - end
        start, begins = start + back, len(piece) - back + partial


def _piece_end(text: str, at: int) -> int:
    """Where a part ends that would end at `at`."""
    if at >= len(text):
        return len(text)
    feed = text.rfind("\n", at - _BACK, at)
    if feed >= 0:
        return feed + 1
    while at < len(text):
        codes = np.frombuffer(text[at - 1 : at + _BACK].encode("utf-32-le", "surrogatepass"), "<u4")
        inside, alone = is_word_character().take(codes), is_single_word_character().take(codes)
        (cuts,) = np.nonzero(~inside[1:] | ~inside[:-1] | alone[1:] | alone[:-1])
        if len(cuts):
            return at + int(cuts[0])
        at += _BACK
    return len(text)
