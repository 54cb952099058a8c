"""Runs of sentences, as C4 compares runs of three."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, islice
from typing import NamedTuple

import numpy as np

from gristmill.text.code_points import CodePoints, Numbers
from gristmill.text.unicode.runs import Runs
from gristmill.text.unicode.sentences import sentence_ends
from gristmill.text.units import unit_hashes
from gristmill.text.units.hashes import Digests, hash_pieces
from gristmill.text.units.normalisation import normalise_text
from gristmill.text.units.unit_hashes import TextGroup, UnitHashes, text_groups
from gristmill.text.units.utf8_column import decode_text, encoded_text

FEW_SENTENCES = "too few sentences"
_LONGEST = 1 << 22
"""Code points of a sentence in a huge line: a longer one is divided, so that memory is bounded."""
_OPENING = (
    "([{\xab\u0f3a\u0f3c\u169b\u2018\u201a\u201b\u201c\u201e\u201f\u2039\u2045\u207d\u208d\u2308\u230a\u2329"
    "\u2768\u276a\u276c\u276e\u2770\u2772\u2774\u27c5\u27e6\u27e8\u27ea\u27ec\u27ee\u2983\u2985\u2987\u2989\u298b"
    "\u298d\u298f\u2991\u2993\u2995\u2997\u29d8\u29da\u29fc\u2e02\u2e04\u2e09\u2e0c\u2e1c\u2e20\u2e22\u2e24\u2e26"
    "\u2e28\u2e42\u2e55\u2e57\u2e59\u2e5b\u3008\u300a\u300c\u300e\u3010\u3014\u3016\u3018\u301a\u301d\ufd3f\ufe17"
    "\ufe35\ufe37\ufe39\ufe3b\ufe3d\ufe3f\ufe41\ufe43\ufe47\ufe59\ufe5b\ufe5d\uff08\uff3b\uff5b\uff5f\uff62"
)
"""The signs that open: categories Ps and Pi of Unicode 14.0. Written out, because they must not change with Python."""


def sentence_spans(texts: Sequence[str], rule: int = 1) -> tuple[Numbers, Numbers, Numbers]:
    r"""The sentences of texts, without white space at both ends, as `text/unicode/sentences.py` counts them.

    Args:
        texts: any texts, which are looked at together.
        rule: the number of the rule about a bracket or quote that opens behind a wide mark without white space, such as
            `「`. 1: the sentence before has it, and the signs behind it; 2: the next one.

    Returns:
        How many sentences each text has (T), and where each begins and ends in its text, in code points (S).

    >>> counts, starts, ends = sentence_spans(["He said: go!  So\nthey went. ...", "."])
    >>> counts.tolist(), starts.tolist(), ends.tolist()
    ([3, 0], [0, 14, 17], [12, 16, 27])
    >>> [sentence_spans(["行け。「はい」"], rule)[1].tolist() for rule in (1, 2)]
    [[0, 4], [0, 3]]
    """
    column = CodePoints.of(texts)
    runs = Runs.of(column)
    cuts = np.append(0, sentence_ends(column))
    firsts = np.searchsorted(runs.starts, cuts)  # the first run of each sentence, and of none at last
    words = np.zeros(len(runs.starts) + 1, np.int64)
    np.cumsum(runs.are_words, out=words[1:])
    (some,) = np.nonzero(words[firsts[1:]] > words[firsts[:-1]])
    starts, stops = runs.starts[firsts[some]], runs.ends[firsts[some + 1] - 1]
    if rule > 1:  # a run of signs may lie on both sides of a cut
        opens = np.isin(column.units[cuts], [ord(sign) for sign in _OPENING])
        around = opens[some] & (firsts[some] > 0) & (runs.ends[firsts[some] - 1] > cuts[some])
        starts = np.where(around, cuts[some], starts)
        stops = np.where(opens[some + 1], np.minimum(stops, cuts[some + 1]), stops)
    counts = np.diff(np.searchsorted(starts, column.bounds))
    before = np.repeat(column.bounds[:-1], counts)
    return counts, starts - before, stops - before


def sentence_runs(
    texts: Sequence[str], count: int = 3, normalisation: str = "", hashed: Digests = hash_pieces, rule: int = 1
) -> Iterator[UnitHashes]:
    r"""All runs of `count` sentences that follow each other. The hash is that of the sentences joined by one space.

    Source: Raffel et al. 2020, section 2.2 (https://arxiv.org/abs/1910.10683): of each span of three sentences that
    occurs more than once, all but one were discarded. A text of fewer sentences has no run, as in datatrove. In a huge
    text without line feeds, a sentence of more than 4,194,304 code points is divided.

    Args:
        texts: any texts.
        count: sentences of a run.
        normalisation: name of the normalisation of each run before it is hashed.
        hashed: function that computes the hashes.
        rule: version of the rule for ends of sentences, as for sentence_spans().

    >>> one, = sentence_runs(["A b. C d.\nE f. G h."])
    >>> one.spans.tolist(), one.starts.tolist(), one.ends.tolist()
    ([2], [0, 5], [14, 19])
    """
    held = _Sentences([], np.zeros((2, 0), np.int64))
    total = 0
    for group in chain.from_iterable(_divide_huge_line(each, rule) for each in text_groups(texts, "\n")):
        counts, starts, ends = sentence_spans(group.texts, rule)
        found = _Sentences(_cut_sentence_bytes(group.texts, counts, starts, ends), np.stack([starts, ends]))
        whole = texts[group.first]
        if len(group.texts) > 1 or len(group.texts[0]) == len(whole):
            few = int(np.count_nonzero((counts > 0) & (counts < count)))
        else:  # a part of a huge text: runs begin in the part before
            if not group.offset:
                held, total = held.last_sentences(0), 0
            found = held.followed_by(found, group.offset)
            total += int(counts[0])
            ended = group.offset + len(group.texts[0]) == len(whole)
            few = int(ended and 0 < total < count)
            counts = np.array([len(found.texts)])
            held = found.last_sentences(count - 1)
        runs, spans = _join_sentence_runs(found, counts, count, normalisation)
        skipped = {FEW_SENTENCES: few} if few else {}
        yield UnitHashes(group.first, *spans, hashed(runs), None, skipped)


def _divide_huge_line(group: TextGroup, rule: int) -> Iterator[TextGroup]:
    """A group as it is; a huge line in parts, of which each ends before a sentence."""
    text, start, size = group.texts[0], 0, unit_hashes.TOGETHER
    if len(group.texts) > 1 or len(text) <= unit_hashes.HUGE:
        yield group
        return
    while len(text) - start > size:
        _, starts, _ = sentence_spans([text[start : start + size]], rule)
        if len(starts) > 1:  # the last one may go on
            cut = start + int(starts[-1])
        elif size < _LONGEST:
            size *= 2
            continue
        else:
            cut = start + size
        yield TextGroup(group.first, [text[start:cut]], group.offset + start)
        start, size = cut, unit_hashes.TOGETHER
    yield TextGroup(group.first, [text[start:]], group.offset + start)


class _Sentences(NamedTuple):
    """The sentences of texts in UTF-8, and where each begins and ends in its text (2, S)."""

    texts: list[bytes]
    places: Numbers

    def last_sentences(self, count: int) -> "_Sentences":
        first = max(len(self.texts) - count, 0)
        return _Sentences(self.texts[first:], self.places[:, first:])

    def followed_by(self, others: "_Sentences", offset: int) -> "_Sentences":
        return _Sentences(self.texts + others.texts, np.hstack([self.places, others.places + offset]))


def _cut_sentence_bytes(texts: Sequence[str], counts: Numbers, starts: Numbers, ends: Numbers) -> list[bytes]:
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    return [
        encoded_text(text[start:end])
        for text, count in zip(texts, counts.tolist(), strict=True)
        for start, end in islice(spans, count)
    ]


def _join_sentence_runs(
    found: _Sentences, counts: Numbers, count: int, normalisation: str
) -> tuple[Iterable[bytes], tuple[Numbers, Numbers, Numbers]]:
    """The runs as bytes; how many each text has, and where each begins and ends."""
    runs = np.maximum(counts - count + 1, 0)
    firsts = np.cumsum(counts) - counts
    heads = np.repeat(firsts - np.cumsum(runs) + runs, runs) + np.arange(int(runs.sum()))
    joined: Iterable[bytes] = map(b" ".join, zip(*(found.texts[number:] for number in range(count)), strict=False))
    if len(counts) > 1:
        inside = np.zeros(len(found.texts), np.bool_)
        inside[heads] = True
        joined = compress(joined, inside.tolist())
    if normalisation:
        joined = (encoded_text(normalise_text(decode_text(each), normalisation)) for each in joined)
    return joined, (runs, found.places[0, heads], found.places[1, heads + count - 1])
