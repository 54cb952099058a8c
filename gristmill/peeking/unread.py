"""Sniffers of formats that no reader reads: their text must be taken out of them first."""

import re

from gristmill.peeking.head import Head
from gristmill.peeking.sniffers import Facts

_PAPER = {b"%PDF-": "PDF", b"%!PS": "PostScript", b"{\\rtf": "RTF"}
"""Beginnings of formats for paper."""
_MAIL_BEGINS = re.compile(r"^From \S+ .*\d{4}.*$", re.MULTILINE)
_MAIL = re.compile(r"From \S+ .*\d{4}.*\r?\n(?:[A-Za-z][A-Za-z0-9-]*:|>From )")


def sniff_paper(head: Head) -> Facts | None:
    """A file for printers or word processors, which may look like text."""
    name = next((name for begin, name in _PAPER.items() if head.data.startswith(begin)), "")
    return Facts(notes=(f"{name}: no reader knows it; take the text out of it first",)) if name else None


def sniff_mailbox(head: Head) -> Facts | None:
    """The facts of messages of electronic mail in one file, each behind a line `From `; None for another file."""
    fits = _MAIL.match(head.text) is not None and not head.archive
    note = "mail: no reader knows it; take the texts out of it first, for example with Python's module mailbox"
    return (
        Facts(fields=(f"{len(_MAIL_BEGINS.findall(head.text)):,} messages at its beginning",), notes=(note,))
        if fits
        else None
    )
