"""Ctrl-C while a command has not begun: one word, and the exit code of a command that was stopped."""

import subprocess
import sys

import pytest

from gristmill.__main__ import main


class Stopped:
    """Ctrl-C while a command's modules are imported."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "gristmill.commands.gc":
            raise KeyboardInterrupt


class StoppedInEnum(Stopped):
    """Ctrl-C while one of them makes an Enum, of which Python makes a RuntimeError."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "gristmill.commands.gc":
            type("Pages", (), {"each": self})

    def __set_name__(self, owner: type, name: str) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("stopped", [Stopped(), StoppedInEnum()])
def test_a_command_that_is_stopped_during_its_imports_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stopped: Stopped
) -> None:
    monkeypatch.delitem(sys.modules, "gristmill.commands.gc", raising=False)
    monkeypatch.setattr(sys, "meta_path", [stopped, *sys.meta_path])
    assert main(["gc", "--help"]) == 130
    assert capsys.readouterr().err == "stopped\n"


@pytest.mark.parametrize("module", ["gristmill.command_line", "gristmill.commands", "gristmill.errors"])
def test_ctrl_c_while_the_command_line_itself_is_imported_is_told_in_one_word(module: str) -> None:
    begun = (
        "import runpy, signal, sys\n"
        "class Stops:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Stops())\n"
        "sys.argv[1:] = ['verify', 'lake']\n"
        "runpy.run_module('gristmill', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", begun], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")
