"""LANGUAGE: the languages of each document, by fastText's model of 176 languages.

Source: Joulin et al. 2016, "Bag of Tricks for Efficient Text Classification". The model is
`gristmill/models/lid.176.ftz`; its origin and licence (CC BY-SA 3.0) are in the same folder. Labels and scores
are those of `fasttext.predict(line, k=3, threshold=0.01)`, bit for bit.
"""

from collections.abc import Sequence

from gristmill.formats.fasttext.lid176 import CODE_POINTS, CODES, DIGITS, LANGUAGES, LEAST, SHA256, languages_of
from gristmill.lake.rows.document import Document
from gristmill.recipes.batch import Batch, Scores
from gristmill.recipes.tagger import Score, Tagger


def tag(documents: Sequence[Document]) -> dict[str, Scores]:
    """A label for each of the three likeliest languages: the language's code, with its probability (0 to 1).

    Codes are the model's: ISO 639-1 (`en`) if there is one, else 639-3 (`ceb`). Languages below 0.01 are left out. A
    document without words has no label. Only the first 65,536 code points are read. A language with a probability over
    0.5 is the likeliest, so a rule needs no other label: `en > 0.5`.

    Raises:
        RecipeError: the model's file is missing, or is another.

    >>> labels = tag([Document(id="a", text="Once upon a time there was a mill by a slow river.", source="tales")])
    >>> labels["en"].tolist()[0] > 0.5
    True
    """
    batch = Batch.of(documents)
    labels: dict[str, dict[int, float]] = {}
    for place, found in enumerate(languages_of(batch.texts)):
        for code, probability in found:
            labels.setdefault(code, {})[place] = probability
    return batch.scored(labels)


LANGUAGE = Tagger(
    name="language-1",
    batch=tag,
    labels=tuple(
        Score(code, "probability of the language with this code", low=0, high=1, optional=True) for code in CODES
    ),
    parameters={
        "model": SHA256,
        "languages": LANGUAGES,
        "least": LEAST,
        "code_points": CODE_POINTS,
        "digits": DIGITS,
    },
    description="The likeliest languages by fastText's lid.176, each with its probability.",
    same_output=True,
    reason="batches and labels are arrays of numpy, and words are remembered: the scores have the same bits",
)
