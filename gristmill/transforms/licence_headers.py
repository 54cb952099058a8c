"""Licence headers of source code: the first comment of a file, if it is about copyright or a licence."""

import re

from gristmill.lake.rows.document import Document
from gristmill.recipes.edits.transform import Transform

_LEGAL = re.compile(r"copyright|licen[sc]e|SPDX-|\(c\) ?\d{4}|all rights reserved", re.IGNORECASE)
_FIRST_LINES = ("#!", "<?xml", "<?php", "# -*-", "# coding", "// @flow", "<!DOCTYPE")
_BLOCKS = (("/*", "*/"), ("<!--", "-->"), ("{-", "-}"), ("(*", "*)"), ("--[[", "]]"))
_LINES = ("//", "#", "--", ";", "%", "!", "'", "REM ")
_LONGEST = 20_000
"""Characters of the longest header. A longer comment is no header."""


def without_header(document: Document) -> str:
    r"""The text without its licence header. A first line such as `#!/bin/sh` stays.

    >>> code = "#!/bin/sh\n# Copyright 2024 A. Uthor\n# MIT License\n\necho hello\n"
    >>> without_header(Document(id="d1", source="code", text=code))
    '#!/bin/sh\necho hello\n'
    """
    text = document.text
    start = 0
    while text.startswith(_FIRST_LINES, start) and "\n" in text[start : start + _LONGEST]:
        start = text.index("\n", start) + 1
    head = text[start : start + _LONGEST]
    begin = len(head) - len(head.lstrip())
    end = _end_of_comment(head, begin)
    if end is None or not _LEGAL.search(head[begin:end]):
        return text
    return text[:start] + text[start + end :].lstrip("\r\n")


def _end_of_comment(head: str, begin: int) -> int | None:
    """Where the comment that begins there ends; None if none begins, or if its end is not in sight."""
    for opening, closing in _BLOCKS:
        if head.startswith(opening, begin):
            end = head.find(closing, begin + len(opening))
            return None if end < 0 else end + len(closing)
    sign = next((sign for sign in _LINES if head.startswith(sign, begin)), None)
    if sign is None:
        return None
    end = begin
    for line in head[begin:].splitlines(keepends=True):
        if not line.lstrip().startswith(sign.strip()):
            return end
        end += len(line)
    return end if len(head) < _LONGEST else None


LICENCE_HEADERS = Transform(
    name="licence-headers-1",
    description="the first comment of a file of code is left out if it is about copyright or a licence",
    document=without_header,
)
