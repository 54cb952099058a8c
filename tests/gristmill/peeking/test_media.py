import json
from pathlib import Path
from typing import Any

import pytest

from gristmill.peeking.head import Head, Inside
from gristmill.peeking.media import sniff_media_lines, sniff_webdataset


def lines(*rows: dict[str, Any]) -> Head:
    return Head(Path("a.jsonl"), "", "".join(json.dumps(row) + "\n" for row in rows).encode(), whole=True)


def tar(*names: str) -> Head:
    return Head(Path("a.tar"), "", b"", whole=True, archive=".tar", members=tuple(Inside(name, None) for name in names))


def test_the_draft_of_lines_with_media_names_their_fields() -> None:
    facts = sniff_media_lines(lines({"image": "1.jpg", "caption": "One."}, {"image": "2.jpg", "caption": "Two."}))
    assert facts is not None
    assert facts.options == {"text": ("caption",), "media": ("image",)}
    facts = sniff_media_lines(lines({"id": "a", "v": ["1.MP4", "b/2.mp4"], "text": "x"}))
    assert facts is not None
    assert facts.options == {"id_key": "id", "media": ("v",)}


@pytest.mark.parametrize("value", ["http://a.org/1.jpg", "/1.jpg", "x", [], None, 7, ["1.jpg", "x"], {"a": "1.jpg"}])
def test_other_lines_are_not_taken(value: object) -> None:
    assert sniff_media_lines(lines({"image": value, "text": "x"})) is None


def test_samples_have_the_same_parts_of_which_one_is_text() -> None:
    facts = sniff_webdataset(tar("1.jpg", "1.txt", "2.jpg", "2.txt", "3.jpg"))
    assert facts is not None
    assert facts.fields[:2] == ("samples of the parts jpg, txt", "media by name: jpg")


@pytest.mark.parametrize(
    "names",
    [
        ["1.txt", "2.txt"],
        ["1.jpg", "1.png", "2.jpg", "2.png"],
        ["one.c", "one.h", "two.c", "two.h"],
        ["1.txt", "1.jpg", "README", "LICENSE", "Makefile"],
        ["1.txt", "1.jpg", "2.txt", "3.txt", "4.txt"],
        [],
    ],
)
def test_other_archives_are_not_taken(names: list[str]) -> None:
    assert sniff_webdataset(tar(*names)) is None
