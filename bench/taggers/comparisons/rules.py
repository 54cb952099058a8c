"""One pass of the rule taggers that Dolma has too, against one `dolma tag`. Each is compared as in its own row."""

from bench.taggers.comparison import Attributes, Comparison
from bench.taggers.comparisons.c4 import C4
from bench.taggers.comparisons.gopher import GOPHER
from bench.taggers.comparisons.lengths import LENGTHS
from bench.taggers.comparisons.pii import PII

_EACH = (LENGTHS, GOPHER, C4, PII)


def _of(attributes: Attributes, taggers: tuple[str, ...]) -> Attributes:
    return {key: spans for key, spans in attributes.items() if key.rpartition("__")[0] in taggers}


def ours(attributes: Attributes) -> Attributes:
    """The attributes of all our sets, in the form of their rows.

    >>> ours({"gopher-1__word_count": [[0, 4, 1.0]], "pii-1__doc_count": [[0, 4, 0.0]], "pii-1__share": [[0, 4, 0.0]]})
    {'word_count': [[0, 4, 1.0]], 'doc_count': [[0, 4, 0.0]]}
    """
    return {key: spans for each in _EACH for key, spans in each.ours(_of(attributes, tuple(each.sets))).items()}


def theirs(attributes: Attributes) -> Attributes:
    """The same for Dolma's."""
    return {key: spans for each in _EACH for key, spans in each.theirs(_of(attributes, tuple(each.peer))).items()}


RULES = Comparison(
    name="rules",
    modules=tuple(module for each in _EACH for module in each.modules),
    sets=tuple(name for each in _EACH for name in each.sets),
    peer=tuple(name for each in _EACH for name in each.peer),
    bar=15.0,
    ours=ours,
    theirs=theirs,
)
