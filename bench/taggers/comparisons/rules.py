"""One pass of the rule taggers that Dolma has too, against one `dolma tag`. Each is compared as in its own row.

Left out: repetitions_v1, on which the original hangs; code_secrets_v1, which finds something else than ours; and in the
first row Dolma's taggers of Unicode words, which alone take longer than all others together.
"""

from collections.abc import Sequence

from bench.taggers.comparison import Attributes, Comparison
from bench.taggers.comparisons.c4 import C4
from bench.taggers.comparisons.gopher import GOPHER
from bench.taggers.comparisons.lengths import (
    LENGTHS,
    PARAGRAPHS,
    UNICODE_LENGTHS,
    UNICODE_PARAGRAPHS,
    UNISEG_MB,
)
from bench.taggers.comparisons.others import OTHERS
from bench.taggers.comparisons.pii import PII


def _of(attributes: Attributes, taggers: Sequence[str]) -> Attributes:
    return {key: spans for key, spans in attributes.items() if key.rpartition("__")[0] in taggers}


def together(name: str, rows: Sequence[Comparison], most_mb: int | None = None) -> Comparison:
    """The row of all taggers of some rows, whose labels are compared under the names of the row and the label.

    Args:
        name: of the new row.
        rows: those that it takes together.
        most_mb: of the new row.
    """

    def ours(attributes: Attributes) -> Attributes:
        return {
            f"{row.name}:{key}": spans for row in rows for key, spans in row.ours(_of(attributes, row.sets)).items()
        }

    def theirs(attributes: Attributes) -> Attributes:
        return {
            f"{row.name}:{key}": spans
            for row in rows
            for key, spans in row.theirs(_of(attributes, tuple(row.peer))).items()
        }

    return Comparison(
        name=name,
        modules=tuple(module for row in rows for module in row.modules),
        sets=tuple(each for row in rows for each in row.sets),
        peer=tuple(each for row in rows for each in row.peer),
        bar=15.0,
        ours=ours,
        theirs=theirs,
        most_mb=most_mb,
    )


_EACH = (GOPHER, C4, PII, OTHERS)
RULES = together("rules", (LENGTHS, PARAGRAPHS, *_EACH))
UNICODE_RULES = together("unicode-rules", (UNICODE_LENGTHS, UNICODE_PARAGRAPHS, *_EACH), UNISEG_MB)
