"""Books of Project Gutenberg without their header and licence."""

import os
from pathlib import Path
from typing import Any

import pytest
from talklake import talk_file

from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.books.gutenberg import GutenbergTexts
from gristmill.recipes.raw_object import RawObject, Refused

SAMPLES = os.environ.get("GRISTMILL_SAMPLE_DATA")
BOOK = """The Project Gutenberg EBook of Die Mühle, by Ann Bäcker

This eBook is for the use of anyone anywhere at no cost

Title: Die Mühle
       Ein Roman

Author: Ann Bäcker

Release Date: August 21, 2007 [EBook #22367] Last Updated: December 3,
2017

Language: German

Character set encoding: ISO-8859-1

*** START OF THIS PROJECT GUTENBERG EBOOK DIE MÜHLE ***




Produced by Ben and the
team at http://example.org


Erstes Kapitel

Das Rad drehte sich.


*** END OF THIS PROJECT GUTENBERG EBOOK DIE MÜHLE ***

***** This file should be named 22367-8.txt *****
*** START: FULL LICENSE ***
"""
TEXT = "Erstes Kapitel\n\nDas Rad drehte sich.\n"


def read(tmp_path: Path, data: bytes, **options: Any) -> Any:
    (made,) = GutenbergTexts(source="talks", **options)(talk_file(tmp_path, "22367-8.txt", data))
    return made


def test_a_book_has_its_metadata_and_neither_header_nor_licence(tmp_path: Path) -> None:
    assert read(tmp_path, BOOK.replace("\n", "\r\n").encode("latin-1")) == Document(
        id="gutenberg-22367",
        text=TEXT,
        source="talks",
        created="2007-08-21T00:00:00Z",
        metadata={
            "gutenberg": "22367",
            "kind": "book",
            "license": "LicenseRef-Project-Gutenberg",
            "path": "22367-8.txt",
            "title": "Die Mühle Ein Roman",
            "release_date": "August 21, 2007 [EBook #22367]",
            "last_updated": "December 3, 2017",
            "language": "de",
            "character_set_encoding": "ISO-8859-1",
            "authors": ["Ann Bäcker"],
        },
    )


def test_the_producers_are_kept_if_asked_for_and_other_marks_are_known(tmp_path: Path) -> None:
    assert read(tmp_path, BOOK.encode("latin-1"), credits=True).text.startswith("Produced by Ben")
    newer = BOOK.replace("OF THIS PROJECT", "OF THE PROJECT").replace("ISO-8859-1", "UTF-8")
    assert read(tmp_path, b"\xef\xbb\xbf" + newer.encode()).text == TEXT
    small_print = (
        "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN EBOOKS*Ver.04.29.93*END*\nText\n\nEnd of the Project Gutenberg EBook\n"
    )
    assert read(tmp_path, (BOOK.partition("*** START")[0] + small_print).encode("latin-1")).text == "Text\n"


def test_the_header_of_newer_files_is_known(tmp_path: Path) -> None:
    head = """The Project Gutenberg eBook of The Mill

Title: The Mill

Author: Ann
Author: Ben

Release date: June 1, 1998 [eBook #1342]
                Most recently updated: June 17, 2024

Language: English, French

Credits: Cara

*** START OF THE PROJECT GUTENBERG EBOOK THE MILL ***
Text
*** END OF THE PROJECT GUTENBERG EBOOK THE MILL ***
"""
    made = read(tmp_path, head.encode())
    assert (made.id, made.text, made.created) == ("gutenberg-1342", "Text\n", "1998-06-01T00:00:00Z")
    wanted = {"authors": ["Ann", "Ben"], "language": "English, French", "most_recently_updated": "June 17, 2024"}
    assert {name: made.metadata[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (BOOK.partition("*** START")[0].encode("latin-1"), "no start of the book"),
        (BOOK.partition("*** END")[0].encode("latin-1"), "no end of the book"),
        (BOOK.replace("#22367", "").encode("latin-1"), "no number of the book"),
        (BOOK.replace("ISO-8859-1", "UTF-8").encode("latin-1"), "not in its declared encoding"),
        (BOOK.replace("Rad", "\x93Rad\x94").encode("latin-1"), "not in its declared encoding"),
        (BOOK.replace("ISO-8859-1", "Klingon").encode("latin-1"), "unknown encoding"),
        (BOOK.replace("ISO-8859-1", "IS\0").encode("latin-1"), "unknown encoding"),
        (BOOK.replace("ISO-8859-1", "punycode").encode("latin-1"), "unknown encoding"),
        (BOOK.replace(TEXT, "").encode("latin-1"), "empty text"),
    ],
)
def test_a_file_that_is_no_whole_book_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    made = read(tmp_path, data)
    assert isinstance(made, Refused)
    assert made.reason == reason
    assert made.where.startswith("22367-8.txt")


@pytest.mark.parametrize(
    ("header", "mark", "told"),
    [("", b"", True), ("Character set encoding: UTF-8\n", b"", False), ("", b"\xef\xbb\xbf", False)],
)
def test_latin_1_is_hinted_at_if_the_recipe_decides(tmp_path: Path, header: str, mark: bytes, *, told: bool) -> None:
    data = mark + BOOK.replace("Character set encoding: ISO-8859-1\n", header).encode("latin-1")
    made = read(tmp_path, data)
    assert made.reason == "not in its declared encoding"
    assert made.where.endswith('; declare encoding="latin-1", or as the files are)') is told
    assert isinstance(read(tmp_path, data, encoding="latin-1"), Document) is told


@pytest.mark.skipif(SAMPLES is None, reason="needs GRISTMILL_SAMPLE_DATA")
@pytest.mark.parametrize(
    ("name", "row_id", "language", "first", "last"),
    [
        ("en-1342-0", "gutenberg-1342", "en", "PRIDE AND PREJUDICE\n", "uniting them.\n"),
        ("es-2000-8", "gutenberg-2000", "es", "El ingenioso hidalgo", "Fin\n"),
    ],
)
def test_sample_books_are_cut_at_their_marks(name: str, row_id: str, language: str, first: str, last: str) -> None:
    folder = f"{SAMPLES}/raw/books/gutenberg"
    size = Path(f"{folder}/{name}.txt.gz").stat().st_size
    (made,) = GutenbergTexts(source="books")(RawObject(FolderStore(folder), f"{name}.txt.gz", f"{name}.txt.gz", size))
    assert isinstance(made, Document)
    assert isinstance(made.metadata, dict)
    assert (made.id, made.metadata["language"]) == (row_id, language)
    assert (made.text.startswith(first), made.text.endswith(last), "\r" in made.text) == (True, True, False)


def test_two_books_in_one_file_are_refused(tmp_path: Path) -> None:
    assert read(tmp_path, (BOOK + BOOK).encode("latin-1")).reason == "two books in one file"


def test_words_in_the_book_end_it_only_without_the_mark(tmp_path: Path) -> None:
    inner = "End of Project Gutenberg's first part.\n\nIt goes on.\n"
    longer = BOOK.replace(
        "\n\n*** END", f"\n{inner}\nEnd of the Project Gutenberg EBook of Die Mühle,\nby Ann\n\n*** END"
    )
    assert read(tmp_path, longer.encode("latin-1")).text == f"{TEXT}\n{inner}"
    direct = BOOK.replace("\n\n*** END", "End of Project Gutenberg's Die Mühle\n*** END")
    assert read(tmp_path, direct.encode("latin-1")).text == TEXT
    old = longer.replace("*** END OF", "-- THE END OF")
    assert read(tmp_path, old.encode("latin-1")).text == TEXT


@pytest.mark.parametrize(
    ("stated", "codec"),
    [
        ("ISO Latin-1", "latin-1"),
        ("ISO-Latin-1", "latin-1"),
        ("ISO-8859-1 (Latin-1)", "latin-1"),
        ("CP-1252", "cp1252"),
        ("Windows Codepage 1252", "cp1252"),
        ("US-ASCII", "ascii"),
        ("ISO-646-US (US-ASCII)", "ascii"),
    ],
)
def test_the_names_of_encodings_in_headers_are_known(tmp_path: Path, stated: str, codec: str) -> None:
    dash = "" if codec == "ascii" else "ü" if codec == "latin-1" else "\u2014"
    book = BOOK.replace("ISO-8859-1", stated).replace("Rad", f"Rad{dash}")
    book = book.replace("ü", "ue").replace("ä", "ae").replace("Ü", "UE") if codec == "ascii" else book
    assert read(tmp_path, book.encode(codec)).text == TEXT.replace("Rad", f"Rad{dash}")
    wrong = book.encode(codec).replace(b"Das", b"\x81 Das")  # no letter in any of them
    assert read(tmp_path, wrong).reason == "not in its declared encoding"


LICENCE = """Updated editions will replace the previous one--the old editions
will be renamed.

This Web site includes how to subscribe to our email
newsletter to hear about new eBooks.
"""


@pytest.mark.parametrize(
    ("behind", "characters"),
    [
        (LICENCE, 0),
        (f"This and all associated files are at\n  http://example.org\n\nProduced by Ben\n\n{LICENCE}\n\n", 0),
        ("\n", 0),
        (f"A note.\n\n{LICENCE}", 6),
        (f"{LICENCE}\nKapitel 2\n", 8),
        (f"A note.\n\n{LICENCE}\nKapitel 2\n", 14),
        ("Kapitel 2\n", 8),
    ],
)
def test_text_behind_the_end_is_counted_but_not_the_licence(tmp_path: Path, behind: str, characters: int) -> None:
    head, mark, _ = BOOK.partition("DIE MÜHLE ***\n\n*****")
    raw = talk_file(tmp_path, "22367-8.txt", f"{head}{mark[:-5]}{behind}".encode("latin-1"))
    (made,) = GutenbergTexts(source="talks")(raw)
    assert isinstance(made, Document)
    assert made.text == TEXT
    assert raw.counts == ({"characters behind the book": characters} if characters else {})


def test_a_mark_of_two_lines_is_no_text_behind_the_end(tmp_path: Path) -> None:
    book = BOOK.replace(
        "*** END OF THIS PROJECT GUTENBERG EBOOK DIE MÜHLE ***",
        "*** END OF THIS PROJECT GUTENBERG EBOOK\nDIE MÜHLE ***",
    )
    raw = talk_file(tmp_path, "22367-8.txt", book.encode("latin-1"))
    assert [type(each) for each in GutenbergTexts(source="talks")(raw)] == [Document]
    assert raw.counts == {}
