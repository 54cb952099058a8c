"""An erasure names the media files of the documents that it cuts, and leaves the files where they are."""

import json
from pathlib import Path

import pytest
from testkit import Mill, make_documents

from gristmill.__main__ import main
from gristmill.lake.store.folder import FolderStore
from gristmill.raw_data.erasures import MediaFile
from gristmill.takedowns.erasing.erasure import erasure_record_path
from gristmill.takedowns.erasing.named_media import WHY, media_still_present

RECIPES = """
from gristmill.recipes.mix import Mix, Stream

DRAWN = Mix(name="drawn", streams=(Stream(source="pages", version="v0"),))
"""
TARS = """
from gristmill.recipes.export import Export
from gristmill.energon.recipes.exports import EnergonWebdataset

TARS = Export(
    name="tars",
    mixes=("drawn",),
    format=EnergonWebdataset(files={"png": "metadata.image?"}, root="media/drawn/"),
)
"""
LINES = """
from gristmill.recipes.export import Export
from gristmill.energon.recipes.exports import EnergonJsonl

LINES = Export(name="lines", mixes=("drawn",), format=EnergonJsonl(media=("metadata.sounds",), root="media/heard"))
"""


def project(folder: Path) -> None:
    """A package with a mix of pages and two exports of it."""
    for path, text in (
        ("__init__.py", ""),
        ("mixes/__init__.py", ""),
        ("mixes/drawn.py", RECIPES),
        ("exports/__init__.py", ""),
        ("exports/tars.py", TARS),
        ("exports/lines.py", LINES),
    ):
        file = folder / "drawnshelf" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.mark.slow
def test_media_files_of_the_documents_are_not_erased_and_said_so_until_they_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    documents = make_documents(3)
    for number, row in enumerate(documents):
        row["metadata"] = {"image": f"{number}.png", "sounds": [f"{number}.wav", "all.wav", "gone.wav"]}
        mill.store.put(f"media/drawn/{number}.png", b"face %d" % number)
        mill.store.put(f"media/heard/{number}.wav", b"voice %d" % number)
    mill.store.put("media/heard/all.wav", b"applause")
    mill.raw("a.jsonl.gz", documents)
    mill.convert()
    asked = tmp_path / "asked.jsonl"
    asked.write_text(json.dumps({"source": "pages", "id": documents[1]["id"]}))
    pair = ("pages", str(documents[1]["id"]))

    def erase(*words: str) -> tuple[int, list[str]]:
        shelves = "gristmill,testshelf,drawnshelf"
        code = main(["erase", str(mill.root), "--ids", str(asked), "--shelves", shelves, *words])
        assert code < 2, capsys.readouterr().err
        return code, [line for line in capsys.readouterr().out.splitlines() if line.startswith("not ")]

    three = ["media/drawn/1.png", "media/heard/1.wav", "media/heard/all.wav"]
    said = [f"not erased: {path}: {WHY}" for path in three]
    assert erase("--dry-run") == (1, said)
    for _ in range(2):  # the second command finds the document nowhere
        assert erase() == (1, said)
        record = json.loads(mill.store.read(erasure_record_path({pair: ""})))
        assert (record["done"], record["left"]) == (False, [f"{path}: {WHY}" for path in three])
        assert record["media"] == [[*pair, *path.rsplit("/", 1)] for path in three]
        mill.convert()
    mill.store.delete(three[:2])
    assert erase() == (1, said[2:])
    record = json.loads(mill.store.read(erasure_record_path({pair: ""})))
    mill.store.put(erasure_record_path({pair: ""}), json.dumps({**record, "media": []}).encode())  # others need it
    assert erase() == (0, [])
    assert json.loads(mill.store.read(erasure_record_path({pair: ""})))["done"]
    assert mill.store.read("media/drawn/0.png") == b"face 0"


def test_a_file_of_which_nobody_can_tell_is_named(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    store.put("media/a.png", b"a")
    there = MediaFile("pages", "1", "media", "a.png")
    unmounted = MediaFile("pages", "1", str(tmp_path / "disk"), "a.png")
    gone = MediaFile("pages", "1", "media", "b.png")
    assert [*media_still_present(store, [there, gone, unmounted])] == [there, unmounted]
