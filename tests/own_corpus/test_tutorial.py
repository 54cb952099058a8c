"""The tutorials, run as they are written: every file and command of two pages, and what each of them prints.

`GRISTMILL_RECORD=1` writes what they print into the pages.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from corpus import Corpus
from page import Command, File, fits, recorded, steps_of
from paths import ROOT

pytestmark = pytest.mark.slow

PAGES = {"tutorial.md": 20, "bring-your-own-source.md": 9, "energon.md": 7}
"""The pages, each with a number of commands that it has at least."""
INSTALLED = re.compile(r"python3 -m venv |\. env/|pip +install ")
HOME = "/home/you"
PEERS = {
    "levanter-python": ("GRISTMILL_LEVANTER_PYTHON", "JAX_PLATFORMS=cpu HF_HUB_OFFLINE=1"),
    "energon-python": ("GRISTMILL_ENERGON_PYTHON", ""),
}
"""How the pages call a peer's Python, the variable that names it, and what it needs in its environment."""


class Reader:
    """Somebody who follows the page in an empty folder."""

    def __init__(self, tools: Path, folder: Path) -> None:
        self._corpus = Corpus(tools, folder)
        self._home = str(folder)

    def follow(self, step: Command) -> list[str] | None:
        """The lines that a command prints; None if it is not run here."""
        words = step.words
        if INSTALLED.match(words):  # the fixture has done it
            return []
        if words.startswith("cd "):
            self._corpus.folder /= words.removeprefix("cd ")
            return []
        if words.startswith("sed "):  # Python takes compiled code of a file of the same size and second for current
            time.sleep(1)
        if words.startswith("gristmill ui"):
            return self._lines(self._until_stopped(words))
        peer, _, script = words.partition(" ")
        if peer in PEERS:
            variable, settings = PEERS[peer]
            python = os.environ.get(variable)
            if not python:
                return None
            words = f"{settings} {python} {script} 2>/dev/null"
        return self._lines(self._corpus.shell(words))

    def write(self, file: File) -> None:
        """Writes a file of the page into the current folder."""
        (self._corpus.folder / file.name).write_text(file.text)

    def _lines(self, said: str) -> list[str]:
        return said.replace(self._home, HOME).splitlines()

    def _until_stopped(self, words: str) -> str:
        """What a server says until it listens, and after Ctrl-C."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {words}"],
            cwd=self._corpus.folder, env=self._corpus.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        assert process.stdout is not None
        lines = ""
        for line in process.stdout:
            lines += line
            if "http://" in line:
                break
        process.send_signal(signal.SIGINT)
        return lines + process.communicate(timeout=120)[0]


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_tutorial_prints_what_it_says(tools: Path, tmp_path: Path, name: str) -> None:
    path = ROOT / "docs" / name
    page = path.read_text()
    if name == "energon.md" and not os.environ.get("GRISTMILL_ENERGON_PYTHON"):
        pytest.skip("GRISTMILL_ENERGON_PYTHON names no Python, and the page begins with it")
    reader = Reader(tools, tmp_path)
    commands = []
    for step in steps_of(page):
        if isinstance(step, File):
            reader.write(step)
            continue
        said = reader.follow(step)
        commands.append((step, step.expected if said is None else said))
    if os.environ.get("GRISTMILL_RECORD"):
        path.write_text(recorded(page, commands))
        return
    assert len(commands) >= PAGES[name]
    for step, said in commands:
        assert fits(said, step.expected), f"$ {step.words}\n" + "\n".join(said)
