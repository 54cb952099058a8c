"""Repositories become documents, a file each."""

import gzip
import io
import os
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from talklake import talk_file

from gristmill.errors import DataError, RecipeError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.code.code_files import CodeFiles
from gristmill.recipes.raw_object import LeftOut, RawObject, Refused

MEND = 'declare encodings=("utf-8-sig", "latin-1"), or as the files are'
SAMPLES = os.environ.get("GRISTMILL_SAMPLE_DATA")
APACHE = b"Apache License\nVersion 2.0, January 2004\n"


def tarred(files: dict[str, bytes], **links: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", pax_headers={"comment": "c0ffee"}) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for name, target in links.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return buffer.getvalue()


def read(tmp_path: Path, name: str, data: bytes, **options: Any) -> list[Any]:
    return list(CodeFiles(source="talks", **options)(talk_file(tmp_path, name, data)))


def test_a_file_has_its_path_language_licence_repository_and_commit(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "ann/mill.tar.gz", tarred({"src/a.rs": b"fn a() {}\n", "LICENSE": APACHE}))
    convert = CodeFiles(source="talks")(raw)
    assert next(convert) == Document(
        id="ann/mill/src/a.rs",
        text="fn a() {}\n",
        source="talks",
        metadata={
            "kind": "code", "repository": "ann/mill", "path": "src/a.rs", "programming_language": "Rust",
            "license": "Apache-2.0", "license_from": "LICENSE", "commit": "c0ffee",
        },
    )  # fmt: skip
    assert raw.take_raw_span() == RawSpan(0, 10, "src/a.rs")
    assert list(convert) == [LeftOut("unknown language")]


def test_licences_come_from_the_file_then_from_above_then_from_the_recipe(tmp_path: Path) -> None:
    files = {
        "a.py": b"# SPDX-License-Identifier: MIT\n",
        "b.py": b"b = 1\n",
        "lib/COPYING": APACHE,
        "lib/c.py": b"c = 1\n",
    }
    made = read(tmp_path, "m.tar.gz", tarred(files), license="ISC", repository="ann/mill")
    assert [
        (each.id, each.metadata["license"], each.metadata["license_from"])
        for each in made
        if not isinstance(each, LeftOut)
    ] == [
        ("ann/mill/a.py", "MIT", "header"),
        ("ann/mill/b.py", "ISC", "recipe"),
        ("ann/mill/lib/c.py", "Apache-2.0", "lib/COPYING"),
    ]


def test_what_nobody_wrote_is_left_out_by_reason_and_bad_files_are_refused(tmp_path: Path) -> None:
    files = {
        "logo.py": b"\0", "vendor/a.go": b"package a\n", "node_modules/b.js": b"b\n", "c_pb2.py": b"c = 1\n",
        "d.js": b"d;" * 200,
        "__init__.py": b"", "data.bin2": b"text\n", "e.go": b"package e\n", "f.py": b"'\xff'\n", "../g.py": b"g\n",
        "h.py": b"x" * 101 + b"\n" * 900, "i.py": b"i = 1\n",
        "j.png": b"\0" * 1001, "k_pb2.py": b"k" * 1001, "l.go": b"l" * 1001,
    }  # fmt: skip
    made = read(tmp_path, "m.tar.gz", tarred(files, link="i.py"), languages=("Python", "JavaScript"), largest=1000)
    counted = Counter[str]()
    for each in made:
        if isinstance(each, LeftOut):
            counted[each.reason] += each.records
    assert counted == {
        "vendored": 2, "binary": 1, "empty": 1, "generated": 2, "minified": 1,
        "unknown language": 2, "other language": 2, "link": 1,
    }  # fmt: skip
    refused = [(each.reason, each.where) for each in made if isinstance(each, Refused)]
    assert refused == [
        ("undecodable source", f"m.tar.gz entry f.py (invalid or missing encoding declaration; {MEND})"),
        ("unsafe entry name", "m.tar.gz entry ../g.py (2 bytes)"),
        ("entry too large", "m.tar.gz entry h.py (1001 bytes)"),
    ]
    assert [each.id for each in made if isinstance(each, Document)] == ["m/i.py"]


def zipped(files: dict[str, bytes], packing: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("m.tar", lambda files: gzip.decompress(tarred(files))),
        ("m.tar.gz", tarred),
        *(
            (f"m.{packing}.zip", partial(zipped, packing=packing))
            for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
        ),
    ],
)
def test_a_large_binary_with_the_ending_of_a_language_is_left_out_of_an_archive(
    tmp_path: Path, name: str, pack: Callable[[dict[str, bytes]], bytes]
) -> None:
    binary, text = b"\x7fELF\0" + b"x" * 200_000, b"# a\n" * 50_001
    made = read(
        tmp_path, name, pack({"top/a.py": binary, "top/b.py": text, "top/c.py": b"c = 1\n"}), strip=1, largest=9
    )
    large, document = made[1:]
    assert made[0] == LeftOut("binary")
    assert (large.reason, large.raw, large.size) == ("entry too large", b"", 200_004)
    assert document.text == "c = 1\n"


def test_vendored_and_generated_files_are_kept_if_asked_for(tmp_path: Path) -> None:
    files = {"top/vendor/a.go": b"package a\n", "top/b_pb2.py": b"b = 1\n"}
    made = read(tmp_path, "m.tar.gz", tarred(files), vendored=True, generated=True, strip=1)
    assert [each.id for each in made] == ["m/vendor/a.go", "m/b_pb2.py"]


def test_encodings_are_tried_in_order(tmp_path: Path) -> None:
    files = {"a.c": b"// \xe9\n", "b.c": "// é\n".encode("utf-16"), "c.c": "// é\n".encode()}
    made = read(tmp_path, "m.tar.gz", tarred(files), encodings=("utf-8", "cp1252"))
    assert [each.text for each in made] == ["// é\n"] * 3
    assert [type(each) for each in read(tmp_path / "2", "m.tar.gz", tarred(files))] == [Refused, Document, Document]


@pytest.mark.parametrize(
    ("folders", "row_id", "repository", "path"),
    [(2, "ann/mill/src/a.py", "ann/mill", "src/a.py"), (0, "ann/mill/src/a.py", "", "ann/mill/src/a.py")],
)
def test_a_folder_tree_has_a_raw_object_for_each_file(
    tmp_path: Path, folders: int, row_id: str, repository: str, path: str
) -> None:
    (made,) = read(tmp_path, "ann/mill/src/a.py", b"a = 1\n", folders=folders)
    assert (made.id, made.metadata["repository"], made.metadata["path"]) == (row_id, repository, path)
    (large,) = read(tmp_path / "2", "ann/mill/src/a.py", b"a = 1\n", largest=3)
    assert large == Refused("entry too large", "ann/mill/src/a.py (6 bytes)", b"a = 1\n", 6, id="ann/mill/src/a.py")
    assert read(tmp_path / "3", "ann/mill/logo.png", b"PNG0", largest=3) == [LeftOut("unknown language")]
    assert read(tmp_path / "4", "ann/mill/logo.py", b"PNG\0", largest=3) == [LeftOut("binary")]


def test_a_zip_archive_and_a_truncated_one(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.py", "a = 1\n")
    (made,) = read(tmp_path, "m.zip", buffer.getvalue())
    assert made.id == "m/a.py"
    with pytest.raises(DataError, match=r"m\.tar\.gz"):
        read(tmp_path, "m.tar.gz", tarred({"a.py": b"a = 1\n"})[:-20])


def test_an_unknown_language_or_encoding_is_an_error() -> None:
    with pytest.raises(RecipeError, match="did you mean 'Python'"):
        CodeFiles(source="talks", languages=("Pyton",))
    with pytest.raises(RecipeError, match="'klingon' is unknown"):
        CodeFiles(source="talks", encodings=("klingon",))


@pytest.mark.skipif(SAMPLES is None, reason="needs GRISTMILL_SAMPLE_DATA")
def test_the_sample_repository_is_read_with_its_licence_and_commit() -> None:
    name = "TheAlgorithms-Rust.tar.gz"
    size = Path(f"{SAMPLES}/raw/stack/{name}").stat().st_size
    raw = RawObject(FolderStore(f"{SAMPLES}/raw/stack"), name, name, size)
    made = [each for each in CodeFiles(source="code")(raw) if isinstance(each, Document)]
    metadata = [each.metadata for each in made if isinstance(each.metadata, dict)]
    assert {each["license"] for each in metadata} == {"MIT"}
    assert {each["commit"] for each in metadata} == {"2c53ddfa4b43da4df34bc2f990c5e806f455cb90"}
    assert Counter(each["programming_language"] for each in metadata) == {"Rust": 423, "TOML": 1}
