"""PARAGRAPH_LENGTHS: how long each paragraph of a document is, as spans.

Source: char_length_with_paragraphs_v1, whitespace_tokenizer_with_paragraphs_v1 and uniseg_length_paragraphs_v1 of the
Dolma toolkit 1.2.1 (github.com/allenai/dolma, `taggers/length.py`, and `split_paragraphs` of `core/utils.py`).
"""

from typing import Any

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Spans, Tagger
from gristmill.text.column import TextColumn


def tag(batch: Batch) -> dict[str, Any]:
    r"""The labels: three spans for each paragraph: a line with more than white space. A paragraph has its line feed
    too.

    * `characters`: its code points.
    * `runs`: its runs of word characters and its runs of other marks.
    * `unicode_words`: the pieces of UAX #29 that are not white space.

    >>> from gristmill.lake.rows.document import Document
    >>> labels = tag(Batch([Document(id="a", text="Don't panic!\n\nBye", source="tales")]))
    >>> labels["runs"][0].tolist(), labels["unicode_words"][0].tolist()
    ([[0, 13, 5], [14, 17, 1]], [[0, 13, 3], [14, 17, 1]])
    """
    return batch.in_blocks(measured)


def measured(column: TextColumn) -> dict[str, Any]:
    """The labels of the texts of one column."""
    paragraphs = column.paragraphs
    heads, tails = column.words.edges(paragraphs.starts, paragraphs.ends)
    return {
        "characters": paragraphs.spans(paragraphs.lengths),
        "runs": paragraphs.spans(column.runs.count_in_stretches(paragraphs.starts, paragraphs.ends)),
        "unicode_words": paragraphs.spans(column.unicode_words.count_pieces_within(heads, tails, filled=True)),
    }


PARAGRAPH_LENGTHS = Tagger(
    name="paragraph-lengths-1",
    batch=tag,
    labels=(
        Spans("characters", "each paragraph, with its code points", unit="code points", low=1),
        Spans("runs", "each paragraph, with its runs of word characters and of other marks", unit="runs", low=0),
        Spans("unicode_words", "each paragraph, with its pieces of UAX #29 but white space", unit="words", low=0),
    ),
    parameters={"characters": "Unicode 14.0", "word_break": "Unicode 16.0"},
    description="Code points, runs and Unicode words of each paragraph, as spans.",
)
