"""Where Levanter cuts a text before it is encoded: extreme runs always, long texts as Marin does."""

import re
from collections.abc import Iterator
from itertools import chain

RUN = 25_000
LONG = 10_000
ANY_SPACE = re.compile(r"\s")
LONG_RUN = re.compile(rf"\s{{{RUN},}}|\S{{{RUN},}}")
# Marin cuts with the `regex` module, whose \s is Unicode's White_Space; Python's counts four separators more.
WHITE_SPACE = re.compile(r"[^\S\x1c-\x1f]")


def cut(text: str, *, marin: bool) -> Iterator[str]:
    """The pieces of a text that are encoded apart, in order; most texts are one piece.

    Args:
        text: the text, its EOS token included.
        marin: also cut texts of more than 10,000 characters.
    """
    if not marin or len(text) <= LONG:
        return _cut_runs(text)
    return chain.from_iterable(map(_cut_runs, _cut_long(text)))


def _cut_runs(text: str) -> Iterator[str]:
    """Cut runs of 25,000 and more white-space or other characters into pieces of 25,000."""
    if len(text) <= RUN or not _may_run(text):
        yield text
        return
    last = 0
    for run in LONG_RUN.finditer(text):
        if run.start() > last:
            yield text[last : run.start()]
        last = run.end()
        for start in range(run.start(), last, RUN):
            yield text[start : min(start + RUN, last)]
    if last < len(text):
        yield text[last:]


def _may_run(text: str) -> bool:
    """Whether there may be a run to cut: it would fill one of the text's stretches of half its length."""
    stretches = (text[start : start + RUN // 2] for start in range(0, len(text) - RUN // 2 + 1, RUN // 2))
    return any(stretch.isspace() or ANY_SPACE.search(stretch) is None for stretch in stretches)


def _cut_long(text: str) -> Iterator[str]:
    """Cut before the first white space at or after each 10,000 characters."""
    start = 0
    while start < len(text):
        space = WHITE_SPACE.search(text, start + LONG) if len(text) - start > LONG else None
        end = len(text) if space is None else space.start()
        yield text[start:end]
        start = end
