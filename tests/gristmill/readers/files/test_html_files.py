"""HTML files as texts."""

import os
from pathlib import Path
from typing import Any

import pytest
from talklake import talk_file

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.files.html_files import HtmlFiles
from gristmill.recipes.raw_object import LeftOut, RawObject, Refused

SAMPLES = os.environ.get("GRISTMILL_SAMPLE_DATA")
HTML = "<html lang='de-1996'><head><title> Die\n Mühle</title></head><body><h1>Mühle</h1><p>a</p></body></html>"


def read(tmp_path: Path, data: bytes, **options: Any) -> Any:
    (made,) = HtmlFiles(source="talks", **options)(talk_file(tmp_path, "de/deu_1996.html", data))
    return made


def test_a_file_has_its_text_title_and_language(tmp_path: Path) -> None:
    assert read(tmp_path, HTML.encode(), groups=r"(?P<code>\w+)\.html$") == Document(
        id="de/deu_1996.html",
        text="Mühle\n\na\n",
        source="talks",
        metadata={"path": "de/deu_1996.html", "title": "Die Mühle", "language": "de-1996", "code": "deu_1996"},
    )


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (HTML.encode("utf-8-sig"), {"encoding": "latin-1"}),
        (HTML.encode("utf-16"), {}),
        (HTML.replace("<head>", "<head><meta charset='ISO-8859-2'>").encode("iso-8859-2"), {}),
        (HTML.replace("<head>", '<head><meta content="text/html; charset=latin1">').encode("cp1252"), {}),
        (HTML.encode("cp437"), {"encoding": "cp437"}),
        (HTML.encode("latin-1"), {"encoding": "latin-1"}),
        (HTML.replace("<head>", "<head><meta charset=utf-16>").encode(), {}),
        (b'<?xml version="1.0" encoding="iso-8859-1"?>' + HTML.encode("latin-1"), {}),
        (HTML.encode(), {"encoding": "latin-1"}),  # valid UTF-8 proves itself
    ],
)
def test_the_encoding_is_that_of_the_mark_the_file_or_the_recipe(
    tmp_path: Path, data: bytes, options: dict[str, str]
) -> None:
    assert read(tmp_path, data, **options).text == "Mühle\n\na\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (HTML.encode("latin-1"), "not in its declared encoding"),
        (b"<meta charset='klingon'>x", "unknown encoding"),
        (b"<meta charset='utf-7'>a +AGE-", "unknown encoding"),
        (b"<meta charset='unicode_escape'>a \\u0041", "unknown encoding"),
        (b"<html><body><script>x</script></body></html>", "empty text"),
        (b"<div>" * 2000, "html nested too deeply"),
    ],
)
def test_a_file_without_readable_text_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    made = read(tmp_path, data)
    assert isinstance(made, Refused)
    assert (made.reason, made.where.startswith("de/deu_1996.html")) == (reason, True)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"<p>M\xfchle</p>", True),
        (b"<meta charset='utf-8'><p>M\xfchle</p>", False),  # the file states it, so the recipe's is not asked
        (b"\xef\xbb\xbf<p>M\xfchle</p>", False),
    ],
)
def test_latin_1_is_hinted_at_if_the_recipe_decides(tmp_path: Path, data: bytes, *, told: bool) -> None:
    refused = read(tmp_path, data)
    assert refused.reason == "not in its declared encoding"
    assert refused.where.endswith('; declare encoding="latin-1", or as the files are)') is told
    assert isinstance(read(tmp_path, data, encoding="latin-1"), Document) is told


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("gb2312", "gbk", "朱镕基"),
        ("x-sjis", "cp932", "①日本"),
        ("euc-kr", "cp949", "똠방각하"),
        ("utf-16", "ascii", "a"),
    ],
)
def test_names_of_charsets_are_read_as_browsers_read_them(tmp_path: Path, label: str, codec: str, text: str) -> None:
    assert read(tmp_path, f"<meta charset={label}><p>{text}</p>".encode(codec)).text == f"{text}\n"


def test_an_unknown_encoding_of_the_recipe_is_an_error() -> None:
    with pytest.raises(RecipeError, match="'klingon' is unknown"):
        HtmlFiles(source="talks", encoding="klingon")


@pytest.mark.skipif(SAMPLES is None, reason="needs GRISTMILL_SAMPLE_DATA")
def test_a_sample_declaration_is_read() -> None:
    name = "udhr-declarations.tar.gz"
    size = Path(f"{SAMPLES}/raw/multilingual/{name}").stat().st_size
    raw = RawObject(FolderStore(f"{SAMPLES}/raw/multilingual"), name, name, size)
    made, others = HtmlFiles(source="udhr", select=r"/deu_1996\.html$")(raw)
    assert isinstance(made, Document)
    assert others == LeftOut("not among the wanted members", 532)
    assert made.text.startswith("Die Allgemeine Erklärung der Menschenrechte\n\nPräambel\n")
