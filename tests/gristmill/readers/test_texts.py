"""Plain text and Markdown files, alone and in archives."""

import bz2
import gzip
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from talklake import talk_file

from gristmill.errors import DataError, RecipeError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.texts import TextFiles
from gristmill.recipes.raw_object import LeftOut, Limits, Refused

COMMIT = "08e345f42639f67d99282813247ac670dc6e87cb"


def tarred(files: dict[str, bytes], comment: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", pax_headers={"comment": comment}) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def read(tmp_path: Path, name: str, data: bytes, **options: Any) -> list[Any]:
    return list(TextFiles(source="texts", **options)(talk_file(tmp_path, name, data)))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("tale.txt", b"Once"),
        ("tale.txt.gz", gzip.compress(b"Once", mtime=0)),
        ("tale.txt.bz2", bz2.compress(b"\xef\xbb\xbfOnce")),
    ],
)
def test_a_file_is_a_document_whose_id_is_its_path(tmp_path: Path, name: str, data: bytes) -> None:
    expected = Document(id="tale.txt", text="Once", source="texts", added="2026", metadata={"path": "tale.txt"})
    assert read(tmp_path, name, data, added="2026") == [expected]


def test_files_of_an_archive_are_documents_with_commit_and_groups_of_their_path(tmp_path: Path) -> None:
    data = tarred(
        {"LICENSE": b"CC", "pages/tar.md": b"# tar\n", "pages.pt_BR/tar.md": b"# tar!\n", "pages.pt_BR/x.md": b" \n"},
        COMMIT,
    )
    options: dict[str, Any] = {
        "members": r"\.md$",
        "groups": r"^pages(\.(?P<language>\w+))?/",
        "metadata": {"language": "en", "license": "CC-BY-4.0"},
        "title": True,
    }
    expected: list[Any] = [
        Document(
            id=f"pages.tar.gz/{path}",
            text=f"# {title}\n",
            source="texts",
            metadata={"language": language, "license": "CC-BY-4.0", "path": path, "commit": COMMIT, "title": title},
        )
        for path, language, title in (("pages/tar.md", "en", "tar"), ("pages.pt_BR/tar.md", "pt-BR", "tar!"))
    ]
    assert read(tmp_path, "pages.tar.gz", data, **options) == [
        *expected, LeftOut("empty text"), LeftOut("not among the wanted members", 1),
    ]  # fmt: skip
    made = read(tmp_path, "pages.tar.gz", data, **options, archive_in_id=False)
    assert [row.id for row in made[:2]] == ["pages/tar.md", "pages.pt_BR/tar.md"]


MEND = '; declare encoding="latin-1", or as the files are'


def test_what_is_not_in_the_declared_encoding_is_refused_with_the_byte(tmp_path: Path) -> None:
    assert read(tmp_path, "a.txt", b"caf\xe9") == [Refused("not utf-8", f"a.txt (at byte 3{MEND})", b"caf\xe9")]
    assert read(tmp_path, "a.txt", b"caf\xe9", encoding="latin-1")[0].text == "café"
    assert read(tmp_path, "a.txt", "\ufeffé".encode("utf-16-le"), encoding="utf-16-le")[0].text == "é"
    assert read(tmp_path, "a.txt", b"abc", encoding="utf-16-le")[0].reason == "not utf-16-le"
    assert read(tmp_path, "a.txt", b"a\0c") == [Refused("text holds NUL", "a.txt", b"a\0c")]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.txt", b"fine")
        archive.writestr("b.txt", b"\xff")
    good, bad = read(tmp_path, "x.zip", buffer.getvalue())
    assert (good.id, bad.where) == ("x.zip/a.txt", f"x.zip entry b.txt (at byte 0{MEND})")


def test_front_matter_becomes_metadata_if_the_recipe_says_so(tmp_path: Path) -> None:
    data = b"---\ntitle: Tales\nyear: 1851\n---\n# Other\n"
    (plain,) = read(tmp_path, "a.md", data)
    assert plain == Document(id="a.md", text=data.decode(), source="texts", metadata={"path": "a.md"})
    (made,) = read(tmp_path, "a.md", data, front_matter=True, title=True)
    assert (made.text, made.metadata) == (
        "# Other\n",
        {"path": "a.md", "front_matter": {"title": "Tales", "year": "1851"}, "title": "Tales"},
    )
    (made,) = read(tmp_path, "a.txt", data, front_matter=True, title=True)
    assert made.text == data.decode()  # no Markdown
    (bad,) = read(tmp_path, "a.md", b"---\na: *b\n---\nx", front_matter=True)
    assert (bad.reason, bad.where) == ("invalid front matter", "a.md (it has an alias)")


def test_a_file_that_is_too_long_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "a.txt.gz", gzip.compress(bytes(5 << 20), mtime=0))
    raw.limits = Limits(row=1000)
    (row,) = TextFiles(source="texts")(raw)
    assert isinstance(row, Refused)
    assert (row.reason, row.size > 1000, len(row.raw) <= 1 << 20) == ("row too long", True, True)


def test_a_truncated_file_is_an_error_and_spans_are_whole_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.txt\.gz: the file ends in the middle"):
        read(tmp_path, "a.txt.gz", gzip.compress(b"Once", mtime=0)[:-3])
    raw = talk_file(tmp_path, "x.tar.gz", tarred({"a": b"Once", "b": b"upon"}, "no commit"))
    found = [(raw.take_raw_span(), row) for row in TextFiles(source="texts")(raw)]
    assert [span for span, _ in found] == [RawSpan(0, 4, "a"), RawSpan(0, 4, "b")]
    assert all(isinstance(row, Document) and row.metadata == {"path": row.id[-1]} for _, row in found)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"encoding": "utf-ninety"}, "encoding is 'utf-ninety'"),
        ({"encoding": "hex"}, "encoding is 'hex'"),
        ({"members": "("}, "members is '('"),
        ({"groups": "a(b)"}, "give it a named group"),
        ({"title": "yes"}, "title is 'yes'"),
    ],
)
def test_wrong_options_are_errors(options: dict[str, Any], why: str) -> None:
    with pytest.raises(RecipeError, match=r"^TextFiles of source 't'") as error:
        TextFiles(**{"source": "t", **options})
    assert why in str(error.value)
