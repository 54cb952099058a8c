from pathlib import Path

import pytest

from gristmill.peeking.formats import recognise_format
from gristmill.peeking.head import Head

MAIL = "From ann@a.org Mon May  6 10:00:00 2024\nFrom: Ann <ann@a.org>\nSubject: x\n\nHi\n\n"


@pytest.mark.parametrize(
    ("data", "name", "told"),
    [
        (MAIL * 2, "mailbox (mbox)", "2 messages at its beginning"),
        (MAIL.replace("\n", "\r\n"), "mailbox (mbox)", "1 messages at its beginning"),
        ("From: Ann\nTo: Ben\nDate: x\n\nHi\n", "text with header fields", "From"),
        ("From here it was 2024\nand so on\n", "plain text", "2 lines"),
        ("%PDF-1.7\nwords\n", "for paper", ""),
    ],
)
def test_what_no_reader_reads_is_named_and_what_is_like_it_is_not_taken_for_it(data: str, name: str, told: str) -> None:
    found, facts = recognise_format(Head(Path("a"), "", data.encode(), whole=True))
    assert found.name == name
    assert told in (facts.fields or ("",))[0]
    assert bool(found.module) == (not facts.notes)
