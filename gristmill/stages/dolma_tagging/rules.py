"""Dolma's other rule taggers, label for label, with the mistakes of the original.

Source: github.com/allenai/dolma, release 1.2.1: `taggers/gopher.py`, `taggers/punctuation.py`, `taggers/sampling.py`.
"""

import re
from collections.abc import Mapping

import msgspec

from gristmill.recipes.batch import Batch
from gristmill.stages.dolma_tagging.spans import DolmaLabels, Look, renamed
from gristmill.taggers.gopher import GOPHER
from gristmill.taggers.measures.random import RANDOM
from gristmill.taggers.quality.paragraphs import MARK_PARAGRAPHS

_LINE_FEEDS = re.compile("\n+")


def _gopher_2(batch: Batch) -> DolmaLabels:
    """As gopher_v1, but several line feeds are one: of empty lines, only those at both ends of a text count."""
    labels = dict(renamed(GOPHER)(batch))
    dense = Batch([msgspec.structs.replace(document, text=_LINE_FEEDS.sub("\n", document.text)) for document in batch])
    lines = {name: values for name, values in renamed(GOPHER)(dense).items() if "_lines" in name}
    lengths = batch.lengths.tolist()
    return labels | {
        name: [spans and [(0, n, spans[0][2])] for spans, n in zip(values, lengths, strict=True)]
        for name, values in lines.items()
    }


def _marks(batch: Batch) -> DolmaLabels:
    """Dolma gives a text without such paragraphs a span of score 0."""
    found = renamed(MARK_PARAGRAPHS)(batch)["paragraphs"]
    return {"all_punct": [spans or [(0, n, 0.0)] for spans, n in zip(found, batch.lengths.tolist(), strict=True)]}


RULE_TAGGERS: Mapping[str, Look] = {
    "gopher_v1": renamed(GOPHER),
    "gopher_v2": _gopher_2,
    "not_alphanum_paragraph_v1": _marks,
    "random_number_v1": renamed(RANDOM, {"number": "random"}),
}
