"""Languages that recipes declare: tags of BCP 47."""

import re

from gristmill.errors import RecipeError

_TAG = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def check_language(language: str, who: str) -> None:
    """Checks the form of a tag; empty is right.

    Args:
        language: such as `en`, `de-CH` or `zh-Hant`.
        who: name of the declaration for the message.

    Raises:
        RecipeError: it is no tag.

    >>> check_language("English", "wiki")
    Traceback (most recent call last):
        ...
    gristmill.errors.RecipeError: wiki: language 'English' is no tag; give one of BCP 47, such as 'en' or 'zh-Hant'
    """
    if language and not _TAG.fullmatch(language):
        raise RecipeError(f"{who}: language {language!r} is no tag; give one of BCP 47, such as 'en' or 'zh-Hant'")
