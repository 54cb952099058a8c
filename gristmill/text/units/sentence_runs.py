"""Runs of sentences, as C4 compares runs of three."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from gristmill.text.code_points import CodePoints, Numbers
from gristmill.text.unicode.runs import Runs
from gristmill.text.unicode.sentences import sentence_ends
from gristmill.text.units.hashes import digests
from gristmill.text.units.normalisation import normalised
from gristmill.text.units.unit_hashes import UnitHashes, text_groups
from gristmill.text.units.utf8_column import encoded_text

FEW_SENTENCES = "too few sentences"


def sentence_spans(texts: Sequence[str]) -> tuple[Numbers, Numbers, Numbers]:
    r"""The sentences of texts, without white space at both ends, as `text/unicode/sentences.py` counts them.

    Args:
        texts: any texts, which are looked at together.

    Returns:
        How many sentences each text has (T), and where each begins and ends in its text, in code points (S).

    >>> counts, starts, ends = sentence_spans(["He said: go!  So\nthey went. ...", "."])
    >>> counts.tolist(), starts.tolist(), ends.tolist()
    ([3, 0], [0, 14, 17], [12, 16, 27])
    """
    column = CodePoints.of(texts)
    runs = Runs.of(column)
    ends = sentence_ends(column)
    firsts = np.searchsorted(runs.starts, np.append(0, ends))  # the first run of each sentence, and of none at last
    words = np.zeros(len(runs.starts) + 1, np.int64)
    np.cumsum(runs.are_words, out=words[1:])
    (some,) = np.nonzero(words[firsts[1:]] > words[firsts[:-1]])
    starts, stops = runs.starts[firsts[some]], runs.ends[firsts[some + 1] - 1]
    counts = np.diff(np.searchsorted(starts, column.bounds))
    before = np.repeat(column.bounds[:-1], counts)
    return counts, starts - before, stops - before


def sentence_runs(texts: Sequence[str], count: int = 3, normalisation: str = "") -> Iterator[UnitHashes]:
    r"""All runs of `count` sentences that follow each other. The hash is that of the sentences joined by one space.

    Source: Raffel et al. 2020, section 2.2 (https://arxiv.org/abs/1910.10683): of each span of three sentences that
    occurs more than once, all but one were discarded. A text of fewer sentences has no run, as in datatrove.

    Args:
        texts: any texts.
        count: sentences of a run.
        normalisation: of each run before it is hashed.

    >>> one, = sentence_runs(["A b. C d.\nE f. G h."])
    >>> one.spans.tolist(), one.starts.tolist(), one.ends.tolist()
    ([2], [0, 5], [14, 19])
    """
    waiting: list[tuple[Numbers, Numbers]] = []
    for group in text_groups(texts, "\n"):
        counts, starts, ends = sentence_spans(group.texts)
        whole = texts[group.first]
        if len(group.texts) == 1 and len(group.texts[0]) < len(whole):  # a part of a huge text
            waiting.append((starts + group.offset, ends + group.offset))
            if group.offset + len(group.texts[0]) < len(whole):
                continue
            starts, ends = (np.concatenate(each) for each in zip(*waiting, strict=True))
            counts, waiting = np.array([len(starts)]), []
            yield _runs(group.first, [whole], counts, starts, ends, count, normalisation)
        else:
            yield _runs(group.first, group.texts, counts, starts, ends, count, normalisation)


def _runs(
    first: int, texts: Sequence[str], counts: Numbers, starts: Numbers, ends: Numbers, count: int, normalisation: str
) -> UnitHashes:
    pieces: list[bytes] = []
    runs = np.maximum(counts - count + 1, 0)
    bounds = np.append(0, np.cumsum(counts))
    for text, (a, b) in zip(texts, pairwise(bounds.tolist()), strict=True):
        if b - a >= count:
            spans = zip(starts[a:b].tolist(), ends[a:b].tolist(), strict=True)
            sentences = [text[start:end] for start, end in spans]
            joined = (" ".join(sentences[i : i + count]) for i in range(b - a - count + 1))
            pieces += (encoded_text(normalised(each, normalisation)) for each in joined)
    heads = np.repeat(bounds[:-1], runs) + _numbers(runs)
    few = int(np.count_nonzero((counts > 0) & (counts < count)))
    skipped = {FEW_SENTENCES: few} if few else {}
    return UnitHashes(first, runs, starts[heads], ends[heads + count - 1], digests(pieces), None, skipped)


def _numbers(counts: Numbers) -> Numbers:
    """0, 1, ... for each count."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
