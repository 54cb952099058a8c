"""OSCAR_ANNOTATIONS: OSCAR's quality warnings, computed from the text, and what a release says beyond them.

Source: oscar-project/ungoliant (b26f11d9b28e25ab72999356b9a91d38a6535e04), `src/transformers`: tiny.rs,
content_detector.rs, header.rs, noisy.rs and their default thresholds. The documentation of 22.01 gives some of them in
bytes; those of the code are used, and reproduce the real annotations.
"""

import unicodedata
from functools import cache
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from gristmill.lake.rows.document import Document
from gristmill.readers.oscar.identifications import line_spans
from gristmill.recipes.tagger import Label, Score, Tagger
from gristmill.text.unicode.assigned import assigned

_TINY = 5  # lines
_SHORT = 100  # code points for short_sentences, bytes for header and footer
_EDGE = 5  # the first and last fifth of the lines are header and footer
_CODE_POINTS = 0x110000


def tag(document: Document) -> dict[str, Label]:
    r"""The quality warnings of OSCAR: 1 or 0 for each, whatever the document's metadata say.

    Lines are split at LF alone, as for identifications; n is their number.

    * `tiny`: fewer than 5 lines.
    * `short_sentences`: more than half of the lines (of n - 1, if n is odd) have at most 100 code points.
    * `header`, `footer`: more than half of the first, or last, n/5 lines, rounded down, have fewer than 100 bytes.
    * `noisy`: more than half of the code points are neither letters nor marks.

    From the metadata of documents that have them, as 23.01 does: `harmful_pp`, `has_tlsh` and `category_<name>`.

    >>> labels = tag(Document(id="a", text="1\n2\n3\n", source="s"))
    >>> [name for name, label in labels.items() if label]
    ['tiny', 'short_sentences', 'noisy']
    """
    text = document.text
    lines = [text[start:end] for start, end in line_spans(text)]
    n, edge = len(lines), len(lines) // _EDGE
    warnings = {
        "tiny": n < _TINY,
        "short_sentences": sum(len(line) <= _SHORT for line in lines) > n // 2,
        "header": _short(lines[:edge]) > edge // 2,
        "footer": _short(lines[n - edge :]) > edge // 2,
        "noisy": len(text) - _letters(text) > len(text) // 2,
    }
    return {name: float(warned) for name, warned in warnings.items()} | _adopted(document)


def _short(lines: list[str]) -> int:
    """How many lines have fewer than 100 bytes."""
    return sum(len(line) < _SHORT and len(line.encode("utf-8", "surrogatepass")) < _SHORT for line in lines)


def _letters(text: str) -> int:
    """How many code points are letters or marks (categories L and M)."""
    if text.isascii():
        return int(_kinds()[np.frombuffer(text.encode(), np.uint8)].sum())
    return int(_kinds()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")].sum())


@cache
def _kinds() -> NDArray[np.bool_]:
    """For each code point whether it is a letter or a mark. It takes a tenth of a second, once per process."""
    category = unicodedata.category
    kinds = np.fromiter((category(chr(code))[0] in "LM" for code in range(_CODE_POINTS)), np.bool_, _CODE_POINTS)
    return kinds & assigned()


def _adopted(document: Document) -> dict[str, Label]:
    """What the metadata of an OSCAR document say beyond quality warnings."""
    metadata = document.metadata if isinstance(document.metadata, dict) else {}
    oscar = metadata.get("oscar")
    if not isinstance(oscar, dict):
        return {}
    labels: dict[str, Label] = {}
    perplexity = oscar.get("harmful_pp")
    if isinstance(perplexity, int | float):
        labels["harmful_pp"] = perplexity
    if "tlsh" in oscar:
        labels["has_tlsh"] = float(oscar["tlsh"] is not None)
    for category in oscar.get("categories") or ():
        labels[f"category_{quote(category)}"] = 1.0
    return labels


OSCAR_ANNOTATIONS = Tagger(
    name="oscar-annotations-1",
    document=tag,
    labels=(
        Score("tiny", "1 if it has fewer than 5 lines", low=0, high=1),
        Score("short_sentences", "1 if more than half of its lines have at most 100 code points", low=0, high=1),
        Score("header", "1 if more than half of its first fifth of lines have fewer than 100 bytes", low=0, high=1),
        Score("footer", "1 if more than half of its last fifth of lines have fewer than 100 bytes", low=0, high=1),
        Score("noisy", "1 if more than half of its code points are neither letters nor marks", low=0, high=1),
        Score(
            "harmful_pp",
            "perplexity by a model of harmful text, of the release; a low one is a bad sign",
            optional=True,
            exact=True,
        ),
        Score(
            "has_tlsh",
            "1 if the release gives a TLSH hash, which is in `metadata.oscar.tlsh`; 0 if it is null",
            low=0,
            high=1,
            optional=True,
        ),
        Score("category_*", "1 if the release lists its URL under this category", low=0, high=1, optional=True),
    ),
    only=frozenset({"oscar*"}),
    parameters={"tiny": _TINY, "short": _SHORT, "edge": _EDGE},
    description="OSCAR's quality warnings, computed with its thresholds, and its categories.",
)
