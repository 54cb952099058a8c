"""What a pyproject.toml says of recipes and lake, where it is looked for, and where it is not believed."""

import os
import sys
from pathlib import Path

import pytest

from gristmill.__main__ import main
from gristmill.api import make, open_lake, read_catalogue
from gristmill.environment import read_environment
from gristmill.errors import RecipeError
from gristmill.project import Project, find_project

LAKE_ID = '{"id":"%s","schema":1}' % ("0a" * 16)


def project(folder: Path, table: str = 'shelves = ["ourcorpus"]') -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(f"[tool.gristmill]\n{table}\n")
    return folder


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GRISTMILL_LAKE", "GRISTMILL_SHELVES", "DAGSTER_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_the_nearest_table_above_counts(tmp_path: Path) -> None:
    outer, inner = project(tmp_path / "outer"), project(tmp_path / "outer" / "inner", 'shelves = ["a.b", "c", "c"]')
    below = inner / "notebooks"
    below.mkdir()
    (below / "pyproject.toml").write_text("[tool.other]\n")
    assert find_project(below) == Project(str(inner), ("a.b", "c"), str(inner / "lake"))
    assert find_project(outer) == Project(str(outer), ("ourcorpus",), str(outer / "lake"))
    assert find_project(tmp_path) is None


def test_a_file_of_others_is_not_parsed_and_ours_is_named_if_it_cannot_be(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("no toml [")
    assert find_project(tmp_path) is None
    file.write_text("[tool.gristmill\n")
    with pytest.raises(RecipeError, match=r"^.*/pyproject\.toml cannot be read: .*line 1.*; mend this file$"):
        find_project(tmp_path)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('shelf = ["a"]', r"the unknown key 'shelf'; its keys are shelves, lake$"),
        ('lake = "lake"', r"shelves is None; give a list of packages, such as shelves = \[\"mycorpus\"\]$"),
        ('shelves = "a"', r"shelves is 'a'; give a list"),
        ("shelves = [1]", r"shelves is \[1\]; give a list"),
        ('shelves = ["a-b"]', r"shelves is \['a-b'\]; give a list"),
        ('shelves = ["../a"]', r"shelves is \['../a'\]; give a list"),
        ('shelves = ["a"]\nlake = 3', r"lake is 3; give a folder relative to this file"),
        ('shelves = ["a"]\nlake = ""', r"lake is ''; give a folder"),
    ],
)
def test_a_key_that_is_unknown_or_of_another_type_is_refused(tmp_path: Path, table: str, words: str) -> None:
    with pytest.raises(RecipeError, match=r"^.*/pyproject\.toml: \[tool\.gristmill\].* ?" + words):
        find_project(project(tmp_path, table))


def test_a_table_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\ngristmill = 1\n")
    with pytest.raises(RecipeError, match=r"tool\.gristmill is 1; write a table, \[tool\.gristmill\]$"):
        find_project(tmp_path)


def test_variables_win_over_the_project(tmp_path: Path) -> None:
    here = project(tmp_path / "corpus", 'shelves = ["ourcorpus"]\nlake = "../data/lake"')
    told = read_environment({}, here)
    assert told.shelves == ("ourcorpus",)
    assert (told.lake, told.home) == (str(tmp_path / "data" / "lake"), str(here / ".dagster"))
    given = {"GRISTMILL_SHELVES": "gristmill, theirs", "GRISTMILL_LAKE": "s3://b/c", "DAGSTER_HOME": "/home/d"}
    told = read_environment(given, here)
    assert (told.shelves, told.lake, told.home) == (("gristmill", "theirs"), "s3://b/c", "/home/d")


def test_a_lake_that_is_no_lake_is_named_with_the_file(tmp_path: Path) -> None:
    here = project(tmp_path, 'shelves = ["a"]\nlake = "gs://bucket"')
    with pytest.raises(RecipeError, match=r"^.*/pyproject\.toml: lake is 'gs://bucket'; give a folder or s3://"):
        read_environment({}, here)


def test_without_project_and_variable_there_are_no_recipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    told = read_environment()
    assert (told.shelves, told.lake, told.home) == ((), str(tmp_path / "lake"), str(tmp_path / ".dagster"))
    (tmp_path / "lake").mkdir()
    assert main(["plan"]) == 2
    assert capsys.readouterr().err.startswith("no recipes are named: start in a project, which `gristmill init` makes")
    with pytest.raises(RecipeError, match=r"^no recipes are named: .* --shelves PACKAGE,\.\.\. or GRISTMILL_SHELVES"):
        next(make(open_lake(), "tales"))


@pytest.mark.parametrize("room", [".", "src"])
def test_a_projects_packages_are_found_from_a_folder_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: str
) -> None:
    package = f"corpus_in_{'root' if room == '.' else room}"
    shelf = project(tmp_path, f'shelves = ["{package}"]') / room / package / "sources"
    shelf.mkdir(parents=True)
    (shelf / "poems.py").write_text(
        "from gristmill.readers.dolma import DolmaLines\nfrom gristmill.recipes.source import Source\n"
        'POEMS = Source(name="poems", convert=DolmaLines("poems"), licence="CC0-1.0")\n'
    )
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert list(read_catalogue().sources) == ["poems"]
    assert main(["plan", str(tmp_path)]) == 2  # the project is in this lake
    raw = tmp_path / "lake" / "sources" / "poems" / "raw" / "2024"
    raw.mkdir(parents=True)
    (raw / "a.jsonl").write_text('{"id":"1","text":"A rose."}\n')
    assert main(["plan"]) == 1  # one partition is to be made


def test_data_never_speaks_for_the_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = tmp_path / "lake"
    here = project(lake / "sources" / "evil", 'shelves = ["evil"]\nlake = "elsewhere"')
    with pytest.raises(RecipeError, match=r"^the project .*/evil is in the lake .*Move the project out of the lake"):
        read_environment({"GRISTMILL_LAKE": str(lake)}, here)
    monkeypatch.chdir(here)
    assert main(["verify", str(lake)]) == 2
    assert find_project(here) is not None  # nothing marks the folder as a lake yet
    (lake / "lake.json").write_text(LAKE_ID)
    with pytest.raises(RecipeError, match=rf"^the project .*/evil is in the lake {lake};.* remove {lake}/lake.json$"):
        find_project(here)
    (lake / "lake.json").write_text('{"depth": 4}')  # a file of others
    assert find_project(here) is not None
    (lake / "sources" / "tales" / "raw").mkdir(parents=True)
    with pytest.raises(RecipeError, match=rf"if {lake} is no lake, remove {lake}/sources/tales/raw$"):
        find_project(here)
    (lake / "sources" / "tales" / "raw").rmdir()


def test_a_project_among_raw_data_is_refused_although_nothing_was_made_of_them(tmp_path: Path) -> None:
    hostile = project(tmp_path / "lake" / "sources" / "tales" / "raw" / "first", 'shelves = ["evil"]\nlake = "/other"')
    with pytest.raises(RecipeError, match=f"the project {hostile} is in the lake {tmp_path}/lake; whoever"):
        find_project(hostile)


def test_a_project_in_the_lake_of_the_project_around_it_is_refused(tmp_path: Path) -> None:
    project(tmp_path, 'shelves = ["ourcorpus"]\nlake = "data"')
    hostile = project(tmp_path / "data" / "mixes", 'shelves = ["evil"]\nlake = "/other"')
    with pytest.raises(RecipeError, match=f"the project {hostile} is in the lake {tmp_path}/data; whoever"):
        find_project(hostile)
    beside = project(tmp_path / "beside")
    assert find_project(beside) == Project(str(beside), ("ourcorpus",), str(beside / "lake"))


def test_a_pyproject_that_is_no_plain_file_is_named_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pyproject.toml")
    with pytest.raises(RecipeError, match=r"pyproject\.toml is no plain file"):
        find_project(tmp_path)
    (tmp_path / "pyproject.toml").unlink()
    (tmp_path / "pyproject.toml").symlink_to(tmp_path / "nothing")
    with pytest.raises(RecipeError, match=r"pyproject\.toml is no plain file, or a link to nothing"):
        find_project(tmp_path)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("shelves = []", "shelves is empty"),
        ('shelves = ["a"]\nlake = "a\\u0000b"', "give a folder relative"),
        ('shelves = ["a"]\nlake = "~nobody-of-this-name/x"', "write the folder's path"),
        (f"shelves = {'[' * 5000}", "mend this file"),
    ],
)
def test_odd_values_are_errors_in_words(tmp_path: Path, table: str, words: str) -> None:
    project(tmp_path, table)
    with pytest.raises(RecipeError, match=words):
        find_project(tmp_path)
