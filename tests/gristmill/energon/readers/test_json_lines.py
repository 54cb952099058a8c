"""Energon's JSON lines as sources."""

from pathlib import Path
from typing import Any

import pytest
from talklake import talk_file

from gristmill.energon.readers.json_lines import EnergonLines
from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.raw_object import Refused


def read(tmp_path: Path, data: bytes, **options: Any) -> list[Any]:
    return list(EnergonLines(source="pairs", **options)(talk_file(tmp_path, "a.jsonl", data)))


def test_names_of_media_are_gathered_and_all_fields_stay(tmp_path: Path) -> None:
    lines = b'{"image": "a.jpg", "caption": "One.", "m": {"v": ["b/c.mp4", null]}}\n{"caption": "Two."}\n'
    first, second = read(tmp_path, lines, text=("caption",), media=("image", "m.v"))
    assert first == Document(
        id=first.id,
        text="One.",
        source="pairs",
        metadata={"image": "a.jpg", "m": {"v": ["b/c.mp4", None]}, "media": ["a.jpg", "b/c.mp4"]},
    )
    assert second == Document(id=second.id, text="Two.", source="pairs")
    assert first.id != second.id


def test_ids_come_from_a_field(tmp_path: Path) -> None:
    [row] = read(tmp_path, b'{"id": "q7", "question": "1+1?", "answer": "2"}', id_key="id", text=("question", "answer"))
    assert (row.id, row.text) == ("q7", "1+1?\n\n2")


@pytest.mark.parametrize("name", ['"/a.jpg"', '"../a.jpg"', '"a{1}.jpg"', "7", '["a.jpg", "b/"]'])
def test_names_that_energon_cannot_use_are_refused(tmp_path: Path, name: str) -> None:
    [row] = read(tmp_path, f'{{"text": "x", "image": {name}}}\n'.encode(), media=("image",))
    assert isinstance(row, Refused)
    assert row.reason == "not a name of a media file"


def test_lines_that_are_not_valid_are_refused(tmp_path: Path) -> None:
    assert [row.reason for row in read(tmp_path, b"{not json}\n[1]\n")] == ["invalid JSON", "not an object"]


@pytest.mark.parametrize("options", [{"text": ()}, {"media": ("",)}, {"media_key": ""}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match="name fields"):
        EnergonLines(source="pairs", **options)
