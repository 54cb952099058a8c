from pathlib import Path

import pytest
from tarfolder import write_shards

from gristmill.energon.preparing.dataset import kind_of, list_files, open_dataset
from gristmill.errors import DataError, RecipeError


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none", "nothing is there"),
        ("none.jsonl", "nothing is there"),
        ("file.txt", "it is a file, and no .jsonl"),
        ("meta.yaml", "a metadataset needs no preparation"),
    ],
)
def test_a_path_that_is_no_dataset_is_refused(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "file.txt").write_text("text")
    with pytest.raises(RecipeError, match=words):
        open_dataset(str(tmp_path / name), {})


def test_the_kind_goes_by_what_is_there(tmp_path: Path) -> None:
    def kind(path: Path) -> str:
        dataset = open_dataset(str(path), {})
        return kind_of(dataset, dataset.open_dataset_store())

    (tmp_path / "a.jsonl").write_text("{}\n")
    assert kind(tmp_path / "a.jsonl") == "jsonl"
    write_shards(tmp_path / "tars", 1)
    assert kind(tmp_path / "tars") == "tars"
    (tmp_path / "files").mkdir()
    with pytest.raises(DataError, match="the folder is empty"):
        kind(tmp_path / "files")
    (tmp_path / "files" / "a.png").write_bytes(b"")
    assert kind(tmp_path / "files") == "files"
    (tmp_path / "files" / ".nv-meta").mkdir()
    (tmp_path / "files" / ".nv-meta" / "index.sqlite").write_bytes(b"")
    assert kind(tmp_path / "files") == "files"
    (tmp_path / "files" / ".nv-meta" / ".info.yaml").write_bytes(b"")
    assert kind(tmp_path / "files") == "tars"


def test_a_relative_path_is_one_below_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text("{}\n")
    assert open_dataset("a.jsonl", {}).url == str(tmp_path / "a.jsonl")
    assert [entry.path for entry in list_files(open_dataset(".", {}).open_dataset_store())] == ["a.jsonl"]
