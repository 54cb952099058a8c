"""PARAGRAPHS: the languages of each paragraph, and of a document by its paragraphs, by fastText's lid.176.

Source: the Dolma toolkit 1.2.1 (github.com/allenai/dolma), `python/dolma/taggers/language.py`: paragraphs as
`FastTextAllLanguageParagraphTagger` (`ft_lang_id_paragraph_v1`) takes them, with the document's score of
`add_global_language_score_from_slice_score`. Dolma reads lid.176.bin and keeps all 176 languages. Here lid.176.ftz is
read, and the three likeliest languages are kept, those below 0.01 left out.
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
    r"""A span for each paragraph and each of its three likeliest languages, and a score of each such language.

    A paragraph is a line with its line feed; blank ones are left out. The document's score is the sum of length times
    probability of its paragraphs, divided by its length.

    >>> text = "The mill stands by the river.\nDie Mühle steht am Fluss."
    >>> labels = tag([Document(id="a", text=text, source="tales")])
    >>> [span[:2] for span in labels["en"][0]], bool(labels["doc_en"][0] > 0.4)
    ([(0, 30)], True)
    """
    batch = Batch.of(documents)
    texts = batch.texts
    found: dict[tuple[str, int], list[Span]] = {}
    counts = [0] * len(documents)
    for line in language_lines(texts):
        end = min(line.end + 1, len(texts[line.document]))  # with its line feed
        for code, probability in line.languages:
            counts[line.document] += 1
            if counts[line.document] > MOST_SPANS:
                raise TooManySpans(code, line.document)
            found.setdefault((code, line.document), []).append(Span(line.start, end, probability))
    labels: dict[str, list[Label]] = {}
    scores: dict[str, dict[int, float]] = {}
    for (code, document), spans in found.items():
        labels.setdefault(code, [None] * len(documents))[document] = spans
        share = sum((end - start) * probability for start, end, probability in spans) / len(texts[document])
        scores.setdefault(f"doc_{code}", {})[document] = min(round(share, _DIGITS), 1.0)
    return {**labels, **batch.scored(scores)}


PARAGRAPHS = Tagger(
    name="language-paragraphs-1",
    batch=tag,
    labels=(
        *(Spans(code, "each paragraph that may be in this language", low=0, high=1, optional=True) for code in CODES),
        *(
            Score(f"doc_{code}", "sum of length times probability, divided by length", low=0, high=1, optional=True)
            for code in CODES
        ),
    ),
    parameters={"model": SHA256, "languages": 3, "least": 0.01, "code_points": 65_536, "digits": _DIGITS},
    description="The likeliest languages of each paragraph by fastText's lid.176, and of the document by them.",
)
