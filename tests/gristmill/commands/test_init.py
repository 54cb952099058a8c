"""`init`: a project of one's own, which runs at once."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from talklake import talk_file

from gristmill.__main__ import main

ROOT = Path(__file__).resolve().parents[3]
RUFF = str(Path(sys.executable).with_name("ruff"))


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GRISTMILL_LAKE", "GRISTMILL_SHELVES", "DAGSTER_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", sys.path[:])  # a command puts the project of its folder there
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_init_says_what_it_wrote_and_what_to_do_next(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "my-corpus"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"wrote 23 files to {empty}/my-corpus; recipes are in my_corpus/",
        "next:",
        "  cd my-corpus",
        "  make demo",
        "  mkdir -p lake/sources/my-corpus/raw/first && cp -r YOUR-TEXTS/. lake/sources/my-corpus/raw/first/",
        "  gristmill plan",
        "  gristmill make",
    ]
    assert (empty / "my-corpus/lake/sources/my-corpus/raw/first").is_dir()
    assert main(["init", "my-corpus"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"{empty}/my-corpus is not empty: it holds .github, .gitignore, Makefile, ...; give")


def test_init_writes_into_the_current_folder_and_the_same_whatever_the_way_there(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = empty / "one" / "my-corpus"
    (here / ".git").mkdir(parents=True)
    monkeypatch.chdir(here)
    assert main(["init", "."]) == 0
    assert capsys.readouterr().out.splitlines()[1:3] == ["next:", "  make demo"]
    (empty / "two").mkdir()
    monkeypatch.chdir(empty)
    assert main(["init", str(empty / "two" / "my_corpus")]) == 0
    assert main(["init", "one/../two/Third", "--name", "my-corpus"]) == 0
    assert tree(here) == tree(empty / "two" / "my_corpus") == tree(empty / "two" / "Third")


def test_the_starter_and_the_number_of_shards_are_what_was_asked_for(empty: Path) -> None:
    assert main(["init", "rye", "--with-starter", "--shards", "64"]) == 0
    files = tree(empty / "rye")
    assert b'shelves = ["rye", "gristmill"]' in files["pyproject.toml"]
    assert b"Hashed(64)" in files["rye/sources/rye.py"]


def test_what_is_refused_is_not_written(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["json"], ["rye", "--shards", "0"], ["rye", "--shards", "10001"], ["lake/rye"]):
        assert main(["init", *arguments]) == 2
    said = capsys.readouterr().err
    assert "--shards 0: give 1 to 10,000 shards" in said
    assert list(empty.iterdir()) == []


def run(project: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["rye", "corpus-" + 33 * "x"])
def test_the_project_is_formatted_and_clean_without_a_configuration_of_ours(name: str, empty: Path) -> None:
    assert main(["init", name]) == 0
    assert run(empty / name, RUFF, "format", "--check", "--no-cache").startswith("1")
    assert run(empty / name, RUFF, "check", "--no-cache") == "All checks passed!\n"


@pytest.mark.slow  # a whole run of the sample in Dagster
def test_the_projects_own_test_passes_and_git_keeps_recipes_and_samples_alone(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert main(["init", "rye"]) == 0
    project = empty / "rye"
    written = set(tree(project))
    assert "1 passed" in run(project, sys.executable, "-m", "pytest", "-p", "no:cacheprovider")
    for made in ("lake/lake.json", "demo/lake.json", "demo/sources/rye/v0/x", "demo/mixes/x", ".dagster/x", ".venv/x"):
        (project / made).parent.mkdir(parents=True, exist_ok=True)
        (project / made).touch()
    run(project, "git", "init", "--quiet")
    run(project, "git", "add", ".")
    assert set(run(project, "git", "ls-files").splitlines()) == written
    assert "demo    tokens of the five sample texts" in run(project, "make")


def test_the_source_that_it_writes_says_how_to_read_latin_1(empty: Path) -> None:
    assert main(["init", "tales"]) == 0
    convert = runpy.run_path("tales/tales/sources/tales.py")["convert"]
    [latin] = convert(talk_file(empty, "a.txt", b"caf\xe9"))
    assert latin.where == 'a.txt (for Latin-1: decoded_text(data, encoding="latin-1"))'
    [blank] = convert(talk_file(empty, "b.txt", b" "))
    assert (blank.reason, blank.where) == ("empty text", "b.txt")
