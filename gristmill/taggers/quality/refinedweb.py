"""REFINEDWEB: the lines that RefinedWeb and DCLM-Baseline remove, as spans, and the share of words in them.

Source: Penedo et al. 2023, "The RefinedWeb Dataset for Falcon LLM", appendix G.2. RefinedWeb's code is not public. So
the rules are those of DCLM's reproduction (mlfoundations/dclm, commit 15af3ce5, baselines/mappers/modifiers.py, with
the options of baselines/baselines_configs/dclm_baseline_refinedweb.yaml). DCLM edits the text after each rule; here
each rule sees the text as it is, and a mix decides which spans it removes. DCLM looks for any three characters after
`read more`, because it does not escape the points; here they are points.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Spans, Tagger
from gristmill.text.characters.sets import Characters, digit_characters, running_sums, uppercase_characters
from gristmill.text.code_points import Numbers
from gristmill.text.column import TextColumn
from gristmill.text.pieces import Pieces

SHORT = 10
"""The most words of a line in which phrases are looked for."""

COUNTED = (
    *("likes", "shares", "comments", "retweets", "reposts", "quotes", "bookmarks", "upvotes", "downvotes"),
    *("downloads", "views", "followers"),
)
_COUNTER = re.compile(rf"\W*\d[,.\d]*[kmb]?\s+(?:{'|'.join(COUNTED)})\W*")
_PHRASES = {
    "items_in_cart": ("items in cart", re.compile(r"\s?(?ai:items in cart)")),
    "read_more": ("read more...", re.compile(r"\s?(?ai:read more\.\.\.)\Z")),
    "sign_in": ("sign-in", re.compile(r"\A(?ai:sign-in)\s?")),
}


def tag(batch: Batch) -> dict[str, Any]:
    """The labels of a batch of documents: spans of score 1, and the share of words in the lines that rules remove."""
    return batch.in_blocks(measured, finished)


def measured(column: TextColumn) -> dict[str, Any]:
    """The labels of the texts of one column."""
    lines, words = column.lines, np.diff(column.first_words)
    filled, unknown = lines.lengths > 0, column.unspaced[0]
    digits_of = _count_characters_per_line(column, digit_characters())
    rules = {
        "uppercase": 2 * _count_characters_per_line(column, uppercase_characters()) > lines.lengths,
        "numeric": filled & (digits_of == lines.lengths),
        "counter": _is_counter_line(column, (digits_of > 0) & (words > 1)),
        "one_word": filled & (words <= 1) & ~unknown[lines.texts],
    }
    removed = np.logical_or.reduce(list(rules.values()))
    totals, lost = (np.diff(running_sums(each)[lines.bounds]) for each in (words, np.where(removed, words, 0)))
    return {
        **{label: lines.only(chosen).marks() for label, chosen in rules.items()},
        **{label: _phrase_places(column, words, label) for label in _PHRASES},
        "words": totals,
        "removed_words": lost,
        "unknown": unknown.astype(np.int64),
    }


def finished(found: dict[str, Any]) -> dict[str, Any]:
    """The labels of texts, from the sums of what was found in them."""
    words, unknown = found.pop("words"), found.pop("unknown") > 0
    share = found["removed_words"] / np.maximum(words, 1)
    return {**found, "removed_words": np.ma.MaskedArray(share, mask=(words == 0) | unknown)}


def _count_characters_per_line(column: TextColumn, characters: Characters) -> Numbers:
    """How many of these characters each line has."""
    (places,) = np.nonzero(characters.among(column.points))
    return np.searchsorted(places, column.lines.ends) - np.searchsorted(places, column.lines.starts)


def _is_counter_line(column: TextColumn, likely: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each line is a counter, such as `3 likes`; only likely lines are looked at."""
    (numbers,) = np.nonzero(likely)
    found = np.zeros(len(likely), np.bool_)
    edges = column.lines.starts[numbers].tolist(), column.lines.ends[numbers].tolist()
    found[numbers] = [_COUNTER.fullmatch(column.lowered, *line) is not None for line in zip(*edges, strict=True)]
    return found


def _phrase_places(column: TextColumn, words: Numbers, label: str) -> list[NDArray[np.int64]]:
    """The places of a phrase in lines of few words."""
    phrase, pattern = _PHRASES[label]
    lines, lowered = column.lines, column.lowered
    starts: list[int] = []
    ends: list[int] = []
    last = -1
    at = lowered.find(phrase)
    while at >= 0:
        line = int(np.searchsorted(lines.starts, at, side="right")) - 1
        if line > last and words[line] <= SHORT:
            start = int(lines.starts[line])
            for match in pattern.finditer(column.joined[start : int(lines.ends[line])]):
                starts.append(start + match.start())
                ends.append(start + match.end())
        last, at = line, lowered.find(phrase, int(lines.ends[line]))
    found = np.array(starts, np.int64)
    return Pieces(column.points, found, np.array(ends, np.int64), np.searchsorted(found, column.points.bounds)).marks()


def _line_rule(name: str, meaning: str, *, words: bool = False) -> Spans:
    return Spans(name, meaning, low=1, high=1, words=words)


REFINEDWEB = Tagger(
    name="refinedweb-1",
    batch=tag,
    labels=(
        _line_rule("uppercase", "each line of which more than half is capitals"),
        _line_rule("numeric", "each line of digits alone"),
        _line_rule("counter", "each line that counts, such as `3 likes`"),
        _line_rule("one_word", "each line of one word or of white space", words=True),
        _line_rule("items_in_cart", f"`items in cart`, in lines of at most {SHORT} words", words=True),
        _line_rule("read_more", f"`read more...` at the end of lines of at most {SHORT} words", words=True),
        _line_rule("sign_in", f"`sign-in` at the begin of lines of at most {SHORT} words", words=True),
        Score("removed_words", "share of words in lines of the first four", low=0, high=1, optional=True, words=True),
    ),
    parameters={"short": SHORT, "counted": list(COUNTED)},
    description="Lines that RefinedWeb (Penedo et al. 2023) and DCLM-Baseline remove.",
)
