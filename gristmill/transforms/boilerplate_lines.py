"""Lines of web pages that are no part of their text: notes on cookies, rights and logins, buttons, navigation."""

import re

from gristmill.lake.rows.document import Document
from gristmill.recipes.edits.transform import Drop, Transform

_MOST_WORDS = 20
"""A longer line may be a sentence about such things, and stays."""
_PHRASES = (
    "accept all cookies", "all rights reserved", "back to top", "by continuing to use", "click here", "cookie policy",
    "cookie settings", "enable javascript", "follow us on", "forgot your password", "javascript is disabled",
    "leave a comment", "log in", "privacy policy", "read more", "share on", "share this", "sign in", "sign up",
    "skip to content", "skip to main content", "subscribe to our newsletter", "terms of service", "terms of use",
    "this site uses cookies", "this website uses cookies", "use of cookies", "we use cookies",
)  # fmt: skip
_BOILERPLATE = re.compile("|".join(rf"\b{re.escape(phrase)}\b" for phrase in _PHRASES), re.IGNORECASE)
_NAVIGATION = re.compile("[|\u00bb\u203a\u2022\u00b7]")
_LEAST_LINKS = 3


def without_boilerplate(document: Document) -> str | Drop:
    r"""The text without such lines.

    >>> text = "Home | News | About | Contact\nThe river rose.\nWe use cookies. Accept all cookies"
    >>> without_boilerplate(Document(id="d1", source="web", text=text))
    'The river rose.'
    """
    lowered = document.text.lower()
    if not any(phrase in lowered for phrase in _PHRASES) and not _NAVIGATION.search(lowered):
        return document.text  # most texts
    lines = document.text.split("\n")
    kept = [line for line in lines if not _is_boilerplate(line)]
    if len(kept) == len(lines):
        return document.text
    text = "\n".join(kept).strip("\n")
    return text if text.strip() else Drop("nothing but boilerplate")


def _is_boilerplate(line: str) -> bool:
    if len(line) > 40 * _MOST_WORDS or len(line.split()) > _MOST_WORDS:
        return False
    return _BOILERPLATE.search(line) is not None or len(_NAVIGATION.findall(line)) >= _LEAST_LINKS


BOILERPLATE_LINES = Transform(
    name="boilerplate-lines-1",
    description="lines of at most 20 words about cookies, rights and logins, and lines of navigation, are left out",
    document=without_boilerplate,
)
