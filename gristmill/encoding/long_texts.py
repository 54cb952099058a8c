"""Cuts texts as Levanter does before it encodes them. A cut may change token ids, so we cut at the same places.

Levanter always cuts very long runs: 25,000 or more characters of white space, or without white space. With its option
for Marin, which trains models with Levanter, it first cuts each long text.

Source: marin-levanter 0.2, `levanter.data.text._batch_tokenizer` and `levanter.tokenizers`.
"""

import re
from collections.abc import Iterator
from itertools import chain

RUN = 25_000
"""A run of at least so many characters is cut into pieces of this length."""
LONG = 10_000
"""Marin cuts texts of more than so many characters."""
ANY_SPACE = re.compile(r"\s")
LONG_RUN = re.compile(rf"\s{{{RUN},}}|\S{{{RUN},}}")
# For long texts, Marin uses the `regex` module: there \s is Unicode's White_Space. In Python's `re`, \s also matches
# the control characters U+001C to U+001F, which are excluded here.
WHITE_SPACE = re.compile(r"[^\S\x1c-\x1f]")


def cut(text: str, *, marin: bool) -> Iterator[str]:
    """The pieces of a text that are encoded separately, in order; joined they are the text. Most texts are one piece.

    Args:
        text: the text, with its EOS token.
        marin: whether to cut texts of more than 10,000 characters too, as Levanter does with its option for Marin.

    >>> [len(piece) for piece in cut("a" * 60_000, marin=False)]
    [25000, 25000, 10000]
    >>> [len(piece) for piece in cut("mill " * 2_500, marin=True)]
    [10004, 2496]
    """
    if not marin or len(text) <= LONG:
        return _cut_long_runs(text)
    return chain.from_iterable(map(_cut_long_runs, _cut_at_white_space(text)))


def _cut_long_runs(text: str) -> Iterator[str]:
    """Cuts each run (of white space, or of other characters) into pieces of 25,000. Text between runs is one piece."""
    if len(text) <= RUN or not _may_have_run(text):
        yield text
        return
    end = 0  # of the last run
    for run in LONG_RUN.finditer(text):
        if run.start() > end:
            yield text[end : run.start()]
        end = run.end()
        for start in range(run.start(), end, RUN):
            yield text[start : min(start + RUN, end)]
    if end < len(text):
        yield text[end:]


def _may_have_run(text: str) -> bool:
    """Whether there may be a run to cut. It is a quick test before the search by LONG_RUN.

    It looks at blocks of 12,500 characters. A run of 25,000 fills at least one of them, wherever it begins.
    """
    blocks = (text[start : start + RUN // 2] for start in range(0, len(text) - RUN // 2 + 1, RUN // 2))
    return any(block.isspace() or ANY_SPACE.search(block) is None for block in blocks)


def _cut_at_white_space(text: str) -> Iterator[str]:
    """Cuts before the first white space that comes 10,000 or more characters after the last cut."""
    start = 0
    while start < len(text):
        space = WHITE_SPACE.search(text, start + LONG) if len(text) - start > LONG else None
        end = len(text) if space is None else space.start()
        yield text[start:end]
        start = end
