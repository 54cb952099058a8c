from pathlib import Path

import pytest

from gristmill.dolma.tagging.inputs import Inputs
from gristmill.dolma.tagging.paths import glob_paths, matching_objects, output_folder_of_pattern, tagged_files
from gristmill.errors import RecipeError
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.plain_files import NoFile


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
    assert output_folder_of_pattern(pattern, "X") == output


@pytest.mark.parametrize("pattern", ["wiki/*.gz", "wiki/docs*/documents/*", "documents", "wiki/documents"])
def test_without_a_folder_of_documents_a_destination_is_needed(pattern: str) -> None:
    with pytest.raises(RecipeError, match="give a destination"):
        output_folder_of_pattern(pattern, "X")


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
    found = matching_objects(FolderStore(str(tmp_path)), "mixed/**/*.json")
    assert [path for path, _ in found] == ["mixed/a.json", "mixed/b/c.json"]


def test_brackets_are_those_of_the_toolkit_on_a_disk_and_in_a_bucket(tmp_path: Path) -> None:
    """`glob` decides on a disk, a regular expression in a bucket and for the outputs of a run."""
    files(tmp_path, *(f"d/{name}" for name in "0128^a!][-&\\\n"), "d/x/0", "d/12")
    for inner in (
        "8-12",
        "9-10",
        "9-1",
        "!9-1",
        "!]a",
        "]a",
        "^a",
        "!a",
        "[",
        "&&",
        "a&&]",
        "0-2",
        "]-a",
        "\\",
        "--0",
        "!",
    ):
        for pattern in (f"d/[{inner}]", f"d/[{inner}]*", f"d/*[{inner}]", f"d[{inner}/0", f"d/[x/{inner}]"):
            listed = [path for path in glob_paths(f"{tmp_path}/{pattern}") if Path(path).is_file()]
            found = [f"{tmp_path}/{path}" for path, _ in matching_objects(FolderStore(str(tmp_path)), pattern)]
            assert sorted(found) == sorted(listed), pattern


def test_links_below_two_stars_are_followed(tmp_path: Path) -> None:
    files(tmp_path, "disk/b/1.gz", "documents/a/0.gz", "documents/.git/x.gz")
    (tmp_path / "documents" / "disk").symlink_to(tmp_path / "disk")
    (tmp_path / "documents" / ".git" / "round").symlink_to(tmp_path / "documents")
    assert sorted(glob_paths(f"{tmp_path}/documents/**/*.gz")) == [
        f"{tmp_path}/documents/{name}" for name in ("a/0.gz", "disk/b/1.gz")
    ]


@pytest.mark.parametrize("pattern", ["documents/**/*.gz", "*/**/*.gz", "documents/**", "**"])
def test_a_circle_of_links_below_two_stars_is_named(
    tmp_path: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files(tmp_path, "documents/a/0.gz")
    (tmp_path / "documents" / "a" / "x").symlink_to("..")
    (tmp_path / "documents" / "a" / "y").symlink_to("..")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoFile, match=rf"documents/a/x: a link to {tmp_path}/documents, .*: a circle without end"):
        tagged_files([pattern], ["o"], {})
    with pytest.raises(NoFile, match="a circle without end"):
        Inputs([], [f"{tmp_path}/documents/**/*.gz"])


def test_a_link_below_names_alone_is_no_circle(tmp_path: Path) -> None:
    files(tmp_path, "documents/a/0.gz")
    (tmp_path / "documents" / "a" / "x").symlink_to("..")
    assert names(f"{tmp_path}/documents/*/*.gz") == ["0.gz"]
