"""Dolma's taggers of C4's rules, label for label, with the mistakes of the original.

Source: github.com/allenai/dolma, release 1.2.1: `taggers/c4.py` (c4_v1, c4_v2).
"""

import re
from bisect import bisect_left
from collections.abc import Mapping

from gristmill.dolma.tagging.spans import DolmaLabels, Look, rename_labels
from gristmill.recipes.batch import Batch
from gristmill.taggers.quality.c4 import C4

_LONGER = re.compile("İ")  # the one character whose lower case is longer


def _tag_c4_v1(batch: Batch) -> DolmaLabels:
    """Only the word javascript counts, not a part of another word."""
    labels = dict(rename_labels(C4)(batch))
    labels["has_javascript"] = [
        spans if spans and "javascript" in text.lower().split() else None
        for spans, text in zip(labels["has_javascript"], batch.texts, strict=True)
    ]
    return labels


def _tag_c4_v2(batch: Batch) -> DolmaLabels:
    """Dolma counts the offsets of lines in the lower case of the text, where each `İ` is one code point longer."""
    longer = [[found.start() for found in _LONGER.finditer(text)] for text in batch.texts]
    return {
        label: [
            [(start + bisect_left(places, start), end + bisect_left(places, end), score) for start, end, score in spans]
            if spans and places and label.startswith("lines_")
            else spans
            for spans, places in zip(values, longer, strict=True)
        ]
        for label, values in rename_labels(C4)(batch).items()
    }


WEB_TAGGERS: Mapping[str, Look] = {"c4_v1": _tag_c4_v1, "c4_v2": _tag_c4_v2}
