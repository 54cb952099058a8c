"""Dolma's taggers of C4's rules and of personal data, label for label, with the mistakes of the original.

Source: github.com/allenai/dolma, release 1.2.1: `taggers/c4.py` (c4_v2), `taggers/pii.py` (FastPiiRegex).
"""

from collections.abc import Mapping

from gristmill.recipes.batch import Batch
from gristmill.stages.dolma_tagging.spans import DolmaLabels, DolmaSpan, Look, renamed, whole
from gristmill.taggers.pii import PII
from gristmill.taggers.quality.c4 import C4


def _c4_2(batch: Batch) -> DolmaLabels:
    """Dolma counts the offsets of lines in the lower case of the text, which may be longer."""
    moved = [len(text) != len(low) for text, low in zip(batch.texts, batch.lowered, strict=True)]
    return {
        label: [
            [(len(text[:start].lower()), len(text[:end].lower()), score) for start, end, score in spans]
            if spans and longer and label.startswith("lines_")
            else spans
            for spans, text, longer in zip(values, batch.texts, moved, strict=True)
        ]
        for label, values in renamed(C4)(batch).items()
    }


def _pii_fast(batch: Batch) -> DolmaLabels:
    """Dolma's share has the whole text too, because it takes the count for a span of it; of no text it is -1."""
    found = {name: spans for name, spans in renamed(PII)(batch).items() if name.isupper()}
    rows: list[list[DolmaSpan]] = [
        [span for spans in each for span in spans or ()] for each in zip(*found.values(), strict=True)
    ]
    counts = [float(len(row)) for row in rows]
    shares = [
        (sum(end - start for start, end, _ in row) + length) / length if length else -1.0
        for row, length in zip(rows, batch.lengths.tolist(), strict=True)
    ]
    return {**found, **whole(batch, {"doc_count": counts, "doc_frac": shares})}


WEB_TAGGERS: Mapping[str, Look] = {"c4_v2": _c4_2, "pii_regex_with_counts_fast_v2": _pii_fast}
