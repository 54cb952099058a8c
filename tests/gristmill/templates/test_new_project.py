"""The names, the folder and the files of a new project."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gristmill.errors import RecipeError
from gristmill.lake.ledger.lake_id import make_lake_id
from gristmill.lake.store.folder import FolderStore
from gristmill.templates.new_project import Names, check_folder, names_of, project_files, write_project

CORPUS = Names("my-corpus", "my_corpus")
ELSEWHERE = "s3://bucket/lake"


def refused(call: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(RecipeError) as error:
        call(*arguments)
    return str(error.value)


def test_words_are_joined_as_a_source_and_as_a_package_wants_them(tmp_path: Path) -> None:
    assert names_of("my-corpus", tmp_path) == names_of("my_corpus", tmp_path) == CORPUS
    assert names_of("tales2024", tmp_path) == Names("tales2024", "tales2024")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "such as 'my-corpus'; --name names it"),
        ("My Corpus", "such as 'my-corpus'; --name names it"),
        ("2024-tales", "such as 'tales'; --name names it"),
        ("tales.v1", "such as 'tales-v1'; --name names it"),
        ("tales--", "such as 'tales'; --name names it"),
        ("mühle", "such as 'm-hle'; --name names it"),
        ("a" * 41, "has 41 characters; give at most 40"),
        ("raw", "and none of index, ledgers, raw"),
        ("class", "is a word of Python"),
        ("match", "is a word of Python"),
        ("lake", "is the name of another folder of a project"),
        ("json", "is the name of a module of Python's library"),
        ("stdlib", "is the name of a source of Gristmill's own"),
        ("packages", "is the name of a source of Gristmill's own"),
        ("pytest", f"finds a package 'pytest' already, at {Path(pytest.__file__).parent}"),
        ("gristmill", "finds a package 'gristmill' already, at "),
    ],
)
def test_a_name_that_cannot_be_is_refused_in_words(name: str, words: str, tmp_path: Path) -> None:
    assert words in refused(names_of, name, tmp_path)


def test_a_folder_of_the_name_that_is_beside_or_in_the_project_is_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rye" / "rye").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert names_of("rye", tmp_path / "rye").package == "rye"
    assert names_of("rye", tmp_path / "wheat").package == "rye"
    assert f"already, at {tmp_path / 'rye'}" in refused(names_of, "rye", tmp_path / "a" / "b" / "rye")


def test_a_folder_must_be_new_or_empty_but_for_what_is_harmless(tmp_path: Path) -> None:
    folder = tmp_path / "mill"
    check_folder(folder, ELSEWHERE)
    (folder / ".git").mkdir(parents=True)
    (folder / ".venv").mkdir()
    check_folder(folder, ELSEWHERE)
    for name in ("a", "b", "c", "d"):
        (folder / name).touch()
    assert f"{folder} is not empty: it holds a, b, c, ...; give" in refused(check_folder, folder, ELSEWHERE)
    assert "is a file; choose another name" in refused(check_folder, folder / "a", ELSEWHERE)
    assert f"{folder / 'e'} is not a folder; make it first" in refused(check_folder, folder / "e" / "f", ELSEWHERE)


def test_a_folder_in_a_lake_is_refused_also_by_a_link(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    (lake / "sources").mkdir(parents=True)
    (tmp_path / "link").symlink_to(lake / "sources")
    check_folder(lake / "mill", ELSEWHERE)  # a folder `sources` alone makes no lake
    assert f"is in the lake {lake};" in refused(check_folder, lake / "mill", str(lake))
    make_lake_id(FolderStore(str(lake)))
    for folder in (lake / "mill", tmp_path / "link" / "mill"):
        assert f"{folder} is in the lake {lake};" in refused(check_folder, folder, ELSEWHERE)
    check_folder(tmp_path / "mill", ELSEWHERE)


def test_the_same_names_give_the_same_files_and_no_mark_is_left() -> None:
    files = project_files(CORPUS, ("my_corpus",), 16)
    assert list(files) == sorted(files)
    assert files == project_files(CORPUS, ("my_corpus",), 16)
    assert len(files) == 23
    for path, data in files.items():
        assert not [mark for mark in ("_package_", "_source_", "template", "dot-") if mark in path], path
        assert not [word for word in data.decode().split('"') if word.startswith("@")], path
        assert b"@name@" not in data
        assert b"@package@" not in data
    assert b'shelves = ["my_corpus"]' in files["pyproject.toml"]
    assert b"shards=Hashed(16)" in files["my_corpus/sources/my_corpus.py"]
    assert b"MY_CORPUS = Source(" in files["my_corpus/sources/my_corpus.py"]
    starter = project_files(CORPUS, ("my_corpus", "gristmill"), 4)
    assert {path for path in files if files[path] != starter[path]} == {
        "pyproject.toml",
        "my_corpus/sources/my_corpus.py",
    }


def tree(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_project_is_written_to_a_new_folder_and_into_an_empty_one(tmp_path: Path) -> None:
    files = {"a": b"1", "b/c": b"2"}
    write_project(tmp_path / "new", files, ("d/e",))
    (tmp_path / "old" / ".git").mkdir(parents=True)
    before = (tmp_path / "old").stat().st_ino
    write_project(tmp_path / "old", files)
    assert tree(tmp_path / "new") == ["a", "b", "b/c", "d", "d/e"]
    assert tree(tmp_path / "old") == [".git", "a", "b", "b/c"]
    assert tree(tmp_path)[-1] == "old/b/c"
    assert (tmp_path / "old").stat().st_ino == before  # a shell may stand in it
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o777 & ~mask


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    words = refused(write_project, tmp_path / "new", {"a": b"", "a/b": b""})
    assert words == f"{tmp_path / 'new'} cannot be written: File exists; nothing was written"
    assert tree(tmp_path) == []
    (tmp_path / "old" / "b" / "x").mkdir(parents=True)  # it came after the folder was checked
    words = refused(write_project, tmp_path / "old", {"a": b"", "b/c": b""})
    assert words == f"{tmp_path / 'old'} cannot be written: Directory not empty; nothing was written"
    assert tree(tmp_path) == ["old", "old/b", "old/b/x"]
