"""COPYRIGHT: the notice or the block of comments that a file of code begins with.

Source: RedPajama-Data's filter of code, as `code_copyright_comments_v1` of the Dolma toolkit 1.2.1 has it
(`dolma/taggers/code/code_taggers.py`). Found is the same, and the score `doc` is equal. Spans of `comment_block`
differ: Dolma's leave out the line feeds after lines that are not empty, so they end within the block; ours cover it.
"""

import re

from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.tagger import Label, Score, Spans, Tagger

_COPYRIGHT = re.compile("copyright", re.IGNORECASE)
_COMMENTS = ("//", "#", "--")


def tag(document: Document) -> dict[str, Label]:
    r"""The text that would be stripped, as a span, and its share.

    * `copyright_notice`: the first comment between `/*` and `*/`, if it says copyright.
    * `comment_block`: only if there is no such comment: the lines at the beginning that are empty or begin with `//`,
      `#` or `--`.
    * `doc`: the share of the text that Dolma's span has, plus one code point; -1 for the empty text.

    >>> tag(Document(id="a", text="# Copyright Ada\n\nx = 1", source="code"))
    {'copyright_notice': [], 'comment_block': [Span(start=0, end=17, score=1.0)], 'doc': 0.7727272727272727}
    """
    text = document.text
    notice: list[Span] = []
    block: list[Span] = []
    covered = -1
    start = text.find("/*")
    end = text.find("*/", start + 2) + 2 if start >= 0 else 1
    if end > 1:
        if _COPYRIGHT.search(text, start, end):
            notice.append(Span(start, end, 1.0))
            covered = end - start
    else:
        end, covered = _leading_comment_block(text)
        if end and text:
            block.append(Span(0, end, 1.0))
    score = -1.0 if not text else (covered + 1) / len(text) if covered >= 0 else 0.0
    return {"copyright_notice": notice, "comment_block": block, "doc": score}


def _leading_comment_block(text: str) -> tuple[int, int]:
    """Where the comments at the beginning end, and how long they are for Dolma; 0 and -1 if there are none."""
    at, covered = 0, -1
    while at <= len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if end > at and not text.startswith(_COMMENTS, at):
            break
        covered = max(covered, 0) + max(end - at, 1)
        at = end + 1
    return min(at, len(text)), covered


COPYRIGHT = Tagger(
    name="code-copyright-1",
    document=tag,
    labels=(
        Spans("copyright_notice", "the first comment between `/*` and `*/`, if it says copyright", low=1, high=1),
        Spans("comment_block", "the lines of comments at the beginning, if there is no such comment", low=1, high=1),
        Score("doc", "share of the text in them; -1 for the empty text; it can exceed 1 by a code point", low=-1),
    ),
    parameters={"comments": list(_COMMENTS), "notice": "/* copyright */"},
    description="Copyright notices and comments at the beginning of code, as RedPajama strips them.",
)
