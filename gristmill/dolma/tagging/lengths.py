"""Dolma's length taggers, label for label.

Source: github.com/allenai/dolma, release 1.2.1, `taggers/length.py`. Its whitespace_tokenizer_v1 counts the stretches
between tokens, which are one more than the tokens; that is kept here.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.dolma.tagging.spans import (
    DolmaLabels,
    DolmaSpan,
    Look,
    document_spans,
    measure_documents,
    whole_text_spans,
)
from gristmill.recipes.batch import Batch
from gristmill.text.code_points import Numbers
from gristmill.text.column import TextColumn
from gristmill.text.utf8 import utf8_size

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def _tag_characters(batch: Batch) -> DolmaLabels:
    return whole_text_spans(batch, {"length": batch.lengths.tolist()})


def _tag_stripped_characters(batch: Batch) -> DolmaLabels:
    return whole_text_spans(batch, {"length_no_ws": [len(text.strip()) for text in batch.texts]})


def _tag_bytes(batch: Batch) -> DolmaLabels:
    return whole_text_spans(batch, {"bytes": map(utf8_size, batch.texts)})


def _tag_documents(batch: Batch) -> DolmaLabels:
    return whole_text_spans(batch, {"docs": [1.0] * len(batch)})


def _tag_whitespace_words(batch: Batch) -> DolmaLabels:
    return whole_text_spans(batch, {"length": measure_documents(batch, lambda column: column.runs.counts + 1)})


def _tag_unicode_words(batch: Batch) -> DolmaLabels:
    def count(column: TextColumn) -> Numbers:
        bounds = column.points.bounds
        return column.unicode_words.count_pieces_within(*column.words.edges(bounds[:-1], bounds[1:] - 1))

    return whole_text_spans(batch, {"length": measure_documents(batch, count)})


def _tag_paragraph_characters(batch: Batch) -> DolmaLabels:
    found = document_spans(batch, lambda column: column.paragraphs.spans(column.paragraphs.lengths))
    return {"paragraph": found, **whole_text_spans(batch, {"document": batch.lengths.tolist()})}


def _tag_paragraph_runs(batch: Batch) -> DolmaLabels:
    def of(column: TextColumn) -> Numbers:
        return column.runs.count_in_stretches(column.paragraphs.starts, column.paragraphs.ends) + 1

    found = document_spans(batch, lambda column: column.paragraphs.spans(of(column)))
    return {
        "paragraph": found,
        **whole_text_spans(batch, {"document": [sum(s for _, _, s in each or ()) for each in found]}),
    }


def _tag_paragraph_pieces(batch: Batch) -> DolmaLabels:
    def of(column: TextColumn) -> list[NDArray[Any]]:
        paragraphs = column.paragraphs
        heads, tails = column.words.edges(paragraphs.starts, paragraphs.ends)
        return paragraphs.spans(column.unicode_words.count_pieces_within(heads, tails, filled=True))

    found = document_spans(batch, of)
    negative = [each and [(start, end, -score) for start, end, score in each] for each in found]
    return {"paragraph": found, "negative_paragraph": negative}


def _piece_paragraphs_and_document(batch: Batch) -> DolmaLabels:
    labels = _tag_paragraph_pieces(batch)
    sums = np.array([sum(score for _, _, score in each or ()) for each in labels["paragraph"]], np.float64)
    return {
        **labels,
        **whole_text_spans(batch, {"document": sums.tolist(), "negative_document": (0.0 - sums).tolist()}),
    }


def _piece_paragraphs_with_empty(batch: Batch) -> DolmaLabels:
    """Each line has spans, an empty one of length 0."""
    found: list[list[DolmaSpan] | None] = []
    for filled, text in zip(_tag_paragraph_pieces(batch)["paragraph"], batch.texts, strict=True):
        lengths = {start: score for start, _, score in filled or ()}
        lines = (line.span() for line in _LINE.finditer(text))
        found.append([(start, end, lengths.get(start, 0.0)) for start, end in lines] or None)
    negative = [each and [(start, end, 0.0 - score) for start, end, score in each] for each in found]
    return {"paragraph": found, "negative_paragraph": negative}


LENGTH_TAGGERS: Mapping[str, Look] = {
    "char_length_v1": _tag_characters,
    "char_length_strip_ws_v1": _tag_stripped_characters,
    "bytes_length_v1": _tag_bytes,
    "doc_count_v1": _tag_documents,
    "whitespace_tokenizer_v1": _tag_whitespace_words,
    "uniseg_length_v1": _tag_unicode_words,
    "char_length_with_paragraphs_v1": _tag_paragraph_characters,
    "whitespace_tokenizer_with_paragraphs_v1": _tag_paragraph_runs,
    "uniseg_length_paragraphs_v1": _tag_paragraph_pieces,
    "uniseg_length_paragraphs_with_doc_length_v1": _piece_paragraphs_and_document,
    "uniseg_length_paragraphs_with_empty_v1": _piece_paragraphs_with_empty,
}
