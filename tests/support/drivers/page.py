"""A page of the documents that shows commands with their output: it is read, run, and compared or recorded anew."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

FENCE = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\S+\.py)\n")
LEFT_OUT = "..."
DIFFERS = (
    (re.compile(r"\b\d+(\.\d+)? (s|seconds|MB/s)\b"), r"N \2"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "HEX"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?"), "TIME"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"gzip member \d+-\d+"), "gzip member N-N"),
)
"""What differs between two machines, or between two runs."""
PROGRESS = re.compile(r" s left$| so far$")
"""Lines that come by the clock: a slow machine has more of them."""


@dataclass
class Command:
    """A command of a page.

    Attributes:
        words: as the page shows it, behind `$ `.
        expected: the lines below it.
    """

    words: str
    expected: list[str]


@dataclass
class File:
    """A file that the page shows, with its name in the first line."""

    name: str
    text: str


def steps_of(page: str) -> list[Command | File]:
    """The commands and files of a page, in order. Python without a file's name is an example."""
    steps: list[Command | File] = []
    for kind, block in FENCE.findall(page):
        if kind == "console":
            steps += _commands(block)
        elif name := FILE.match(block):
            steps.append(File(name[1], block))
    return steps


def _commands(block: str) -> list[Command]:
    commands: list[Command] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append(Command(line[2:], []))
        else:
            commands[-1].expected.append(line)
    return commands


def fits(said: Sequence[str], expected: Sequence[str]) -> bool:
    """Whether lines are as a page says, but for what differs between machines; `...` stands for any lines.

    >>> fits(["a", "b 0.1 s", "c"], ["a", "b 3 s", "..."]), fits(["a", "b"], ["...", "a"])
    (True, False)
    """
    return _fits(_plain(said), _plain(expected))


def _plain(lines: Sequence[str]) -> list[str]:
    kept = [line.rstrip() for line in lines if not PROGRESS.search(line)]
    for pattern, word in DIFFERS:
        kept = [pattern.sub(word, line) for line in kept]
    return kept


def _fits(said: Sequence[str], expected: Sequence[str]) -> bool:
    if not expected:
        return not said
    first, *rest = expected
    if first == LEFT_OUT:
        return any(_fits(said[number:], rest) for number in range(len(said) + 1))
    return bool(said) and said[0] == first and _fits(said[1:], rest)


def recorded(page: str, commands: Sequence[tuple[Command, Sequence[str]]]) -> str:
    """The page with what its commands print now, in order; where the page leaves lines out, it stays as it is."""
    answers = iter(commands)

    def block(match: re.Match[str]) -> str:
        if match[1] != "console":
            return match[0]
        lines: list[str] = []
        for _ in _commands(match[2]):
            command, said = next(answers)
            lines += [f"$ {command.words}", *(command.expected if fits(said, command.expected) else said)]
        return "```console\n" + "".join(f"{line}\n" for line in lines) + "```"

    return FENCE.sub(block, page)
