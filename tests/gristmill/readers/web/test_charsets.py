"""Charsets of pages: the order in which they are tried, and when a page is refused."""

import codecs

import pytest

from gristmill.readers.text import Unfit
from gristmill.readers.web.charsets import decode_html_strictly, decode_page

RUSSIAN = "<p>Мельница мелет зерно.</p>"


@pytest.mark.parametrize(
    ("body", "declared", "charset"),
    [
        (RUSSIAN.encode(), "", "utf-8"),
        (RUSSIAN.encode("cp1251"), "windows-1251", "cp1251"),
        (b"<meta charset=koi8-r>" + RUSSIAN.encode("koi8-r"), "", "koi8-r"),
        (b'<META http-equiv=x content="text/html; charset=koi8-r">' + RUSSIAN.encode("koi8-r"), "nonsense", "koi8-r"),
        (b"<meta charset=koi8-r>" + RUSSIAN.encode("cp1251"), "windows-1251", "cp1251"),  # HTTP comes first
        (b"<meta charset=utf-8>" + RUSSIAN.encode("cp1251") * 20, "utf-8", "cp1251"),  # both are wrong: a guess
        (codecs.BOM_UTF16_BE + RUSSIAN.encode("utf-16-be"), "windows-1251", "utf-16-be"),
        (codecs.BOM_UTF8 + RUSSIAN.encode(), "windows-1251", "utf-8"),
        (b"<meta charset=utf-16>" + RUSSIAN.encode(), "", "utf-8"),
        (RUSSIAN.encode("utf-16-le"), "utf-16", "utf-16-le"),
        (b"<?xml version='1.0' encoding='koi8-r'?>" + RUSSIAN.encode("koi8-r"), "", "koi8-r"),
        (RUSSIAN.encode(), "windows-1251", "utf-8"),  # valid UTF-8 proves itself
    ],
)
def test_a_page_is_decoded_by_its_charset(body: bytes, declared: str, charset: str) -> None:
    text, found, replaced = decode_page(body, declared)
    assert (text.endswith(RUSSIAN), found, replaced) == (True, charset, 0)


def test_few_broken_bytes_are_replaced_and_many_refused() -> None:
    body = "ж".encode() * 1500 + b"\xff" + "ж".encode() * 1500
    text, found, replaced = decode_page(body, "utf-8")
    assert (text.count("\ufffd"), found, replaced) == (1, "utf-8", 1)
    with pytest.raises(Unfit, match=r"undecodable page: .* broken characters as utf-8"):
        decode_page(bytes(range(128, 256)) * 20 + "ж".encode() * 99, "utf-8")


@pytest.mark.parametrize(("declared", "words"), [("utf-8", 1), ("utf-8", 40), ("", 40)])
def test_one_broken_byte_changes_one_character(declared: str, words: int) -> None:
    page = RUSSIAN * words
    text, found, replaced = decode_page(page.encode() + b"\xff", declared)
    assert (text, found, replaced) == (page + "\ufffd", "utf-8", 1)


def test_characters_that_the_page_itself_replaced_are_not_broken() -> None:
    body = ("ж" * 99 + "\ufffd" * 9).encode() + b"\xff"
    assert decode_page(body, "utf-8")[2] == 1


def test_wider_codecs_are_tried_in_turn() -> None:
    assert decode_page("①日本".encode("euc_jis_2004"), "euc-jp")[:2] == ("①日本", "euc_jis_2004")
    assert decode_html_strictly(b"<meta charset=euc-jp>" + "①".encode("euc_jis_2004"), "utf-8").endswith("①")
    with pytest.raises(Unfit, match="not in its declared encoding: euc_jis_2004"):
        decode_html_strictly(b"<meta charset=euc-jp>\xff\xff", "utf-8")


@pytest.mark.parametrize("name", ["hex", "idna", "zlib", "rot13", "undefined", "unicode_escape", "utf-7", "x" * 300])
def test_codecs_of_python_that_are_no_charsets_of_pages_are_not_used(name: str) -> None:
    assert decode_page(RUSSIAN.encode(), name)[1] == "utf-8"
