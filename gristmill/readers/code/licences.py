"""The licence of a source file: by the SPDX line in it, or by the text of the licence files above it.

Names are those of the SPDX licence list (https://spdx.org/licenses). The phrases are those of the licences' texts, in
lower case without commas: titles, and grants of rights.
"""

import re

UNKNOWN = "NOASSERTION"
"""The word of SPDX for a licence that is not stated."""

_LOOK = 4096
_TITLE = 20_000
_HEADER = re.compile(r"SPDX-License-Identifier:[ \t]*([^\r\n]+)")
_EXPRESSION = re.compile(r"\(*[A-Za-z0-9.+-]+\)*(?: (?:AND|OR|WITH) \(*[A-Za-z0-9.+:-]+\)*)*")
_FILE = re.compile(
    r"(?:(?:un)?licen[sc]e|copying(?:\.lesser)?|mit-licen[sc]e)(?:[-_.][\w.+-]*)?", re.IGNORECASE
)  # LICENSE, LICENSE.md, LICENSE-APACHE, COPYING.LESSER
_NOT_TEXT = re.compile(r"\.(?:py|rs|js|ts|go|java|c|h|cpp|rb|json|ya?ml|toml|html|png|svg|spdx)$", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9.+]+")

_PHRASES = (
    ("apache license version 2.0", "Apache-2.0"),
    ("gnu affero general public license version 3", "AGPL-3.0-only"),
    ("gnu lesser general public license version 3", "LGPL-3.0-only"),
    ("gnu lesser general public license version 2.1", "LGPL-2.1-only"),
    ("gnu library general public license version 2", "LGPL-2.0-only"),
    ("gnu general public license version 3", "GPL-3.0-only"),
    ("gnu general public license version 2", "GPL-2.0-only"),
    ("mozilla public license version 2.0", "MPL-2.0"),
    ("mozilla public license version 1.1", "MPL-1.1"),
    ("eclipse public license v 2.0", "EPL-2.0"),
    ("eclipse public license v 1.0", "EPL-1.0"),
    ("european union public licence v 1.2", "EUPL-1.2"),
    ("boost software license version 1.0", "BSL-1.0"),
    ("this is free and unencumbered software released into the public domain", "Unlicense"),
    ("cc0 1.0 universal", "CC0-1.0"),
    ("attribution noncommercial sharealike 4.0 international", "CC-BY-NC-SA-4.0"),
    ("attribution noncommercial noderivatives 4.0 international", "CC-BY-NC-ND-4.0"),
    ("attribution noncommercial 4.0 international", "CC-BY-NC-4.0"),
    ("attribution noderivatives 4.0 international", "CC-BY-ND-4.0"),
    ("attribution sharealike 4.0 international", "CC-BY-SA-4.0"),
    ("attribution 4.0 international", "CC-BY-4.0"),
    ("do what the fuck you want to public license", "WTFPL"),
    ("altered source versions must be plainly marked as such", "Zlib"),
    ("python software foundation license version 2", "PSF-2.0"),
    ("the artistic license 2.0", "Artistic-2.0"),
    ("open software license v 3.0", "OSL-3.0"),
    ("business source license 1.1", "BUSL-1.1"),
    ("server side public license", "SSPL-1.0"),
    ("permission is hereby granted free of charge to any person obtaining a copy", "MIT"),
    ("permission to use copy modify and or distribute this software for any purpose with or without fee", "ISC"),
    ("permission to use copy modify and distribute this software for any purpose with or without fee", "ISC"),
    ("redistribution and use in source and binary forms with or without modification are permitted", "BSD"),
)


def stated_licence(text: str) -> str:
    r"""The SPDX expression that a source file states at its beginning; empty if it states no licence.

    Args:
        text: the file's text.

    >>> stated_licence("/* SPDX-License-Identifier: GPL-2.0-only OR MIT */\nint x;\n")
    'GPL-2.0-only OR MIT'
    """
    found = _HEADER.search(text[:_LOOK])
    match = _EXPRESSION.match(found[1].strip()) if found else None
    return match[0] if match else ""


def is_licence_file(path: str) -> bool:
    """Whether a file's name is that of a licence's text.

    >>> [is_licence_file(path) for path in ("LICENSE", "lib/COPYING.LESSER", "LICENSE-MIT.txt", "src/license.py")]
    [True, True, True, False]
    """
    name = path.rpartition("/")[2]
    return _FILE.fullmatch(name) is not None and _NOT_TEXT.search(name) is None


def licence_of_text(text: str) -> str:
    """The SPDX name of a licence, by its text; NOASSERTION if it is not known.

    The phrase that comes first decides, because a licence's text may name others. The texts of the GNU licences do not
    say whether a later version may be chosen: they count as `-only`.

    Args:
        text: the text of a licence file.

    >>> licence_of_text("Apache License, Version 2.0, January 2004"), licence_of_text("All rights reserved.")
    ('Apache-2.0', 'NOASSERTION')
    """
    stated = stated_licence(text)
    if stated:
        return stated
    words = f" {' '.join(word.rstrip('.') for word in _WORD.findall(text[:_TITLE].lower()))} "
    found = [(words.find(f" {phrase} "), name) for phrase, name in _PHRASES]
    at, name = min(((at, name) for at, name in found if at >= 0), default=(0, UNKNOWN))
    if name == "MIT" and " the above copyright notice and this permission notice " not in words:
        return "MIT-0"
    if name == "ISC" and " the above copyright notice " not in words:
        return "0BSD"
    if name == "BSD":
        return _bsd_variant(words[at:])
    return name


def _bsd_variant(words: str) -> str:
    """Which of the BSD licences a text is."""
    if " all advertising materials mentioning features " in words:
        return "BSD-4-Clause"
    return (
        "BSD-3-Clause"
        if re.search(r" (?:neither the name|names? of .{0,200} may not be used) ", words)
        else "BSD-2-Clause"
    )


class LicenceFiles:
    """The licences of an archive's folders.

    Example:
        >>> licences = LicenceFiles()
        >>> licences.add("LICENSE", "Apache License, Version 2.0")
        >>> licences.add("lib/COPYING", "All rights reserved.")
        >>> licences.of("src/a.py"), licences.of("lib/x/b.py"), LicenceFiles().of("a.py")
        (('Apache-2.0', 'LICENSE'), ('NOASSERTION', 'lib/COPYING'), ('NOASSERTION', ''))
    """

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[str, str]]] = {}

    def add(self, path: str, text: str) -> None:
        """Takes note of a licence file.

        Args:
            path: path of the file in the archive. It counts for its folder, and for those below without one.
            text: the whole file.
        """
        self._found.setdefault(path.rpartition("/")[0], []).append((path, licence_of_text(text)))

    def of(self, path: str) -> tuple[str, str]:
        """The licence of a file, and the licence files that say so: those of the nearest folder above it.

        If a folder has several, their licences are joined by AND, because we cannot know that one may be chosen.
        """
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in self._found:
                files = sorted(self._found[folder])
                names = sorted({name for _, name in files})
                licence = (
                    UNKNOWN if UNKNOWN in names else " AND ".join(_common_licence_group(name, names) for name in names)
                )
                return licence, ", ".join(file for file, _ in files)
        return UNKNOWN, ""


def _common_licence_group(name: str, names: list[str]) -> str:
    return f"({name})" if " OR " in name and len(names) > 1 else name
