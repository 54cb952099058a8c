"""WebDatasets as sources: the samples of a tar become documents that refer to media by name."""

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from talklake import talk_file

from gristmill.energon.readers.webdataset import WebdatasetSamples
from gristmill.errors import DataError, RecipeError
from gristmill.formats.tar.keys import safe_key
from gristmill.formats.tar.writer import TarWriter
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.recipes.raw_object import LeftOut, Limits, Refused


def tarred(files: list[tuple[str, bytes]], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def read(tmp_path: Path, files: list[tuple[str, bytes]], **options: Any) -> list[Any]:
    return list(WebdatasetSamples(source="pairs", **options)(talk_file(tmp_path, "a.tar", tarred(files))))


def test_a_sample_is_a_document_that_names_its_media(tmp_path: Path) -> None:
    files = [
        ("cats/tom.jpg", b"\xff\xd8"),
        ("cats/tom.txt", b"A cat."),
        ("cats/tom.json", b'{"lang": "en", "n": 18446744073709551616}'),
        ("cats/tom.seg.png", b"\x89PNG"),
        ("dog.txt", b"A dog."),
    ]
    assert read(tmp_path, files, added="2026", metadata={"license": "CC0"}) == [
        Document(
            id="cats/tom",
            text="A cat.",
            source="pairs",
            added="2026",
            metadata={
                "license": "CC0",
                "lang": "en",
                "n": 18446744073709551616,
                "media": ["cats/tom.jpg", "cats/tom.seg.png"],
            },
        ),
        Document(id="dog", text="A dog.", source="pairs", added="2026", metadata={"license": "CC0"}),
    ]


def test_a_sample_of_several_files_has_no_single_place(tmp_path: Path) -> None:
    raw = talk_file(
        tmp_path, "a.tar", tarred([("tom.jpg", b"\xff\xd8"), ("tom.txt", b"A cat."), ("dog.txt", b"A dog.")])
    )
    made = [(each.id, raw.take_raw_span()) for each in WebdatasetSamples(source="pairs")(raw)]
    assert made == [("tom", None), ("dog", RawSpan(0, 6, "dog.txt"))]


def test_the_text_may_be_a_value_of_json_and_is_not_kept_twice(tmp_path: Path) -> None:
    files = [("1.json", b'{"captions": ["One.", "Two."], "text": "All."}'), ("1.x.json", b"[1]"), ("2.txt", b"Three.")]
    rows = read(tmp_path, files, keep=("json", "x.json"))
    assert [(row.text, row.metadata) for row in rows] == [
        ("All.", {"captions": ["One.", "Two."], "x.json": [1]}),
        ("Three.", {}),
    ]
    [first, refused] = read(tmp_path, files, text="json[captions][1]")
    assert (first.text, first.metadata["captions"]) == ("Two.", ["One.", "Two."])
    assert refused == Refused("no text", "a.tar sample 2 (the sample has no json[captions][1])", b"", id="2")


def test_our_exports_give_the_ids_back(tmp_path: Path) -> None:
    pieces: list[bytes] = []
    writer = TarWriter(pieces.append)
    for text in ("web/a.html:1", "ü"):
        writer.add(safe_key(text), [("txt", b"Text.")])
    writer.close()
    raw = talk_file(tmp_path, "s/a.tar", b"".join(pieces))
    rows: list[Any] = list(WebdatasetSamples(source="pairs", exported=True, shard_in_id=True)(raw))
    assert [row.id for row in rows] == ["s/a.tar/web/a.html:1", "s/a.tar/ü"]
    [refused] = read(tmp_path, [("a=2f.txt", b"x")], exported=True)
    assert refused.reason == "no id in the key"


def test_files_without_a_key_are_counted(tmp_path: Path) -> None:
    files = [("README", b"x"), ("__meta__/a.json", b"{}"), ("a.txt", b"Text."), (".hidden", b"")]
    assert [type(row) for row in read(tmp_path, files)] == [Document, LeftOut]
    assert read(tmp_path, files)[1] == LeftOut("file without a sample key", 3)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([("a.jpg", b"x")], "no text"),
        ([("a.txt", b"caf\xe9")], "not utf-8"),
        ([("a.txt", b"a\0b")], "text holds NUL"),
        ([("a.json", b"{text}")], "invalid JSON"),
        ([("a.json", b'{"text": 7}')], "text is not a string"),
        ([("a.txt", b"one"), ("a.txt", b"two")], "entry name twice"),
        ([("a.txt", b"one"), ("a.jpg", b"1"), ("a.jpg", b"2")], "entry name twice"),
        ([("../a.txt", b"one")], "unsafe entry name"),
        ([("a.txt", b"x" * 2000)], "entry too large"),
    ],
)
def test_samples_that_are_not_whole_are_refused(tmp_path: Path, files: list[tuple[str, bytes]], reason: str) -> None:
    raw = talk_file(tmp_path, "a.tar", tarred([*files, ("z.txt", b"Text.")]))
    raw.limits = Limits(row=1000)
    rows: list[Any] = list(WebdatasetSamples(source="pairs")(raw))
    assert [row.reason for row in rows[:-1]] == [reason]
    assert rows[-1].id == "z"


def test_media_may_be_larger_than_a_row(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "a.tar", tarred([("a.mp4", bytes(5000)), ("a.txt", b"Text.")]))
    raw.limits = Limits(row=1000)
    [row] = WebdatasetSamples(source="pairs")(raw)
    assert isinstance(row, Document)
    assert row.metadata == {"media": ["a.mp4"]}


def test_empty_texts_are_left_out(tmp_path: Path) -> None:
    assert read(tmp_path, [("a.json", b'{"text": " "}')]) == [LeftOut("empty text")]


def test_packed_tars_are_read_and_damaged_ones_are_named(tmp_path: Path) -> None:
    data = tarred([("a.txt", b"Text.")])
    read_all = WebdatasetSamples(source="pairs")
    packed = talk_file(tmp_path, "p.tar.bz2", tarred([("a.txt", b"Text.")], "w:bz2"))
    assert [row.id for row in read_all(packed) if isinstance(row, Document)] == ["a"]
    with pytest.raises(DataError, match="truncated"):
        list(read_all(talk_file(tmp_path, "cut.tar", data[:700])))
    with pytest.raises(DataError, match="not a tar by its name"):
        list(read_all(talk_file(tmp_path, "a.tar.idx", bytes(16))))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "json[a"}, "no place in a sample"),
        ({"media_key": ""}, "media_key is empty"),
        ({"keep": "json"}, "keep"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message.replace("[", r"\[")):
        WebdatasetSamples(source="pairs", **options)
