import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import RawObject, Refused
from gristmill.sources.packages import LICENCES, PACKAGES, convert

METADATA = b"Metadata-Version: 2.1\nName: Mill\nVersion: 2.0\nLicense-Expression: MIT\n\nA mill grinds.\n"


NAME = "mill-2.0-py3-none-any.whl"
Make = Callable[[str, bytes], RawObject]


def wheel(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def documents(raw: RawObject) -> dict[str, Document]:
    return {row.id: row for row in convert(raw) if isinstance(row, Document)}


def refused(raw: RawObject) -> list[Refused]:
    return [row for row in convert(raw) if isinstance(row, Refused)]


def metadata_of(document: Document) -> dict[str, Any]:
    assert isinstance(document.metadata, dict)
    return document.metadata


MILL = wheel(
    {
        "mill/stone.py": b"x = 1\n",
        "mill/locale/pt_BR/LC_MESSAGES/mill.po": b'msgid "flour"\nmsgstr "farinha"\n',
        "mill/locale/pt_BR/LC_MESSAGES/mill.mo": b"\xde\x12\x04\x95",
        "mill/docs/guide.rst": b"Guide\n=====\n",
        "mill/logo.png": b"\x89PNG",
        "mill-2.0.data/scripts/grind.py": b"print()\n",
        "mill-2.0.dist-info/METADATA": METADATA,
        "mill-2.0.dist-info/licenses/LICENSE.txt": b"MIT",
        "mill-2.0.dist-info/RECORD": b"",
    }
)


def test_a_wheel_gives_its_code_prose_translations_and_description(raw_object: Make) -> None:
    found = documents(raw_object(NAME, MILL))
    assert {id_: (metadata_of(row)["kind"], row.text) for id_, row in found.items()} == {
        "mill/mill/stone.py": ("code", "x = 1\n"),
        "mill/mill/locale/pt_BR/LC_MESSAGES/mill.po": ("translation", "farinha"),
        "mill/mill/docs/guide.rst": ("prose", "Guide\n=====\n"),
        "mill/data/scripts/grind.py": ("code", "print()\n"),
        "mill/dist-info/METADATA": ("readme", "A mill grinds.\n"),
    }
    assert refused(raw_object(NAME, MILL)) == []


def test_a_document_knows_its_package_licence_and_language(raw_object: Make) -> None:
    translation = documents(raw_object(NAME, MILL))["mill/mill/locale/pt_BR/LC_MESSAGES/mill.po"]
    assert translation.metadata == {
        "kind": "translation",
        "license": "MIT",
        "locale": "pt_BR",
        "package": "mill",
        "path": "mill/locale/pt_BR/LC_MESSAGES/mill.po",
        "version": "2.0",
    }


def test_two_releases_give_the_same_ids(raw_object: Make) -> None:
    later = wheel(
        {
            "mill-3.0.data/scripts/grind.py": b"x\n",
            "mill-3.0.dist-info/METADATA": METADATA.replace(b"2.0", b"3.0"),
        }
    )
    assert (
        set(documents(raw_object("mill-3.0-py3-none-any.whl", later)))
        == {"mill/data/scripts/grind.py", "mill/dist-info/METADATA"}
        <= set(documents(raw_object(NAME, MILL)))
    )


def test_what_matches_a_kind_but_cannot_be_read_is_refused_with_its_place(raw_object: Make) -> None:
    raw = wheel(
        {
            "mill/__init__.py": b"",
            "mill/bad.txt": b"\xff\xfe",
            "mill/locale/de/LC_MESSAGES/mill.po": b'msgid "flour"\nmsgstr ""\n',
            "mill-2.0.dist-info/METADATA": METADATA,
        }
    )
    assert [(row.reason, row.where, row.raw) for row in refused(raw_object(NAME, raw))] == [
        ("empty text", "mill-2.0-py3-none-any.whl: mill/__init__.py", b""),
        ("not utf-8", "mill-2.0-py3-none-any.whl: mill/bad.txt", b"\xff\xfe"),
        (
            "no translated strings",
            "mill-2.0-py3-none-any.whl: mill/locale/de/LC_MESSAGES/mill.po",
            b'msgid "flour"\nmsgstr ""\n',
        ),
    ]
    assert set(documents(raw_object(NAME, raw))) == {"mill/dist-info/METADATA"}


def test_a_licence_read_by_hand_stands_in_where_the_metadata_names_none(raw_object: Make) -> None:
    bare = METADATA.replace(b"License-Expression: MIT\n", b"")
    for name, licence in [("Mill", "NOASSERTION"), ("Sphinx", LICENCES["sphinx"])]:
        raw = raw_object("x.dist-info/METADATA", bare.replace(b"Mill", name.encode(), 1))
        [document] = documents(raw).values()
        assert metadata_of(document)["license"] == licence


def test_the_metadata_of_an_installed_distribution_is_one_document(raw_object: Make) -> None:
    [document] = convert(raw_object("mill-2.0.dist-info/METADATA", METADATA))
    assert document == documents(raw_object(NAME, MILL))["mill/dist-info/METADATA"]
    [row] = convert(raw_object("mill-2.0.dist-info/METADATA", b"Name: Mill\nVersion: 1\n"))
    assert isinstance(row, Refused)
    assert row.reason == "empty text"


@pytest.mark.parametrize("files", [{}, {"a-1.dist-info/METADATA": METADATA, "b-1.dist-info/METADATA": METADATA}])
def test_an_archive_without_one_metadata_is_an_error(raw_object: Make, files: dict[str, bytes]) -> None:
    with pytest.raises(DataError, match="a wheel has one METADATA"):
        list(convert(raw_object(NAME, wheel(files))))


def test_a_wheel_that_is_cut_off_is_an_error_that_names_it(raw_object: Make) -> None:
    cut = raw_object(NAME, MILL[:-30])
    with pytest.raises(DataError, match=r"mill-2\.0-py3-none-any\.whl: not a complete zip archive"):
        list(convert(cut))


def test_the_recipe_reads_wheels_and_metadata_files_only() -> None:
    names = ["a-1-py3-none-any.whl", "a-1.dist-info/METADATA", "a-1.tar.gz", "METADATA.json"]
    assert [PACKAGES.wants(name) for name in names] == [True, True, False, False]
