from pathlib import Path

import pytest

from gristmill.errors import RecipeError
from gristmill.lake.store.folder import FolderStore
from gristmill.stages.dolma_tagging.paths import objects, output_of, tagged_files


def files(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def names(pattern: str | Path, output: str = "out") -> list[str]:
    return [file.name for file in tagged_files([str(pattern)], [output], {})[0]]


@pytest.mark.parametrize(
    ("pattern", "output"),
    [
        ("wiki/documents/*.gz", "wiki/X"),
        ("wiki/documents/en/*/*.gz", "wiki/X/en"),
        ("wiki/documents/en/a*/0.gz", "wiki/X/en"),
        ("/data/documents/en/0.json.gz", "/data/X/en"),
        ("documents/documents/*", "X/documents"),
        ("s3://b/c4/documents/train/*.gz", "s3://b/c4/X/train"),
        ("wiki/documents/en", "wiki/X"),
        ("wiki/documents/en/", "wiki/X"),
    ],
)
def test_attributes_go_beside_the_documents(pattern: str, output: str) -> None:
    assert output_of(pattern, "X") == output


@pytest.mark.parametrize("pattern", ["wiki/*.gz", "wiki/docs*/documents/*", "documents", "wiki/documents"])
def test_without_a_folder_of_documents_a_destination_is_needed(pattern: str) -> None:
    with pytest.raises(RecipeError, match="give a destination"):
        output_of(pattern, "X")


def test_a_file_keeps_the_folders_that_differ(tmp_path: Path) -> None:
    files(tmp_path, "d/en/a/0.gz", "d/en/a/1.gz", "d/en/b/0.gz", "d/en/a/.hidden.gz", "d/en/a/x.txt")
    assert names(tmp_path / "d/*/*/*.gz") == ["a/0.gz", "a/1.gz", "b/0.gz"]
    assert names(tmp_path / "d/**/*.gz") == ["a/0.gz", "a/1.gz", "b/0.gz"]
    assert names(tmp_path / "d/*/a/*.gz") == ["0.gz", "1.gz"]
    assert names(tmp_path / "d/en/a/1.gz") == ["1.gz"]
    assert names(tmp_path / "d/en/a") == ["0.gz", "1.gz", "x.txt"]
    assert names(tmp_path / "d/en/[ab]/0.gz") == ["a/0.gz", "b/0.gz"]


def test_a_pattern_without_files_is_told_and_none_at_all_is_an_error(tmp_path: Path) -> None:
    files(tmp_path, "d/0.gz")
    found, missed = tagged_files([f"{tmp_path}/d/*.gz", f"{tmp_path}/e/*.gz"], ["o", "o"], {})
    assert ([file.name for file in found], missed) == (["0.gz"], [f"{tmp_path}/e/*.gz"])
    with pytest.raises(RecipeError, match="no file matches"):
        names(tmp_path / "e/*.gz")


def test_two_files_of_one_output_are_refused(tmp_path: Path) -> None:
    files(tmp_path, "a/0.gz", "b/0.gz")
    with pytest.raises(RecipeError, match=r"a/0.gz and .*b/0.gz have the same output o/0.gz"):
        tagged_files([f"{tmp_path}/a/*.gz", f"{tmp_path}/b/*.gz"], ["o", "o"], {})


def test_folders_of_a_bucket_that_begin_with_a_dot_are_not_read(tmp_path: Path) -> None:
    files(tmp_path, "mixed/a.json", "mixed/b/c.json", "mixed/.dolma-tag/manifest.json", "mixed/b/.d.json")
    found = objects(FolderStore(str(tmp_path)), "mixed/**/*.json")
    assert [path for path, _ in found] == ["mixed/a.json", "mixed/b/c.json"]
