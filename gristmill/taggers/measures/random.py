"""RANDOM: a number for each document, by the hash of its source and id. It draws samples and divides corpora.

Dolma's random_number_v1 gives another number at each run; this one is always the same.
"""

from collections.abc import Sequence

from gristmill.lake.rows.document import Document
from gristmill.lake.rows.draw import draw_fraction
from gristmill.recipes.tagger import Score, Tagger

_SEED = 1


def tag(documents: Sequence[Document]) -> dict[str, list[float]]:
    """The label `number`: from 0 to below 1, evenly distributed. It does not depend on the text.

    Documents with a number below 0.1 are a tenth of all; those below 0.05 are half of that tenth. The numbers are not
    those by which a mix draws at a rate.

    >>> tag([Document(id="d1", text="any", source="wiki")])["number"][0] < 1
    True
    """
    return {"number": [draw_fraction((document.source, document.id), _SEED) for document in documents]}


RANDOM = Tagger(
    name="random-1",
    batch=tag,
    labels=(Score("number", "hash of source and id, as a share of all hashes", low=0, high=1, exact=True),),
    parameters={"hash": "xxh3-64", "seed": _SEED},
    description="A random number from 0 to below 1, always the same for a document.",
)
