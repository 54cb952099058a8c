"""Replaces spans of a text as Dolma's mixer does, also where spans overlap, are nested or are empty."""

from collections.abc import Sequence
from typing import NamedTuple


class Replacement(NamedTuple):
    """A span, in code points, and what replaces it. `{}` in it is the text of the span."""

    start: int
    end: int
    text: str


def replace_spans(text: str, replacements: Sequence[Replacement]) -> str:
    """The text with its spans replaced.

    Spans are applied in the order of their starts. A span that begins inside another one is skipped, if it begins
    before the other ends; then only the first is replaced. An empty span makes Dolma's mixer lose the code point behind
    it and all spans after it, and so does this function.

    Args:
        text: any text.
        replacements: spans inside the text, in any order.

    >>> replace_spans("mail me@x.org now", [Replacement(5, 13, "|||EMAIL|||")])
    'mail |||EMAIL||| now'
    >>> replace_spans("abcdef", [Replacement(0, 4, "<{}>"), Replacement(2, 6, "-")])
    '<abcd>ef'
    """
    spans = sorted(replacements, key=lambda span: span.start)
    out: list[str] = []
    size, at, number, begin = len(text), 0, 0, 0
    while at < size and number < len(spans):
        span = spans[number]
        if at == span.start:
            begin = at
        if span.start <= at < span.end:
            at = min(span.end, size)
            continue
        if at == span.end:
            out.append(span.text.replace("{}", text[begin:at]))
            while number < len(spans) and spans[number].start < at:
                number += 1
        if number < len(spans) and spans[number].start == at:
            begin = at
            at += 1
            continue
        following = size if number == len(spans) else _next_span_edge(spans[number], at + 1, size)
        out.append(text[at:following])
        at = following
    out.append(text[at:])
    if number < len(spans):
        out.append(spans[number].text.replace("{}", text[begin:]))
    return "".join(out)


def _next_span_edge(span: Replacement, at: int, size: int) -> int:
    """The first place from `at` on where something happens."""
    if span.start < at < span.end:
        return at
    return min([edge for edge in (span.start, span.end) if edge >= at], default=size)
