import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from testkit import Mill

from gristmill.__main__ import main
from gristmill.command_line import command_parser, overview_parser
from gristmill.commands._shared.progress import Progress
from gristmill.commands._shared.terminal import print_error, print_line
from gristmill.commands.verify import HELP
from gristmill.errors import RecipeError
from gristmill.installation import VERSION


def test_usage_errors_exit_with_2(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["grind"])
    assert main(["verify", str(mill.root), "--option", "endpoint"]) == 2
    assert "--option takes KEY=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["!exit", "!close"])
def test_a_converter_that_ends_the_process_ends_no_command_in_success(
    mill: Mill, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    mill.raw("a.txt", f"a {word}".encode(), source="notes")
    assert main(["make", str(mill.root), "sources/notes", "--shelves", "gristmill,testshelf"]) == 1
    assert "1 of 1 shards, 0.0 MB/s, 0 s left, 1 failed\n" in capsys.readouterr().out


@pytest.mark.slow
def test_the_command_line_is_a_module(mill: Mill) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gristmill", "verify", str(mill.root / "missing")],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_the_list_of_subcommands_is_shown_without_any_of_the_packages_that_they_need() -> None:
    asked = "import runpy, sys; sys.argv[1:] = ['--help']\ntry: runpy.run_module('gristmill', run_name='__main__')\n"
    asked += "finally: print('loaded', *sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    said, _, loaded = " ".join(done.stdout.split()).partition("loaded ")
    heavy = {"dagster", "pyarrow", "duckdb", "numpy", "tokenizers", "obstore", "botocore", "distributed"}
    assert heavy & set(loaded.split()) == set()
    assert f"verify {HELP}" in said


def test_the_list_of_subcommands_says_what_each_says_of_itself() -> None:
    [listed], [whole] = ([a for a in each._actions if a.choices] for each in (overview_parser(), command_parser()))  # noqa: SLF001 - argparse has no other way to ask
    assert [(a.dest, a.help) for a in listed._choices_actions] == [(a.dest, a.help) for a in whole._choices_actions]  # type: ignore[attr-defined]  # noqa: SLF001 - as above


def test_what_nobody_foresaw_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        return dict[str, int]()["rate"]

    monkeypatch.setattr("gristmill.commands.peek.run", fail)
    assert main(["peek", "x"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("KeyError: 'rate', at gristmill.command_line, line ")
    assert "damage, or a bug" in told
    assert told.count("\n") == 1


NASTY = "a\x1b]0;owned\x07\u202e\udcff\r\x9b31m"
SHOWN = r"a\x1b]0;owned\x07\u202e\udcff\r\u009b31m"


def test_errors_show_control_characters_of_names_and_obey_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["peek", str(tmp_path / NASTY)]) == 2
    assert capsys.readouterr().err == f"{tmp_path}/{SHOWN}: nothing is there; give a file or a folder\n"


def test_an_error_keeps_its_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_: object) -> int:
        raise RecipeError(f"one\n  {NASTY}")

    monkeypatch.setattr("gristmill.commands.peek.run", fail)
    assert main(["peek", "x"]) == 2
    assert capsys.readouterr().err == f"one\n  {SHOWN}\n"


def test_what_commands_show_and_complain_of_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_line(f"{NASTY}\nz")
    print_error(f"{NASTY}\nz")
    Progress()(NASTY)
    seen = capsys.readouterr()
    assert seen.out == f"{SHOWN}\\nz\n{SHOWN}\n"
    assert seen.err == f"{SHOWN}\nz\n"


def test_shown_json_stays_the_same_json(capsys: pytest.CaptureFixture[str]) -> None:
    value = [NASTY.replace("\udcff", ""), "\x7f\x85\u2028"]
    print_line(msgspec.json.encode(value).decode())
    out = capsys.readouterr().out
    assert msgspec.json.decode(out) == value
    assert out.isascii()


def test_the_version_is_that_of_the_package_with_the_commit_of_a_checkout(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert re.fullmatch(rf"gristmill {re.escape(VERSION)}( \([0-9a-f]{{40}}\))?\n", capsys.readouterr().out)
