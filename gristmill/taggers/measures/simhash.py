"""SIMHASH: a fingerprint of 64 bits, by which near duplicates are found.

Source: Charikar 2002, "Similarity Estimation Techniques from Rounding Algorithms". The shingles are described in
gristmill/text/fingerprints/simhash.py.
"""

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger
from gristmill.text.fingerprints.simhash import SHINGLE, simhash

_HALF = 32
_MASK = (1 << _HALF) - 1


def tag(document: Document) -> dict[str, Label]:
    """The upper and the lower 32 bits, because a score is exact only below 2^53; none for a text of white space.

    `int(high) << 32 | int(low)` is the fingerprint.

    >>> sorted(tag(Document(id="a", text="  ", source="tales")))
    []
    """
    if document.text.isspace() or not document.text:
        return {}
    fingerprint = simhash(document.text)
    return {"high": float(fingerprint >> _HALF), "low": float(fingerprint & _MASK)}


SIMHASH = Tagger(
    name="simhash-1",
    document=tag,
    labels=(
        Score("high", "the upper 32 bits, as a whole number", low=0, high=_MASK, optional=True, exact=True),
        Score("low", "the lower 32 bits, as a whole number", low=0, high=_MASK, optional=True, exact=True),
    ),
    parameters={"shingle": SHINGLE},
    description="SimHash: a fingerprint of 64 bits that differs in few bits for similar texts.",
)
