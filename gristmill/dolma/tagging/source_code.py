"""Dolma's taggers of source code, label for label, with the mistakes of the original.

Source: github.com/allenai/dolma, release 1.2.1: `taggers/code/code_taggers.py`.
"""

from collections.abc import Mapping

from gristmill.dolma.tagging.spans import DolmaLabels, DolmaSpan, Look, rename_labels
from gristmill.recipes.batch import Batch
from gristmill.taggers.code.copyright import COPYRIGHT
from gristmill.taggers.code.redpajama import REDPAJAMA_CODE


def _tag_copyright(batch: Batch) -> DolmaLabels:
    """Dolma's block leaves out the line feeds after lines that are not empty; the empty text has a block of one."""
    labels = rename_labels(COPYRIGHT)(batch)
    blocks: list[list[DolmaSpan] | None] = [
        [(0, _without_line_feeds(text, spans[0][1] if spans else 0), 1.0)] if spans or not text else None
        for spans, text in zip(labels["comment_block"], batch.texts, strict=True)
    ]
    return {**labels, "comment_block": blocks}


def _without_line_feeds(text: str, end: int) -> int:
    lines = text[:end].split("\n")
    if end < len(text):
        lines.pop()  # what follows the last line feed is not of the block
    return sum(len(line) or 1 for line in lines)


CODE_TAGGERS: Mapping[str, Look] = {
    "code_copyright_comments_v1": _tag_copyright,
    "code_redpajama_taggers_v1": rename_labels(REDPAJAMA_CODE),
}
