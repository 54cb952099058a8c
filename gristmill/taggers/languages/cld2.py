"""CLD2: a second opinion on the languages of each document, by Google's Compact Language Detector 2.

Source: github.com/CLD2Owners/cld2, through the package pycld2 0.42 (extra `cld2`). The Dolma toolkit's `cld2_doc_v2`
differs: it lets CLD2 take the text for HTML and skip what stands in angle brackets, leaves out what is not reliable,
and cuts codes to two letters.
"""

import re
from functools import cache
from typing import Any

import numpy as np

from gristmill.extras import extra, needs
from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.tagger import Label, Score, Spans, Tagger

_CODE_POINTS = 65_536
_UNKNOWN = "un"

_REFUSED = re.compile(
    "[\\0-\\x08\\x0b\\x0e-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\ufdd0-\\ufdef"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(17))
    + "]"
)
"""What pycld2 raises for: controls, lone surrogates, and what is no character."""


def tag(document: Document) -> dict[str, Label]:
    """The languages, up to three, with their shares, whether CLD2 finds them reliable, and where each language stands.

    Codes are CLD2's: mostly ISO 639-1, with `iw` for Hebrew, `jw` for Javanese and `zh-Hant`. Only the first 65,536
    code points are read. Characters that CLD2 refuses are read as spaces.

    Raises:
        RecipeError: the package pycld2 is missing.

    >>> text = "The mill stands by the river, and its wheel turns in the stream all day. " * 3
    >>> labels = tag(Document(id="a", text=text, source="tales"))
    >>> labels["reliable"], labels["share_en"]
    (1.0, 0.99)
    """
    detector = engine()
    text = document.text[:_CODE_POINTS]
    try:
        found = detector.detect(text, isPlainText=True, returnVectors=True)
    except (detector.error, UnicodeEncodeError):
        text = _REFUSED.sub(" ", text)
        found = detector.detect(text, isPlainText=True, returnVectors=True)
    reliable, _, shares, stretches = found
    labels: dict[str, Label] = {"reliable": float(reliable)}
    labels.update({f"share_{code}": percent / 100 for _, code, percent, _ in shares if code != _UNKNOWN and percent})
    labels.update(_language_spans(text, stretches))
    return labels


def _language_spans(text: str, stretches: Any) -> dict[str, Label]:
    """The stretches of each language, whose bytes are counted as code points."""
    spans: dict[str, list[Span]] = {}
    known = [(start, start + size, code) for start, size, _, code in stretches if code != _UNKNOWN]
    raw = np.frombuffer(text.encode(), np.uint8)
    (characters,) = np.nonzero((raw & 0xC0) != 0x80)
    edges = np.searchsorted(characters, [edge for start, end, _ in known for edge in (start, end)]).tolist()
    for start, end, (_, _, code) in zip(edges[::2], edges[1::2], known, strict=True):
        spans.setdefault(f"in_{code}", []).append(Span(start, end, 1.0))
    return dict(spans)


@cache
def engine() -> Any:
    """The package pycld2.

    Raises:
        RecipeError: it is missing.
    """
    with extra():
        import pycld2  # noqa: PLC0415 - an extra
    return pycld2


CLD2 = Tagger(
    name="cld2-1",
    document=tag,
    labels=(
        Score("reliable", "1 if CLD2 finds its answer reliable", low=0, high=1),
        Score("share_*", "share of the text that is in the language with this code", low=0, high=1, optional=True),
        Spans("in_*", "each stretch of text in the language with this code", low=1, high=1, optional=True),
    ),
    parameters={"engine": "pycld2 0.42", "code_points": _CODE_POINTS},
    needs=needs("pycld2"),
    description="Up to three languages by CLD2, with their shares and where they stand: a second opinion.",
)
