"""Unicode repair: text that was decoded with a wrong encoding is decoded again, as far as that is certain."""

import re
from functools import cache
from typing import Any

from gristmill.lake.rows.document import Document
from gristmill.recipes.edits.transform import Transform

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
"""All but tabs, line feeds, form feeds and carriage returns. C1 controls are mostly quotes of Windows."""


@cache
def _settings() -> Any:
    """What ftfy repairs. Quotes, ligatures, wide letters, entities of HTML and line ends are no damage, and stay."""
    from ftfy import TextFixerConfig  # noqa: PLC0415 - takes 0.1 s to import

    return TextFixerConfig(
        unescape_html=False,
        fix_latin_ligatures=False,
        fix_character_width=False,
        uncurl_quotes=False,
        fix_line_breaks=False,
        normalization=None,
        explain=False,
    )


def repaired(document: Document) -> str:
    r"""The text as its author wrote it, and without control characters.

    Source: R. Speer, ftfy, 2019, doi:10.5281/zenodo.2591652.

    >>> repaired(Document(id="d1", source="web", text="The caf\u00c3\u00a9 â\x80\x9copensâ\x80\x9d\x07"))
    'The café “opens”'
    """
    text = document.text
    if text.isascii():  # nothing was decoded with a wrong encoding
        return _CONTROLS.sub("", text)
    from ftfy import fix_text  # noqa: PLC0415 - see above
    from ftfy.badness import is_bad  # noqa: PLC0415 - see above

    return fix_text(text, _settings()) if is_bad(text) or _CONTROLS.search(text) else text


UNICODE_REPAIR = Transform(
    name="unicode-repair-1",
    description="text that was decoded with a wrong encoding is repaired, and control characters are left out",
    document=repaired,
)
