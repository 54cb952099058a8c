"""REDPAJAMA: the quality signals of RedPajama-Data v2 that say something about a whole document.

Source: togethercomputer/RedPajama-Data, commit 855a8e02, app/src/core/quality_signals: natural_language.py,
repetitions.py and content.py, with the normalization of app/src/utilities/text/normalization.py. Values are rounded to
eight digits, as there. `redpajama-lines-1` has the signals of lines.

The original splits every text at white space. Here a text has no label that needs words if more than half of it
is of scripts without spaces. All others are equal; `rps_doc_unigram_entropy` may differ in the eighth digit,
because its sum is taken in another order.
"""

import re
from array import array
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Tagger
from gristmill.text.characters.sets import Characters, small_letters, uppercase_characters
from gristmill.text.characters.word_punctuation import WordsAndPunctuation
from gristmill.text.code_points import Hashes, Numbers, mix_hash_bits
from gristmill.text.column import TextColumn
from gristmill.text.huge.blocks import blocks, is_unspaced_text
from gristmill.text.huge.groups import PART
from gristmill.text.huge.limits import MOST_COMPARED
from gristmill.text.huge.windows import HUGE, points_of
from gristmill.text.huge.word_shares import repeated_word_shares
from gristmill.text.ngrams import most_common_ngram_share, repeated_ngram_length
from gristmill.text.repeats import Repeats
from gristmill.text.rounding import round_like_python
from gristmill.text.words import Words

Shares = NDArray[np.float64]

_TOP = (2, 3, 4)
_DUPLICATE = (5, 6, 7, 8, 9, 10)
_DIGITS = 8
_TEXT = np.uint64(0xD6E8FEB86659FD93)  # odd: makes the keys of one word in two texts differ
_ASCII_LETTER, _CAPITAL, _SMALL, _END = 1, 2, 4, 8
_LOREM = re.compile("lorem ipsum", re.IGNORECASE)


def tag(batch: Batch) -> dict[str, Shares]:
    """The signals of a batch of documents, as arrays with one number for each document; masked where a document has
    none.

    So that a document of 100 MB needs less than 1 GB of memory, one of more than 18,000,000 words has no signals that
    compare its words.
    """
    return batch.measured(
        lambda column: _measure_column(column, [batch.texts[place] for place in column.places]), measured_huge
    )


def _measure_column(column: TextColumn, texts: Sequence[str]) -> dict[str, Shares]:
    """The signals of the texts of one column."""
    normalized, tokens = column.normalized.words, WordsAndPunctuation.of(column.points)
    held, (unknown, _) = tokens.bits_in_tokens(_code_point_bits()), column.unspaced
    signals = {
        "rps_doc_curly_bracket": _divide_parts(_count_strings(texts, "{", "}"), column.points.lengths),
        "rps_doc_lorem_ipsum": _lorem_ipsum_share(column.normalized),
        "rps_doc_num_sentences": _count_sentences(tokens, held).astype(np.float64),
        "rps_doc_frac_lines_end_with_ellipsis": _ellipsis_line_share(column),
    }
    of_words = _normalized_word_signals(normalized) | _token_signals(tokens, held, texts) | _ngram_signals(normalized)
    for label, (values, missing) in of_words.items():
        signals[label] = np.ma.MaskedArray(round_like_python(values, _DIGITS), mask=missing | unknown)
    return signals


def _divide_parts(parts: Numbers | Shares, wholes: Numbers) -> Shares:
    return round_like_python(parts / np.maximum(wholes, 1), _DIGITS)


def _count_strings(texts: Sequence[str], *parts: str) -> Numbers:
    """How often these strings occur in each text, without overlaps (T)."""
    return np.array([sum(text.count(part) for part in parts) for text in texts], np.int64)


def _lorem_ipsum_share(normalized: TextColumn) -> Shares:
    """How often `lorem ipsum` occurs, divided by the length of the normalized text (T)."""
    words = normalized.words
    sizes = words.sizes + np.maximum(words.counts - 1, 0)  # with one space between words
    found = np.zeros(len(sizes), np.int64)
    for text in np.unique(words.texts[_words_ending_in(words, "lorem")]).tolist():
        units = words.column.units[words.column.bounds[text] : words.column.bounds[text + 1]]
        plain = " ".join("".join(map(chr, units.tolist())).split())
        found[text] = len(_LOREM.findall(plain)) if "lorem ipsum" in plain else 0
    return _divide_parts(found, sizes)


def _words_ending_in(words: Words, end: str) -> Numbers:
    """The words that end so."""
    units = words.column.units
    chosen = np.flatnonzero(words.lengths >= len(end))
    for back, character in enumerate(reversed(end), 1):
        chosen = chosen[units[words.ends[chosen] - back] == ord(character)]
    return chosen


def _count_sentences(tokens: WordsAndPunctuation, held: NDArray[np.uint8]) -> Numbers:
    """How many stretches between `.`, `!` and `?` have a letter, a digit or a low line (T)."""
    ends = np.cumsum((held & _END) != 0)
    words = np.flatnonzero(tokens.are_words)
    stretches = ends[words] + tokens.texts[words]  # ascending, and apart for two texts
    fresh = np.ones(len(words), np.bool_)
    fresh[1:] = stretches[1:] != stretches[:-1]
    return np.bincount(tokens.texts[words[fresh]], minlength=len(tokens.counts))


def _dotted_lines(column: TextColumn) -> Numbers:
    """The lines that end with `...` or `…` and white space."""
    words = column.words
    dotted = np.zeros(len(words.starts), np.bool_)
    dotted[_words_ending_in(words, "...")] = True
    dotted[_words_ending_in(words, "…")] = True
    places = np.flatnonzero(np.diff(column.first_words) > 0)
    return places[dotted[column.first_words[places + 1] - 1]]


def _ellipsis_line_share(column: TextColumn) -> Shares:
    """The share of lines that end with `...` or `…` and white space; none for an empty text (T)."""
    lines, chosen = column.lines, _dotted_lines(column)
    counts = lines.counts - (lines.lengths[lines.bounds[1:] - 1] == 0)  # nothing after the last line feed is no line
    return np.ma.MaskedArray(_divide_parts(lines.count(chosen), counts), mask=counts == 0)


def _normalized_word_signals(words: Words) -> dict[str, tuple[Shares, NDArray[np.bool_]]]:
    """The signals about normalized words, and where they are missing."""
    never, none = np.zeros(len(words.counts), np.bool_), words.counts == 0
    counts = np.maximum(words.counts, 1)
    repeats = Repeats.of(mix_hash_bits(words.hashes + words.texts.astype(np.uint64) * _TEXT))
    texts = words.texts[repeats.firsts]
    again = np.bincount(texts, weights=repeats.counts, minlength=len(counts))
    single = words.counts - again
    shares = repeats.counts / counts[texts]
    repeated = np.bincount(texts, weights=-shares * np.log(shares), minlength=len(counts))
    entropy = repeated + single / counts * np.log(counts)
    unique = single + np.bincount(texts, minlength=len(counts))
    return {
        "rps_doc_word_count": (words.counts.astype(np.float64), never),
        "rps_doc_mean_word_length": (words.sizes / counts, none),
        "rps_doc_frac_unique_words": (unique / counts, none),
        "rps_doc_unigram_entropy": (np.maximum(entropy, 0.0), none),
    }


def _token_signals(
    tokens: WordsAndPunctuation, held: NDArray[np.uint8], texts: Sequence[str]
) -> dict[str, tuple[Shares, NDArray[np.bool_]]]:
    """The signals about tokens of the text as it is, and where they are missing."""
    none, counts = tokens.counts == 0, np.maximum(tokens.counts, 1)
    with_letter = tokens.per_text((held & _ASCII_LETTER) != 0)
    shouted = tokens.per_text((held & (_CAPITAL | _SMALL)) == _CAPITAL)
    return {
        "rps_doc_symbol_to_word_ratio": (_count_strings(texts, "#", "...", "…") / counts, none),
        "rps_doc_frac_no_alph_words": (1.0 - with_letter / counts, none),
        "rps_doc_frac_all_caps_words": (shouted / counts, none),
    }


@cache
def _code_point_bits() -> NDArray[np.uint8]:
    """The bits of each code point."""
    letters = Characters.of("", [(ord("A"), ord("Z")), (ord("a"), ord("z"))])
    sets = {
        _ASCII_LETTER: letters,
        _CAPITAL: uppercase_characters(),
        _SMALL: small_letters(),
        _END: Characters.of(".!?"),
    }
    found = np.zeros(0x110000, np.uint8)
    for bit, characters in sets.items():
        found |= np.uint8(bit) * characters.table
    return found


def _ngram_signals(words: Words) -> dict[str, tuple[Shares, NDArray[np.bool_]]]:
    """The signals about normalized words in a row."""
    never, sizes = np.zeros(len(words.counts), np.bool_), np.maximum(words.sizes, 1)
    signals = {}
    for n, repeats in words.repeats(_DUPLICATE[-1]):
        if n in _TOP:
            signals[f"rps_doc_frac_chars_top_{n}gram"] = (most_common_ngram_share(words, n, repeats) / sizes, never)
        else:
            signals[f"rps_doc_frac_chars_dupe_{n}grams"] = (repeated_ngram_length(words, n, repeats) / sizes, never)
    return signals


def measured_huge(text: str, size: int = HUGE, part: int = PART, most: int = MOST_COMPARED) -> dict[str, Shares]:
    """The signals of one huge text, computed in blocks.

    Args:
        text: any text.
        size: code points of a block.
        part: words that are compared in one pass.
        most: words that are compared with each other.
    """
    whole = is_unspaced_text(text, size)
    seen = _Seen()
    for block in blocks(text, size=size):
        seen.add(TextColumn([0], points_of(text, block), whole), text[block.start : block.end], most)
    found, words, tokens = seen.sums, seen.sums["words"], max(seen.sums["tokens"], 1)
    values: dict[str, float | None] = {
        "rps_doc_curly_bracket": sum(text.count(bracket) for bracket in "{}") / len(text),
        "rps_doc_lorem_ipsum": (seen.lorem[1] if seen.lorem[0] else 0) / max(found["size"] + words - 1, 1),
        "rps_doc_num_sentences": found["sentences"],
        "rps_doc_frac_lines_end_with_ellipsis": found["dotted"] / max(found["lines"], 1),
    }
    of_words: dict[str, float | None] = {
        "rps_doc_word_count": words,
        "rps_doc_mean_word_length": found["size"] / words if words else None,
        "rps_doc_symbol_to_word_ratio": sum(text.count(mark) for mark in ("#", "...", "…")) / tokens,
        "rps_doc_frac_no_alph_words": 1.0 - found["with_letter"] / tokens,
        "rps_doc_frac_all_caps_words": found["shouted"] / tokens,
    }
    without_tokens = ("symbol_to_word_ratio", "frac_no_alph_words", "frac_all_caps_words")
    of_words |= {f"rps_doc_{name}": None for name in without_tokens if not found["tokens"]}
    for name, value in repeated_word_shares(*seen.take_seen_words(), _TOP, _DUPLICATE, part):
        of_words[f"rps_doc_{name}"] = value if words <= most else None
    values |= {label: None if whole[0][0] else value for label, value in of_words.items()}
    return {
        label: np.ma.MaskedArray(round_like_python(np.array([value or 0.0]), _DIGITS), mask=[value is None])
        for label, value in values.items()
    }


class _Seen:
    """What is known of the blocks of a text that were looked at."""

    def __init__(self) -> None:
        self.sums = Counter[str]()
        self.hashes, self.lengths = array("Q"), array("I")  # of words; empty if there are too many
        self._open = False  # whether the last sentence has a word and no end yet
        self._tail = ""  # of the last word
        self.lorem = [0, 0]  # how often `lorem ipsum` occurs as it is, at least, and in any case

    def take_seen_words(self) -> tuple[list[Hashes], NDArray[np.uint32]]:
        """The hashes of the words, in a list of one, and the lengths of all words before each; both are forgotten."""
        before = np.zeros(len(self.lengths) + 1, np.uint32)
        np.cumsum(np.frombuffer(self.lengths, np.uint32), out=before[1:])
        hashes = [np.frombuffer(self.hashes, np.uint64)]
        self.hashes, self.lengths = array("Q"), array("I")
        return hashes, before

    def add(self, column: TextColumn, block: str, most: int) -> None:
        """Adds a block."""
        words, tokens, lines = column.normalized.words, WordsAndPunctuation.of(column.points), column.lines
        held = tokens.bits_in_tokens(_code_point_bits())
        self.sums.update(
            words=len(words.starts),
            size=int(words.sizes[0]),
            tokens=len(tokens.starts),
            with_letter=int(((held & _ASCII_LETTER) != 0).sum()),
            shouted=int(((held & (_CAPITAL | _SMALL)) == _CAPITAL).sum()),
            dotted=len(_dotted_lines(column)),
            lines=len(lines.starts) - block.endswith("\n"),
        )
        self._add_sentences(tokens, held)
        self._add_lorem_ipsum(words)
        if self.sums["words"] > most:
            self.hashes, self.lengths = array("Q"), array("I")
        else:
            self.hashes.frombytes(words.hashes.tobytes())
            self.lengths.frombytes(words.lengths.astype(np.uint32).tobytes())

    def _add_sentences(self, tokens: WordsAndPunctuation, held: NDArray[np.uint8]) -> None:
        """Adds the sentences; the first may be the rest of the last one before."""
        ends = np.flatnonzero((held & _END) != 0)
        words = np.flatnonzero(tokens.are_words)
        first_end = int(ends[0]) if len(ends) else len(held)
        goes_on = self._open and len(words) > 0 and int(words[0]) < first_end
        self.sums["sentences"] += int(_count_sentences(tokens, held)[0]) - goes_on
        if len(ends):
            self._open = len(words) > 0 and words[-1] > ends[-1]
        else:
            self._open |= len(words) > 0

    def _add_lorem_ipsum(self, words: Words) -> None:
        if not len(words.starts):
            return
        tail, units = self._tail, words.column.units
        if tail == "lorem" or len(_words_ending_in(words, "lorem")):
            plain = " ".join((tail, *"".join(map(chr, units.tolist())).split()))
            self.lorem = [self.lorem[0] + ("lorem ipsum" in plain), self.lorem[1] + len(_LOREM.findall(plain))]
        last = units[max(int(words.ends[-1]) - len("lorem"), int(words.starts[-1])) : int(words.ends[-1])]
        self._tail = "".join(map(chr, last.tolist()))


_WORDS = "the normalized words (no ASCII punctuation, lower case, NFD)"
_TOKENS = r"the tokens of `\w+|[^\w\s]+`"


def _share_score(name: str, meaning: str, *, words: bool = True, optional: bool = True) -> Score:
    return Score(name, meaning, low=0, high=1, optional=optional, exact=True, words=words)


REDPAJAMA = Tagger(
    name="redpajama-1",
    batch=tag,
    labels=(
        _share_score("rps_doc_curly_bracket", "share of code points that are `{` or `}`", words=False, optional=False),
        _share_score(
            "rps_doc_lorem_ipsum", "how often `lorem ipsum` occurs, for each code point", words=False, optional=False
        ),
        Score("rps_doc_num_sentences", "stretches of text between `.`, `!` and `?`", unit="sentences", low=0),
        _share_score("rps_doc_frac_lines_end_with_ellipsis", "share of lines that end with `...` or `…`", words=False),
        Score("rps_doc_word_count", f"number of {_WORDS}", unit="words", low=0, optional=True, words=True),
        Score(
            "rps_doc_mean_word_length",
            "their mean length",
            unit="code points",
            low=0,
            optional=True,
            exact=True,
            words=True,
        ),
        _share_score("rps_doc_frac_unique_words", "different words, divided by all words"),
        Score(
            "rps_doc_unigram_entropy", "entropy of the words", unit="nats", low=0, optional=True, exact=True, words=True
        ),
        Score(
            "rps_doc_symbol_to_word_ratio",
            f"how often `#`, `...` and `…` occur, divided by {_TOKENS}",
            low=0,
            optional=True,
            exact=True,
            words=True,
        ),
        _share_score("rps_doc_frac_no_alph_words", "share of these tokens without a letter of ASCII"),
        _share_score("rps_doc_frac_all_caps_words", "share of these tokens in capitals"),
        *(
            Score(
                f"rps_doc_frac_chars_top_{n}gram",
                f"count times length of the most common {n} words in a row, as a share of characters; 0 if none repeat;"
                " overlaps count twice, so it can exceed 1",
                low=0,
                optional=True,
                exact=True,
                words=True,
            )
            for n in _TOP
        ),
        *(
            _share_score(f"rps_doc_frac_chars_dupe_{n}grams", f"share of characters in {n} words in a row that repeat")
            for n in _DUPLICATE
        ),
    ),
    parameters={"top": list(_TOP), "duplicate": list(_DUPLICATE), "digits": _DIGITS},
    description="The signals of RedPajama-Data v2 about documents that need no list and no model.",
)
