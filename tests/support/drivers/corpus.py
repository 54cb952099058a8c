"""A project of one's own as its owner drives it: by the installed commands, in a folder that is not the checkout."""

import json
import os
import random
import resource
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WORDS = (
    "the",
    "miller",
    "turns",
    "a",
    "stone",
    "until",
    "grain",
    "from",
    "seven",
    "fields",
    "is",
    "meal",
    "Mühle",
    "ä",
)
KEPT = ("HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")
"""Variables that the commands get from ours: nothing of Python, Gristmill or Dagster."""


def tales(count: int) -> dict[str, str]:
    """Markdown files by path, the same every time: a heading and three paragraphs, in folders of 25."""
    found = {}
    for number in range(count):
        draw = random.Random(number)
        paragraphs = (" ".join(draw.choices(WORDS, k=draw.randrange(20, 120))) + "." for _ in range(3))
        found[f"part-{number // 25}/tale-{number:03d}.md"] = f"# Tale {number}\n\n" + "\n\n".join(paragraphs) + "\n"
    return found


def cpu() -> float:
    """Seconds of CPU of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Corpus:
    """A project, and the commands of an environment.

    Args:
        tools: the folder of the environment's commands.
        folder: where the project is.
    """

    def __init__(self, tools: Path, folder: Path) -> None:
        self.tools, self.folder = tools, folder
        self.texts: dict[str, str] = {}
        self.took = ""
        own = {name: value for name, value in os.environ.items() if name in KEPT}
        self.environment = {**own, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}

    def run(self, *command: str | Path, code: int = 0) -> str:
        """What a command writes, errors behind output; it must end with this code."""
        done = self._run([str(word) for word in command], subprocess.PIPE)
        assert done.returncode == code, f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def shell(self, words: str) -> str:
        """What a line of shell writes, errors where they come, whatever its exit code."""
        return self._run(["bash", "-c", words], subprocess.STDOUT).stdout

    def _run(self, command: list[str], errors: int) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            check=False,
        )
        assert "Traceback" not in f"{done.stdout}{done.stderr}", f"{done.stdout}{done.stderr}"
        return done

    def put(self, source: str, files: dict[str, str], snapshot: str = "first") -> None:
        """Puts raw files into a snapshot of the lake, and remembers their texts."""
        self.texts |= files
        for name, text in files.items():
            path = self.folder / "lake" / "sources" / source / "raw" / snapshot / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")

    @contextmanager
    def edited(self, file: str, old: str, new: str) -> Iterator[None]:
        """Replaces what occurs exactly once in a file; behind the block it is as it was."""
        path = self.folder / file
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{file} has {text.count(old)} times {old!r}"
        path.write_text(text.replace(old, new), "utf-8")
        try:
            yield
        finally:
            path.write_text(text, "utf-8")

    def objects(self, below: str) -> dict[str, int]:
        """When each object of the lake was written, in ns."""
        root = self.folder / "lake"
        return {
            path.relative_to(root).as_posix(): path.stat().st_mtime_ns
            for path in (root / below).rglob("*")
            if path.is_file()
        }

    @contextmanager
    def ui(self, *arguments: str) -> Iterator["Ui"]:
        """`gristmill ui`, until the block ends."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        log = self.folder.parent / "ui.log"
        with log.open("w") as sink:
            command = [str(self.tools / "gristmill"), "ui", *arguments, "--port", str(port)]
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=sink, stderr=subprocess.STDOUT
            )
        try:
            yield Ui(port, process, log)
        finally:
            process.terminate()
            process.wait(120)


class Ui:
    """Dagster, asked as its page asks."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
        self._url, self._process, self._log = f"http://127.0.0.1:{port}/graphql", process, log
        end = time.monotonic() + 300
        while self._answer("{ version }") is None:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.3)

    def ask(self, query: str) -> Any:
        """What GraphQL answers."""
        answer = self._answer(query)
        assert answer is not None, self._log.read_text()
        assert "errors" not in answer, answer
        return answer["data"]

    def _answer(self, query: str) -> Any:
        body = json.dumps({"query": query}).encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except OSError:
            return None
