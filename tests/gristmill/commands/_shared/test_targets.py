"""The lake among the words. What targets mean: tests/gristmill/pipeline/test_targets.py; in commands: test_make.py."""

from pathlib import Path

import pytest
from dagster_kit import LETTERS_V0, letters
from testkit import Mill, packed

from gristmill.__main__ import main


@pytest.fixture
def here(mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which has a folder `letters`. The lake of the environment has one snapshot of letters."""
    mill.raw("a.jsonl.gz", packed(letters(1, 2)), "letters", "2024")
    for name, value in [("LAKE", str(mill.root)), ("SHELVES", "dagshelf"), ("ENGINE", "inline")]:
        monkeypatch.setenv(f"GRISTMILL_{name}", value)
    folder = tmp_path / "here"
    (folder / "letters").mkdir(parents=True)
    (folder / "letters" / "__init__.py").touch()
    monkeypatch.chdir(folder)
    return folder


def test_a_target_comes_before_a_folder_that_is_no_lake(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "letters"]) == 1
    assert capsys.readouterr().out.splitlines()[0] == f"make     {LETTERS_V0} (2024): 1 to grind; never made"
    assert main(["make", "letters", "--dry-run"]) == 1
    (here / "letters" / "sources/letters/raw").mkdir(parents=True)
    for command in ("plan", "make", "run"):
        assert main([command, "letters"]) == 2
        assert capsys.readouterr().err.startswith("'letters' is a lake here, and a target too: write ./letters for")
    assert main(["plan", "-", "letters"]) == 1


def test_an_empty_folder_may_be_a_lake_and_another_is_taken_for_a_misspelt_target(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "lettres").mkdir()
    assert main(["plan", "lettres"]) == 2
    assert "lettres: neither raw data nor ledgers of" in capsys.readouterr().err
    (here / "lettres" / "notes.txt").touch()
    assert main(["plan", "lettres"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("'lettres' is on no shelf; sources: ")
    assert "did you mean letters" in said
    assert said.endswith("The folder lettres is no lake; write ./lettres if it is to be one\n")


def test_options_may_stand_between_the_words(here: Path, mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert here.is_dir()
    assert main(["plan", str(mill.root), "--snapshot", "2024", "letters/v0", "--json"]) == 1
    assert LETTERS_V0 in capsys.readouterr().out
