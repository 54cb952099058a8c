"""REFINEDWEB: the lines that RefinedWeb and DCLM-Baseline remove, as spans, and the share of words in them.

Source: Penedo et al. 2023, "The RefinedWeb Dataset for Falcon LLM", appendix G.2. RefinedWeb's code is not public. So
the rules are those of DCLM's reproduction (mlfoundations/dclm, commit 15af3ce5, baselines/mappers/modifiers.py, with
the options of baselines/baselines_configs/dclm_baseline_refinedweb.yaml). DCLM edits the text after each rule; here
each rule sees the text as it is, and a mix decides which spans it removes. DCLM looks for any three characters after
`read more`, because it does not escape the points; here they are points.
"""

import re

import numpy as np
from numpy.typing import NDArray

from gristmill.recipes.batch import Batch, Measured
from gristmill.recipes.tagger import Score, Spans, Tagger
from gristmill.text.characters.scripts import unspaced
from gristmill.text.characters.sets import Characters, capitals, digits, sums
from gristmill.text.code_points import Numbers
from gristmill.text.column import TextColumn
from gristmill.text.pieces import Pieces

Found = list[tuple[int, int, float]]

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


def tag(batch: Batch) -> Measured:
    """The labels of a batch of documents: spans of score 1, and the share of words in the lines that rules remove."""
    found = batch.measured(lambda column: _measured(column, [batch.lowered[place] for place in column.places]))
    phrases = [_phrases(text, lowered) for text, lowered in zip(batch.texts, batch.lowered, strict=True)]
    return {**found, **{label: [each[label] for each in phrases] for label in _PHRASES}}


def _measured(column: TextColumn, lowered: list[str]) -> Measured:
    """The labels about whole lines."""
    lines, words = column.lines, np.diff(column.first_words)
    filled, unknown = lines.lengths > 0, unspaced(column.points)[0]
    rules = {
        "uppercase": 2 * _per_line(column, capitals()) > lines.lengths,
        "numeric": filled & (_per_line(column, digits()) == lines.lengths),
        "counter": _counters(column, lowered),
        "one_word": filled & (words <= 1) & ~unknown[lines.texts],
    }
    removed = np.logical_or.reduce(list(rules.values()))
    totals, lost = (np.diff(sums(each)[lines.bounds]) for each in (words, np.where(removed, words, 0)))
    share = np.ma.MaskedArray(lost / np.maximum(totals, 1), mask=(totals == 0) | unknown)
    return {**{label: _spans(lines, chosen) for label, chosen in rules.items()}, "removed_words": share}


def _per_line(column: TextColumn, characters: Characters) -> Numbers:
    """How many of these characters each line has."""
    (places,) = np.nonzero(characters.among(column.points))
    return np.searchsorted(places, column.lines.ends) - np.searchsorted(places, column.lines.starts)


def _counters(column: TextColumn, lowered: list[str]) -> NDArray[np.bool_]:
    """Whether each line is a counter, such as `3 likes`."""
    found = np.zeros(len(column.lines.starts), np.bool_)
    for text, first in zip(lowered, column.lines.bounds.tolist(), strict=False):
        if any(word in text for word in COUNTED):
            for line, part in enumerate(text.split("\n"), first):  # lower case has the same lines
                found[line] = _COUNTER.fullmatch(part) is not None
    return found


def _spans(lines: Pieces, chosen: NDArray[np.bool_]) -> list[Found]:
    """The chosen lines of each text."""
    (numbers,) = np.nonzero(chosen)
    bounds = np.searchsorted(numbers, lines.bounds)
    part = Pieces(lines.column, lines.starts[numbers], lines.ends[numbers], bounds)
    return part.spans(np.ones(len(numbers)))


def _phrases(text: str, lowered: str) -> dict[str, Found]:
    """The phrases in lines of few words, by label."""
    found: dict[str, Found] = {label: [] for label in _PHRASES}
    for label, (phrase, pattern) in _PHRASES.items():
        if phrase in lowered:
            start = 0
            for line in text.split("\n"):
                if len(line.split(None, SHORT)) <= SHORT:
                    found[label] += [(start + m.start(), start + m.end(), 1.0) for m in pattern.finditer(line)]
                start += len(line) + 1
    return found


def _rule(name: str, meaning: str, *, words: bool = False) -> Spans:
    return Spans(name, meaning, low=1, high=1, words=words)


REFINEDWEB = Tagger(
    name="refinedweb-1",
    batch=tag,
    labels=(
        _rule("uppercase", "each line of which more than half is capitals"),
        _rule("numeric", "each line of digits alone"),
        _rule("counter", "each line that counts, such as `3 likes`"),
        _rule("one_word", "each line of one word or of white space", words=True),
        _rule("items_in_cart", f"`items in cart`, in lines of at most {SHORT} words", words=True),
        _rule("read_more", f"`read more...` at the end of lines of at most {SHORT} words", words=True),
        _rule("sign_in", f"`sign-in` at the begin of lines of at most {SHORT} words", words=True),
        Score("removed_words", "share of words in lines of the first four", low=0, high=1, optional=True, words=True),
    ),
    parameters={"short": SHORT, "counted": list(COUNTED)},
    description="Lines that RefinedWeb (Penedo et al. 2023) and DCLM-Baseline remove.",
)
