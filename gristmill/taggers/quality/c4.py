"""C4: the rules by which the Colossal Clean Crawled Corpus was cleaned, as labels.

Source: Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section
2.2. Labels and values are those of the `c4_v2` tagger of the Dolma toolkit 1.2.1 (github.com/allenai/dolma, commit
669f534823b08d266a8fff01f8a1c916a5a56576, `FasterC4Tagger` in `python/dolma/taggers/c4.py`). There is one difference:
Dolma counts offsets in the text in lower case. `İ` in lower case has two code points, so the spans after it are off by
one there. Ours are offsets in the text itself.

The words are the English list of LDNOOBW, which is Dolma's; see `naughty_words_en.md` beside this file.
"""

import re
from collections import Counter
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import re2
from numpy.typing import NDArray

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Spans, Tagger
from gristmill.text.column import TextColumn
from gristmill.text.huge.limits import MOST_SPANS, TooManySpans
from gristmill.text.huge.windows import HUGE, WINDOW, Window, line_windows, points_of, strip_window, word_windows
from gristmill.text.lines import Lines
from gristmill.text.pieces import Pieces

_LIST = Path(__file__).with_name("naughty_words_en.txt")
_ENDS = '.?!"'
_FEWEST_WORDS = 3
_PHRASES = {"has_javascript": "javascript", "has_lorem_ipsum": "lorem ipsum"}
_DOTTED = "\u0130"  # its lower case is an i and a dot: the one character that is not alike for RE2 and `str.lower`
_PATTERN_MEMORY = 64 << 20
_REACH = 32
"""Code points of the longest phrase, or more."""
_WORD = re.compile(r"\S+")


def tag(batch: Batch) -> dict[str, Any]:
    r"""The labels of a batch of documents.

    * `has_curly_brace`: 1 if the text has `{`; no label if it has none. So for the three labels that follow.
    * `has_javascript`, `has_lorem_ipsum`: the text has `javascript` or `lorem ipsum`, in any case, also inside a word.
    * `has_naughty_word`: one of its words between white space is a word of the list, or it has a phrase of the list.
    * `line_count`: line feeds and one.
    * `lines_with_no_ending_punctuation`: each line that, without its white space, ends with none of `.`, `?`, `!`, `"`.
    * `lines_with_too_few_words`: each line of fewer than three words. Empty lines are in both. Spans include the line
      feed.

    >>> from gristmill.lake.rows.document import Document
    >>> labels = tag(Batch([Document(id="a", text="Enable JavaScript\nto read this page.", source="pages")]))
    >>> labels["line_count"].tolist(), labels["has_javascript"], labels["has_curly_brace"]
    ([2.0], [1.0], [None])
    >>> labels["lines_with_no_ending_punctuation"], labels["lines_with_too_few_words"]
    ([array([[ 0, 18,  1]])], [array([[ 0, 18,  1]])])
    """
    labels: dict[str, Any] = {name: [] for name in ("has_curly_brace", *_PHRASES, "has_naughty_word")}
    for text in batch.texts:
        labels["has_curly_brace"].append(1.0 if "{" in text else None)
        found = _found_phrases(text) if len(text) < HUGE else found_in_huge(text)
        for name in (*_PHRASES, "has_naughty_word"):
            labels[name].append(1.0 if name in found else None)
    return labels | batch.measured(_line_labels, lines_of_huge)


def _line_labels(column: TextColumn) -> dict[str, Any]:
    """The labels about lines."""
    lines, words = column.lines, column.words
    edges = np.append(np.searchsorted(words.starts, lines.starts), len(words.starts))
    counts = np.diff(edges)
    (filled,) = np.nonzero(counts)
    tails = column.points.units[words.ends[edges[1:][filled] - 1] - 1]
    unended = np.ones(len(counts), np.bool_)
    unended[filled] = ~np.isin(tails, [ord(end) for end in _ENDS])
    return {
        "line_count": lines.counts.astype(np.float64),
        "lines_with_no_ending_punctuation": _line_spans(lines, unended),
        "lines_with_too_few_words": _line_spans(lines, counts < _FEWEST_WORDS),
    }


def _line_spans(lines: Lines, chosen: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """The chosen lines of each text. The line feed at its end belongs to a line."""
    (numbers,) = np.nonzero(chosen)
    texts, bounds = lines.texts[numbers], lines.column.bounds
    ends = np.minimum(lines.ends[numbers] + 1, bounds[texts + 1] - 1)  # the line feed after a text is not of the text
    firsts = np.searchsorted(texts, np.arange(len(bounds)))
    return Pieces(lines.column, lines.starts[numbers], ends, firsts).marks()


def _found_phrases(text: str) -> set[str]:
    """Which of javascript, lorem ipsum and the list a text has. One pass of RE2 shows that most have none of them."""
    if _DOTTED not in text and not _naughty_word_pattern().search(text.encode("utf-8", "surrogatepass")):
        return set()
    lowered = text.lower()
    found = {name for name, phrase in _PHRASES.items() if phrase in lowered}
    if found and not _naughty_word_pattern(alone=True).search(lowered.encode("utf-8", "surrogatepass")):
        return found
    words, phrases = _naughty_words()
    if not words.isdisjoint(lowered.split()) or any(phrase in lowered for phrase in phrases):
        found.add("has_naughty_word")
    return found


def found_in_huge(text: str, size: int = WINDOW) -> set[str]:
    """The labels that `_found_phrases` gives, in windows: of a huge text neither all words nor its lower case are in
    memory at once.

    Args:
        text: any text.
        size: code points of a window.
    """
    found: set[str] = set()
    for start, end in word_windows(text, size):
        if end - start <= max(size, 2 * _REACH):
            found |= _found_phrases(text[start:end])
        else:  # one word, which is longer than any of the list
            for at in range(start, end, size):
                found |= _find_phrases_in(text[at : at + size + _REACH])
        found |= _find_phrases_in(
            text[max(start - _REACH, 0) : start + _REACH]
        )  # a phrase may go on in the next window
    return found


def _find_phrases_in(text: str) -> set[str]:
    lowered = text.lower()
    found = {name for name, phrase in _PHRASES.items() if phrase in lowered}
    return found | ({"has_naughty_word"} if any(phrase in lowered for phrase in _naughty_words()[1]) else set())


def lines_of_huge(text: str, size: int = WINDOW) -> dict[str, Any]:
    """The labels about lines of one huge text, computed in windows.

    Args:
        text: any text.
        size: code points of a window.
    """
    spans: dict[str, list[NDArray[np.int64]]] = {}
    counts = Counter[str]()
    for window in line_windows(text, size):
        if window.end - window.start > size:
            found = _huge_line_spans(text, window)
        else:
            labels = _line_labels(TextColumn([0], points_of(text, window)))
            found = {name: labels[name][0] + [window.start, window.start, 0] for name in labels if name != "line_count"}
        last = max(text.rfind("\n", *window) + 1, window.start)
        for name, each in found.items():
            each[each[:, 0] == last, 1] += window.end < len(text)  # the line feed after the window
            spans.setdefault(name, []).append(each)
            counts[name] += len(each)
            if counts[name] > MOST_SPANS:
                raise TooManySpans(name)
    joined = {name: [np.concatenate(each)] for name, each in spans.items()}
    return {"line_count": np.array([text.count("\n") + 1.0]), **joined}


def _huge_line_spans(text: str, line: Window) -> dict[str, NDArray[np.int64]]:
    """The spans of one huge line, without its line feed."""
    span = np.array([[*line, 1]], np.int64)
    start, end = strip_window(text, line)
    short = sum(1 for _ in islice(_WORD.finditer(text, *line), _FEWEST_WORDS)) < _FEWEST_WORDS
    unended = start == end or text[end - 1] not in _ENDS
    return {
        "lines_with_no_ending_punctuation": span[: int(unended)].copy(),
        "lines_with_too_few_words": span[: int(short)].copy(),
    }


@cache
def _naughty_words() -> tuple[frozenset[str], tuple[str, ...]]:
    """The words of the list, and its phrases, which have spaces."""
    entries = _LIST.read_text("utf-8").splitlines()
    return frozenset(entry for entry in entries if " " not in entry), tuple(entry for entry in entries if " " in entry)


@cache
def _naughty_word_pattern(*, alone: bool = False) -> Any:
    """Finds in the UTF-8 bytes of a text what may be one of the words or phrases, in linear time.

    Args:
        alone: only those of the list.
    """
    words, phrases = _naughty_words()
    spaces = "".join(f"\\x{{{code:x}}}" for code in range(0x3001) if chr(code).isspace())
    single = "|".join(map(re.escape, sorted(words)))
    anywhere = "|".join(map(re.escape, (*phrases, *(() if alone else _PHRASES.values()))))
    options = re2.Options()
    options.max_mem = _PATTERN_MEMORY
    return re2.compile(f"(?i)(?:^|[{spaces}])(?:{single})(?:$|[{spaces}])|{anywhere}", options)


C4 = Tagger(
    name="c4-1",
    batch=tag,
    labels=(
        Score("has_curly_brace", "1 if the text has `{`", low=1, high=1, optional=True),
        Score("has_javascript", "1 if the text has `javascript`", low=1, high=1, optional=True),
        Score("has_lorem_ipsum", "1 if the text has `lorem ipsum`", low=1, high=1, optional=True),
        Score("has_naughty_word", "1 if the text has a word or a phrase of the list", low=1, high=1, optional=True),
        Score("line_count", "line feeds and one", unit="lines", low=1),
        Spans(
            "lines_with_no_ending_punctuation", 'each line that does not end with `.`, `?`, `!` or `"`', low=1, high=1
        ),
        Spans("lines_with_too_few_words", "each line of fewer than three words", low=1, high=1, words=True),
    ),
    parameters={
        "ends": sorted(_ENDS),
        "fewest_words": _FEWEST_WORDS,
        "list": "LDNOOBW en 5faf2ba42d7b1c0977169ec3611df25a3c08eb13",
    },
    description="The rules of C4 (Raffel et al. 2020), as Dolma's c4_v2 has them.",
)
