"""LINES: the likeliest language of each line, and each language's share of a document, by fastText's lid.176.

Source: the form is that of OSCAR (github.com/oscar-project/ungoliant), which identifies lines, and by them documents.
"""

from collections.abc import Sequence
from typing import Any

from gristmill.formats.fasttext.language_lines import language_lines
from gristmill.formats.fasttext.lid176 import CODES, SHA256
from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Label, Score, Spans, Tagger
from gristmill.text.huge.limits import MOST_SPANS, TooManySpans

_DIGITS = 5


def tag(documents: Sequence[Document]) -> dict[str, Any]:
    r"""A span for each line under its likeliest language, and the share of code points that such lines have.

    Blank lines are left out. A line of which all languages are below 0.01 has no span, and counts for the share.

    >>> text = "The mill stands by the river.\nDie Mühle steht am Fluss."
    >>> labels = tag([Document(id="a", text=text, source="tales")])
    >>> [span[:2] for span in labels["de"][0]], labels["share_de"].tolist()
    ([(30, 55)], [0.46296])
    """
    found: dict[tuple[str, int], list[Span]] = {}
    lengths, counts = [0] * len(documents), [0] * len(documents)
    batch = Batch.of(documents)
    for line in language_lines(batch.texts, most=1):
        lengths[line.document] += line.end - line.start
        counts[line.document] += 1
        if counts[line.document] > MOST_SPANS:
            raise TooManySpans(line.languages[0][0] if line.languages else "share_*", line.document)
        for code, probability in line.languages:
            found.setdefault((code, line.document), []).append(Span(line.start, line.end, probability))
    labels: dict[str, list[Label]] = {}
    shares: dict[str, dict[int, float]] = {}
    for (code, document), spans in found.items():
        labels.setdefault(code, [None] * len(documents))[document] = spans
        share = sum(end - start for start, end, _ in spans) / lengths[document]
        shares.setdefault(f"share_{code}", {})[document] = round(share, _DIGITS)
    return {**labels, **batch.scored(shares)}


LINES = Tagger(
    name="language-lines-1",
    batch=tag,
    labels=(
        *(
            Spans(code, "each line of which this language is the likeliest", low=0, high=1, optional=True)
            for code in CODES
        ),
        *(
            Score(f"share_{code}", "share of code points in such lines, of all in lines", low=0, high=1, optional=True)
            for code in CODES
        ),
    ),
    parameters={"model": SHA256, "least": 0.01, "code_points": 65_536, "digits": _DIGITS},
    description="The likeliest language of each line by fastText's lid.176, and each language's share of the document.",
)
