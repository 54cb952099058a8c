"""What Dolma's dedupe compares in a document, and how it marks it, with the mistakes of the original.

Source: github.com/allenai/dolma, release 1.2.1: `src/deduper.rs` (write_attributes) and `src/wimbd/tokens.rs`, and what
the released program does. What one would not expect, and what is kept:

- With `min_words`, nothing with enough words is compared, so nothing is marked.
- The shortest key of a document is counted in bytes, the shortest paragraph in code points.
- The offsets of paragraphs grow by one for each separator, whatever its length, and after the last paragraph too if the
  text has characters of several bytes. The offsets of a document's key are bytes.
- An n-gram of one word equals the paragraph of that word.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gristmill.dolma.dedupe.config import DedupeConfig, NgramOptions
from gristmill.dolma.dedupe.key_path import KeyPath
from gristmill.text.column import text_columns

WHITE = "".join(
    map(chr, (*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000))
)
"""White space in Rust: the property White_Space. Python also takes U+001C to U+001F."""
_CONTROLS = (0x1C, 0x1F)
_BETWEEN = b"\xff"
"""Between the words of an n-gram's key. UTF-8 has no such byte."""

Bools = NDArray[np.bool_]
Marks = list[list[Any]]


class NoKey(ValueError):  # noqa: N818 - the tree reads as English
    """A document has no string where the configuration says.

    Attributes:
        number: index of the document.
    """

    def __init__(self, number: int, reason: str) -> None:
        self.number = number
        super().__init__(reason)


class Keyed(Protocol):
    """Keys of some documents, in the order in which they are compared, and what becomes of them."""

    @property
    def keys(self) -> Sequence[bytes]:
        """The keys."""

    @property
    def whole(self) -> Bools:
        """Whether each key is compared in every partition."""

    def marks(self, seen: Bools, mine: Bools) -> Iterator[Marks | None]:
        """The value of each document's attribute; None: the attribute is left out.

        Args:
            seen: whether each key was seen before.
            mine: whether each key is in this partition.
        """


@dataclass(frozen=True)
class _Documents:
    """One key of each document. `sizes` are bytes; -1: the document is skipped; -2: Dolma compares nothing."""

    keys: Sequence[bytes]
    sizes: Sequence[int]

    @property
    def whole(self) -> Bools:
        return np.zeros(len(self.keys), np.bool_)

    def marks(self, seen: Bools, mine: Bools) -> Iterator[Marks | None]:
        verdicts = iter(zip(seen.tolist(), mine.tolist(), strict=True))
        for size in self.sizes:
            if size < 0:
                yield [] if size == _SKIPPED else None
                continue
            repeats, compared = next(verdicts)
            yield [[0, size, 1]] if compared and repeats else None if compared else []


_SKIPPED, _NOTHING = -1, -2


def document_keys(rows: Sequence[Any], path: KeyPath, config: DedupeConfig) -> Keyed:
    """The keys of documents.

    Args:
        rows: the documents.
        path: path of the key.
        config: configuration that says which keys are skipped.

    Raises:
        NoKey: a document has no string there.
    """
    keys: list[bytes] = []
    sizes: list[int] = []
    for number, row in enumerate(rows):
        key = path.find(row)
        if key is None:
            raise NoKey(number, f"no string at {path.text}")
        data = key.encode()
        if config.min_words > 0:
            (count,) = (len(words) for words in words_of_texts([key]))
            sizes.append(_SKIPPED if count < config.min_words else _NOTHING)
        elif len(data) < config.min_length or (config.skip_empty and not key.strip(WHITE)):
            sizes.append(_SKIPPED)
        else:
            sizes.append(len(data))
            keys.append(data)
    return _Documents(keys, sizes)


@dataclass(frozen=True)
class _Paragraph:
    """A paragraph that is compared: its offsets, the number of its n-grams, and whether it is compared whole."""

    start: int
    end: int
    ngrams: int = 0
    whole: bool = True


@dataclass(frozen=True)
class _Paragraphs:
    """The paragraphs of each document; None: its text is empty. A paragraph's n-grams come before itself."""

    keys: Sequence[bytes]
    documents: Sequence[list[_Paragraph] | None]
    ngram: NgramOptions | None

    @property
    def whole(self) -> Bools:
        flags: list[bool] = []
        for each in (each for found in self.documents for each in found or ()):
            flags += [False] * each.ngrams
            flags += [self.ngram is not None] * each.whole
        return np.array(flags, np.bool_)

    def marks(self, seen: Bools, mine: Bools) -> Iterator[Marks | None]:
        repeated = (seen & mine).tolist()
        at = 0
        for found in self.documents:
            if found is None:
                yield None
                continue
            marks: Marks = []
            for each in found:
                share = np.float32(sum(repeated[at : at + each.ngrams])) / np.float32(max(each.ngrams, 1))
                at += each.ngrams
                if self.ngram is None:
                    if repeated[at]:
                        marks.append([each.start, each.end, 1])
                elif each.whole or each.ngrams:
                    score = np.float32(repeated[at]) if each.whole else share
                    if score >= np.float32(self.ngram.threshold):
                        marks.append([each.start, each.end, float(score)])
                at += each.whole
            yield marks


def paragraph_keys(rows: Sequence[Any], config: DedupeConfig) -> Keyed:
    """The keys of the paragraphs of documents.

    Args:
        rows: the documents.
        config: configuration that says what is compared.

    Raises:
        NoKey: a document has no text.
    """
    texts: list[str] = []
    documents: list[list[_Paragraph] | None] = []
    for number, row in enumerate(rows):
        text = row.get("text") if isinstance(row, dict) else None
        if not isinstance(text, str):
            raise NoKey(number, "no text")
        if not text:
            documents.append(None)
            continue
        found: list[_Paragraph] = []
        for start, end, paragraph in _compared_paragraphs(text, config):
            texts.append(paragraph)
            found.append(_Paragraph(start, end))
        documents.append(found)
    if config.ngram is None:
        return _Paragraphs([text.encode() for text in texts], documents, None)
    return _mark_by_ngrams(texts, documents, config.ngram)


def _compared_paragraphs(text: str, config: DedupeConfig) -> Iterator[tuple[int, int, str]]:
    """Start, end and text of each paragraph that is compared."""
    last = len(text.encode()) - 1  # bytes, but compared with code points
    offset = 0
    for paragraph in text.split(config.separator):
        start = offset
        offset += len(paragraph)
        offset += offset < last
        if len(paragraph) < config.min_length or config.min_words > 0:
            continue  # with min_words, paragraphs with too few words are skipped, and the others are not compared
        if config.skip_empty and not paragraph.strip(WHITE):
            continue
        yield start, offset, paragraph


def _mark_by_ngrams(texts: Sequence[str], documents: Sequence[list[_Paragraph] | None], options: NgramOptions) -> Keyed:
    keys: list[bytes] = []
    pairs = zip(texts, words_of_texts(texts), strict=True)

    def divided(paragraph: _Paragraph) -> _Paragraph:
        text, words = next(pairs)
        ngrams = list(_paragraph_ngrams(words, options))
        whole = len(ngrams) < 2 and not options.skip_short
        keys.extend([*ngrams, text.encode()] if whole else ngrams)
        return replace(paragraph, ngrams=len(ngrams), whole=whole)

    counted = [None if found is None else [divided(each) for each in found] for found in documents]
    return _Paragraphs(keys, counted, options)


def _paragraph_ngrams(words: Sequence[bytes], options: NgramOptions) -> Iterator[bytes]:
    """The n-grams of a paragraph. Until one begins after the first word, the stride is not looked at."""
    last = 0
    for start in range(len(words) - options.length + 1):
        if last == 0 or start - last >= options.stride:
            last = start
            yield _BETWEEN.join(words[start : start + options.length])


def words_of_texts(texts: Sequence[str]) -> Iterable[list[bytes]]:
    """The words of each text: its pieces of UAX #29 with more than white space.

    >>> list(words_of_texts(["can't  stop."]))
    [[b"can't", b'stop', b'.']]
    """
    found: list[list[bytes]] = [[] for _ in texts]
    for column in text_columns(texts):
        pieces = column.unicode_words
        first = column.points.units[pieces.starts] if len(pieces.starts) else np.zeros(0, np.int64)
        kept = np.flatnonzero(pieces.has_ink | ((first >= _CONTROLS[0]) & (first <= _CONTROLS[1])))
        bounds = np.searchsorted(kept, pieces.bounds).tolist()
        starts, ends = pieces.starts[kept].tolist(), pieces.ends[kept].tolist()
        for number, place in enumerate(column.places):
            text, base = texts[place], int(column.points.bounds[number])
            found[place] = [
                text[starts[piece] - base : ends[piece] - base].encode()
                for piece in range(bounds[number], bounds[number + 1])
            ]
    return found
