"""The SPDX names of Creative Commons licences, by their addresses and short names."""

import re

_ADDRESS = re.compile(
    r"creativecommons\.org/(?:licenses/(by(?:-nc)?(?:-nd|-sa)?)/(\d\.\d)(?:/([a-z]{2,3})\b)?|(publicdomain)/(zero|mark)/(1\.0))",
    re.IGNORECASE,
)
_SHORT = re.compile(r"\bCC[ -](BY(?:-NC)?(?:-ND|-SA)?)[ -](\d\.\d)\b", re.IGNORECASE)
_ZERO = re.compile(r"\bCC0(?:[ -]1\.0)?\b", re.IGNORECASE)


def creative_commons_licence(text: str) -> str:
    """The SPDX name of the Creative Commons licence that a text names first, or "".

    A licence of a country, such as `/by/3.0/de/`, has its own SPDX name: `CC-BY-3.0-DE`.

    Args:
        text: text that may name a licence by its address, or a short name such as `CC BY-SA 4.0`.

    >>> texts = ("http://creativecommons.org/licenses/by-nc/4.0/", "CC BY-SA 3.0", "MIT")
    >>> [creative_commons_licence(text) for text in texts]
    ['CC-BY-NC-4.0', 'CC-BY-SA-3.0', '']
    """
    found = _ADDRESS.search(text)
    if found and found[4]:
        return "CC0-1.0" if found[5].lower() == "zero" else "LicenseRef-Public-Domain-Mark-1.0"
    if found:
        country = f"-{found[3].upper()}" if found[3] and not found[2].startswith("4") else ""
        return f"CC-{found[1].upper()}-{found[2]}{country}"
    short = _SHORT.search(text)
    if short:
        return f"CC-{short[1].upper()}-{short[2]}"
    return "CC0-1.0" if _ZERO.search(text) else ""
