from pathlib import Path

import pytest

from gristmill.peeking.archives import count_endings
from gristmill.peeking.formats import recognise_format
from gristmill.peeking.head import Head, Inside

TEXT, CODE, PAGE = b"Some words.\n", b"import os\n", b"<!doctype html><html></html>"
PEP = b"PEP: 8\nTitle: x\nStatus: z\n\nText\n"
LOG = b"[04:05] <ann> hi\n"


def archive(files: dict[str, bytes | None]) -> Head:
    return Head(
        Path("a.tar"), "", b"", whole=True, archive=".tar", members=tuple(Inside(*each) for each in files.items())
    )


@pytest.mark.parametrize(
    ("files", "format_", "options"),
    [
        ({"a/one.txt": TEXT, "a/two.md": b"# Two\n"}, "archive of texts", {}),
        ({"one.py": CODE, "two.rs": CODE, "LICENSE": TEXT}, "archive of a code repository", {}),
        ({"m-1/one.py": CODE, "m-1/LICENSE": TEXT}, "archive of a code repository", {"strip": 1}),
        ({"a.md": b"---\ntitle: A\n---\n# A\n"}, "archive of texts", {"front_matter": True, "title": True}),
        ({"one.html": PAGE, "two.html": PAGE}, "archive of web pages", {}),
        ({"b/content.opf": TEXT, "b/text/one.xhtml": PAGE}, "archive of an EPUB book", {}),
        ({"1.rst": PEP, "2.rst": PEP, "3.rst": None}, "archive of texts with header fields", {"select": r"\.rst$"}),
        ({"2004-01-01.raw.txt": LOG, "2004-01-02.raw.txt": LOG, "README": TEXT}, "archive of IRC logs", {}),
        ({"a.png": b"\x89PNG\x00\x00", "b.png": b"\x89PNG\x00\x00"}, "archive", {}),
        (dict.fromkeys(("1.jpg", "1.txt", "2.jpg", "2.txt", "3.jpg")), "WebDataset", {}),
        ({"./1.json": b'{"caption": "Two cats."}', "./1.jpg": None}, "WebDataset", {"text": "json[caption]"}),
        ({"a.txt.gz": b"\x1f\x8b\x08\x00"}, "archive", {}),
        ({}, "archive", {}),
    ],
)
def test_an_archive_is_what_most_of_its_files_are(
    files: dict[str, bytes | None], format_: str, options: dict[str, str]
) -> None:
    found, facts = recognise_format(archive(files))
    assert (found.name, facts.options) == (format_, options)


def test_an_archive_tells_its_endings() -> None:
    head = archive({"a.py": CODE, "b.py": CODE, "README": TEXT})
    assert count_endings(head) == {"py": 2, "": 1}
    assert recognise_format(head)[1].fields == ("3 files: 2 .py, 1 without an ending",)
