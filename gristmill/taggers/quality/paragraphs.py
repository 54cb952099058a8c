"""MARK_PARAGRAPHS: paragraphs of marks and pictograms alone.

Source: not_alphanum_paragraph_v1 of the Dolma toolkit 1.2.1 (github.com/allenai/dolma, `taggers/punctuation.py`).
"""

from typing import Any

import numpy as np

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Spans, Tagger
from gristmill.text.column import TextColumn
from gristmill.text.unicode.tables import EMOJI, MARK, SPACE, character_flags, look_up_flags


def tag(batch: Batch) -> dict[str, Any]:
    r"""A span for each paragraph of marks: a line, with its line feed, without any letter or digit.

    All its code points are punctuation, symbols, white space or pictograms of four blocks of Unicode, and some are not
    white space. A combining mark alone is none of them. The spans are those of Dolma; where there are none, Dolma has
    one of score 0 over the whole text, and this tagger the empty list.

    >>> from gristmill.lake.rows.document import Document
    >>> tag(Batch([Document(id="a", text="* * *\nOne.\n\n\U0001f600!", source="tales")]))["paragraphs"]
    [array([[ 0,  6,  1],
           [12, 14,  1]])]
    """
    return batch.in_blocks(measured)


def measured(column: TextColumn) -> dict[str, Any]:
    """The labels of the texts of one column."""
    paragraphs = column.paragraphs
    (others,) = np.nonzero((look_up_flags(column.points.units, character_flags()) & (MARK | SPACE | EMOJI)) == 0)
    inside = np.searchsorted(others, paragraphs.ends) - np.searchsorted(others, paragraphs.starts)
    return {"paragraphs": paragraphs.only(inside == 0).marks()}


MARK_PARAGRAPHS = Tagger(
    name="mark-paragraphs-1",
    batch=tag,
    labels=(Spans("paragraphs", "each paragraph of marks and pictograms alone", low=1, high=1),),
    parameters={"characters": "Unicode 14.0"},
    description="Paragraphs of marks alone, as Dolma's not_alphanum_paragraph_v1 has them.",
)
