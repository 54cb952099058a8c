"""Levanter cuts some texts before it encodes them: always extreme runs, and with Marin's option also long texts.

Source: marin-levanter 0.2, `levanter.data.text._batch_tokenizer` and `levanter.tokenizers`.
"""

import re
from collections.abc import Iterator
from itertools import chain

RUN = 25_000
LONG = 10_000
ANY_SPACE = re.compile(r"\s")
LONG_RUN = re.compile(rf"\s{{{RUN},}}|\S{{{RUN},}}")
# Marin uses the `regex` module, where \s is Unicode's White_Space. In Python \s also has four separators.
WHITE_SPACE = re.compile(r"[^\S\x1c-\x1f]")


def cut(text: str, *, marin: bool) -> Iterator[str]:
    """The pieces of a text that are encoded separately, in order. Most texts are one piece.

    Args:
        text: the text, with its EOS token.
        marin: also cut texts of more than 10,000 characters.

    >>> [len(piece) for piece in cut("a" * 60_000, marin=False)]
    [25000, 25000, 10000]
    >>> [len(piece) for piece in cut("mill " * 2_500, marin=True)]
    [10004, 2496]
    """
    if not marin or len(text) <= LONG:
        return _cut_runs(text)
    return chain.from_iterable(map(_cut_runs, _cut_long(text)))


def _cut_runs(text: str) -> Iterator[str]:
    """Cuts runs of at least 25,000 white-space characters, or of other characters, into pieces of 25,000."""
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
    """Whether there may be a run to cut. Such a run fills at least one block of half its length."""
    blocks = (text[start : start + RUN // 2] for start in range(0, len(text) - RUN // 2 + 1, RUN // 2))
    return any(block.isspace() or ANY_SPACE.search(block) is None for block in blocks)


def _cut_long(text: str) -> Iterator[str]:
    """Cuts before the first white space at or after each 10,000 characters."""
    start = 0
    while start < len(text):
        space = WHITE_SPACE.search(text, start + LONG) if len(text) - start > LONG else None
        end = len(text) if space is None else space.start()
        yield text[start:end]
        start = end
