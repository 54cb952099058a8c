import pytest

from gristmill.readers.text import Unfit, fit_text, plain_text, python_text


def test_python_source_is_read_in_the_encoding_that_it_declares() -> None:
    assert python_text("# coding: latin-1\nx = 'é'\n".encode("latin-1")) == "# coding: latin-1\nx = 'é'\n"
    assert python_text("x = 'é'\n".encode()) == "x = 'é'\n"


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert python_text(b"\xef\xbb\xbfx = 1\n") == "x = 1\n"
    assert plain_text(b"\xef\xbb\xbfx") == "x"


def test_line_ends_stay_as_they_are() -> None:
    assert python_text(b"x = 1\r\ny = 2\r\n") == "x = 1\r\ny = 2\r\n"


@pytest.mark.parametrize(
    "source",
    [
        b"x = '\xff'\n",  # not UTF-8, and no other encoding declared
        b"# coding: klingon\n",  # no such codec
        b"# coding: hex\n6162\n",  # a codec, but from bytes to bytes
        b"# coding: ascii\n'\xc3\xa9'\n",
        "x = 1\n".encode("utf-16"),
    ],
)
def test_source_that_its_encoding_rejects_is_undecodable(source: bytes) -> None:
    with pytest.raises(Unfit) as caught:
        python_text(source)
    assert caught.value.reason == "undecodable source"


def test_a_codec_may_not_bring_in_lone_surrogates() -> None:
    with pytest.raises(Unfit, match="lone surrogate"):
        python_text(b"# coding: utf-7\n+2AA-\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty text"),
        (" \n\t\f", "empty text"),
        ("\ufeff", "empty text"),
        ("\ufeff\n", "empty text"),
        ("a\0b", "text holds NUL"),
        ("\ud800", "text holds a lone surrogate"),
    ],
)
def test_unfit_text_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(Unfit) as caught:
        fit_text(text)
    assert caught.value.reason == reason


def test_bytes_that_are_not_utf_8_are_refused_with_the_place() -> None:
    with pytest.raises(Unfit, match="not utf-8: at byte 2"):
        plain_text(b"ab\xff")
