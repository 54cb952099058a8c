"""Dolma's other rule taggers, label for label, with the mistakes of the original.

Source: github.com/allenai/dolma, release 1.2.1: `taggers/gopher.py`, `taggers/punctuation.py`, `taggers/sampling.py`.
"""

import re
from collections.abc import Mapping
from typing import cast

import msgspec

from gristmill.dolma.tagging.spans import DolmaLabels, DolmaSpan, Look, rename_labels, whole_text_spans
from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.batch import Batch
from gristmill.taggers.gopher import GOPHER
from gristmill.taggers.measures.random import RANDOM
from gristmill.taggers.quality.paragraphs import MARK_PARAGRAPHS
from gristmill.taggers.quality.repetitions import REPETITIONS

_LINE_FEEDS = re.compile("\n+")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def _tag_gopher_v2(batch: Batch) -> DolmaLabels:
    """As gopher_v1, but several line feeds are one: of empty lines, only those at both ends of a text count."""
    labels = dict(rename_labels(GOPHER)(batch))
    dense = Batch([msgspec.structs.replace(document, text=_LINE_FEEDS.sub("\n", document.text)) for document in batch])
    lines = {name: values for name, values in rename_labels(GOPHER)(dense).items() if "_lines" in name}
    lengths = batch.lengths.tolist()
    return labels | {
        name: [spans and [(0, n, spans[0][2])] for spans, n in zip(values, lengths, strict=True)]
        for name, values in lines.items()
    }


_STATISTICS = {
    "most_times": "doc_max_score_repetition",
    "longest": "doc_max_length_repetition",
    "share": "doc_frac_repetition",
}


def _tag_line_repetitions(batch: Batch) -> DolmaLabels:
    """Each line alone, with its line feed."""
    lines = [_LINE.findall(text) for text in batch.texts]
    flat = Batch([Document(id="", text=line, source="") for each in lines for line in each])
    found = iter(REPETITIONS.look(flat).get("repetitions", ()))
    rows: list[list[DolmaSpan]] = []
    for each in lines:
        row, begin = list[DolmaSpan](), 0
        for line in each:
            row += [(begin + start, begin + end, float(times)) for start, end, times in cast("list[Span]", next(found))]
            begin += len(line)
        rows.append(row)
    lengths = [[end - start for start, end, _ in row] for row in rows]
    numbers: dict[str, list[float | None]] = {
        "doc_max_score_repetition": [max((times for _, _, times in row), default=0.0) for row in rows],
        "doc_max_length_repetition": [max(each, default=0) for each in lengths],
        "doc_frac_repetition": [sum(each) / max(1, len(text)) for each, text in zip(lengths, batch.texts, strict=True)],
    }
    return {"repetition": [row or None for row in rows], **whole_text_spans(batch, numbers)}


def _tag_mark_paragraphs(batch: Batch) -> DolmaLabels:
    """Dolma gives a text without such paragraphs a span of score 0."""
    found = rename_labels(MARK_PARAGRAPHS)(batch)["paragraphs"]
    return {"all_punct": [spans or [(0, n, 0.0)] for spans, n in zip(found, batch.lengths.tolist(), strict=True)]}


RULE_TAGGERS: Mapping[str, Look] = {
    "gopher_v1": rename_labels(GOPHER),
    "gopher_v2": _tag_gopher_v2,
    "repetitions_v1": rename_labels(REPETITIONS, {"repetitions": "repetition", **_STATISTICS}),
    "paragraph_repetitions_v1": _tag_line_repetitions,
    "not_alphanum_paragraph_v1": _tag_mark_paragraphs,
    "random_number_v1": rename_labels(RANDOM, {"number": "random"}),
}
