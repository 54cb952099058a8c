"""Dolma's taggers of personal data, label for label, with the mistakes of the original.

Source: github.com/allenai/dolma, release 1.2.1: `taggers/pii.py` (FastPiiRegex, BasePiiFilter and its heirs). The
fast one looks at each line alone. The others look at the whole text, where a span may begin in the lines before.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import re2

from gristmill.dolma.tagging.spans import DolmaLabels, DolmaSpan, Look, rename_labels, whole_text_spans
from gristmill.errors import DataError
from gristmill.recipes.batch import Batch
from gristmill.taggers.pii import KINDS, PII, addresses, numbers

_WINDOW = 100
"""Code points on both sides of a number that are looked at."""
_NUMBERED = ("isbn", "doi", "#")
"""What is near a number that is not personal."""

_QUESTIONS = 10_000
"""In a text with more question marks the fast tagger finds nothing."""

_BACKSPACE = "\b"
_SPACES = "".join(f"\\x{{{code:x}}}" for code in range(0x3001) if chr(code).isspace())
_IN_BRACKETS = rf"\((?:[^{_SPACES}()<>]+|\([^{_SPACES}()<>]+\))*\)"
_URL = (
    rf"(?i)\x08(?:https?://|www\p{{Nd}}{{0,3}}[.]|[a-z0-9.\x{{130}}\x{{131}}-]+[.][a-z\x{{130}}\x{{131}}]{{2,4}}/)"
    rf"(?:[^{_SPACES}()<>]+|{_IN_BRACKETS})+(?:{_IN_BRACKETS}|[^{_SPACES}`!()\[\]{{}};:'\x22.,<>?«»“”\x{{2018}}\x{{2019}}])"
)
"""A web address after a backspace: Dolma writes `\\b` where it means the bound of a word."""


def _tag_spans_only(batch: Batch) -> DolmaLabels:
    """Dolma's share has the whole text too, because it takes the count for a span of it; of no text it is -1."""
    skipped = [text.count("?") > _QUESTIONS for text in batch.texts]
    found = {
        name: [None if skip else each for each, skip in zip(spans, skipped, strict=True)]
        for name, spans in rename_labels(PII)(batch).items()
        if name.isupper()
    }
    rows: list[list[DolmaSpan]] = [
        [span for spans in each for span in spans or ()] for each in zip(*found.values(), strict=True)
    ]
    counts = [float(len(row)) for row in rows]
    shares = [
        (sum(end - start for start, end, _ in row) + length) / length if length else -1.0
        for row, length in zip(rows, batch.lengths.tolist(), strict=True)
    ]
    return {**found, **whole_text_spans(batch, {"doc_count": counts, "doc_frac": shares})}


def _tag_version_1(batch: Batch) -> DolmaLabels:
    """Dolma divides by the number of words, and stops at a text without one."""
    for document in batch:
        if not document.text.split():
            raise DataError(f"document {document.id!r} has no words, and Dolma stops there; take pii_regex_v2 instead")
    return _tag_version_2(batch)


def _tag_version_2(batch: Batch) -> DolmaLabels:
    rows = [_find_personal_data(text) for text in batch.texts]
    words = [len(text.split()) for text in batch.texts]
    counts = [sum(map(len, row.values())) for row in rows]
    shares = [count / each if each else -1.0 for count, each in zip(counts, words, strict=True)]
    return {**{name: [row[name] or None for row in rows] for name in KINDS}, **whole_text_spans(batch, {"doc": shares})}


def _tag_counts(batch: Batch) -> DolmaLabels:
    labels = _tag_version_1(batch)
    counts = [sum(len(spans or ()) for spans in row) for row in zip(*(labels[name] for name in KINDS), strict=True)]
    return {**labels, **whole_text_spans(batch, {"doc_count": counts})}


def _find_personal_data(text: str) -> dict[str, list[DolmaSpan]]:
    """The spans of a text, without those that Dolma takes for something else."""
    plain = text.replace("\n", "\t")  # a tab is white space that ends no line
    emails = [(start, end, 1.0) for start, end, *_ in addresses(plain) if _is_address(text[start:end])]
    phones, ips = (
        [(start, end, 1.0) for start, end, _ in found if not _is_numbered(text, start, end)] for found in numbers(plain)
    )
    return dict(zip(KINDS, (emails, [] if _has_url(text) else phones, ips), strict=True))


def _is_address(mention: str) -> bool:
    """Dolma divides at the first `@` of the span, which may be one of the marks before the address."""
    name, domain = mention.split("@")[:2]
    return name.strip() != "(" and "." in domain


def _is_numbered(text: str, start: int, end: int) -> bool:
    context = text[max(0, start - _WINDOW) : end + _WINDOW]
    return any(word in context for word in _NUMBERED)


def _has_url(text: str) -> bool:
    return _BACKSPACE in text and bool(_linear_url_expression().search(text.encode("utf-8", "surrogatepass")))


@cache
def _linear_url_expression() -> Any:
    """Dolma's expression in linear time."""
    return re2.compile(_URL)


PERSONAL_TAGGERS: Mapping[str, Look] = {
    "pii_regex_with_counts_fast_v2": _tag_spans_only,
    "pii_regex_v1": _tag_version_1,
    "pii_regex_v2": _tag_version_2,
    "pii_regex_with_counts_v2": _tag_counts,
}
