"""Kills of whole Dagster runs: of a process that loads everything and drives real runs from raw to tokens."""

import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from mishaps import drive as drive_module
from mishaps.lakes import Tree, check_lake, tree_of, unnamed
from mishaps.process import Process
from testkit import Mill, link, packed

from gristmill.lake.address import blocklist_path, raw_folder

SHARDS = 5


def put_letters(mill: Mill, source: str, snapshot: str, first: int, shards: int = SHARDS) -> None:
    """Raw shards of ten documents, numbered on from the first."""
    for shard in range(shards):
        numbers = range(first + 10 * shard, first + 10 * shard + 10)
        rows = [{"id": f"letter-{n}", "text": " ".join(["word"] * (n % 9 + 1)), "source": source} for n in numbers]
        mill.store.put(f"{raw_folder(source, snapshot)}{shard}.jsonl.gz", packed(rows))


class Drives:
    """A small lake of letters and a diary; and what comes of it when nothing disturbs it.

    Attributes:
        expected: the lake at the end.
        seconds: how long the drive takes, once it is loaded.
        home: Dagster's own files after an undisturbed drive.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = 0
        self._raw = folder / "raw"
        self._raw.mkdir(parents=True)
        mill = Mill(self._raw)
        put_letters(mill, "letters", "2024", 1)
        put_letters(mill, "letters", "2025", 101)
        put_letters(mill, "diary", "2024", 201, 2)
        mill.store.put(blocklist_path("takedowns"), b'{"id":"letter-7","reason":"asked for","source":"letters"}\n')
        self.undisturbed, self.home = self.case()
        process = self.drive(self.undisturbed, self.home)
        assert process.wait_for(says("begin")), process.words
        begin = time.monotonic()
        finish(process)
        self.seconds = time.monotonic() - begin
        self.expected: Tree = tree_of(self.undisturbed)
        check_lake(self.undisturbed, self.expected)
        assert not list(unnamed(self.undisturbed.store))

    def case(self) -> tuple[Mill, Path]:
        """A fresh lake, and an empty home for Dagster."""
        self._number += 1
        home = self.folder / f"home-{self._number}"
        home.mkdir()
        return Mill(link(self._raw, self.folder / f"lake-{self._number}")), home

    def drive(self, mill: Mill, home: Path) -> Process:
        """Starts a drive."""
        return Process(
            [str(drive_module.__file__)],
            {
                "GRISTMILL_LAKE": mill.lake.url,
                "GRISTMILL_WORKERS": "2",
                "DAGSTER_HOME": str(home),
            },
        )

    def remove(self, mill: Mill, home: Path) -> None:
        """The case is closed."""
        shutil.rmtree(mill.root)
        shutil.rmtree(home)


def says(word: str) -> Callable[[str], bool]:
    """Whether a line of the scripts says so, after its time."""
    return lambda line: line.endswith(f" {word}")


def finish(process: Process) -> None:
    process.finish()
    assert any(says("agreed")(line) for line in process.said), process.said[-5:]


def kill_drive(drives: Drives, dice: random.Random, number: int) -> int:
    """Dagster's process is killed, alone or with its workers, up to four times; then it is let be."""
    mill, home = drives.case()
    killed = 0
    left = drives.seconds
    for _ in range(dice.choice((1, 2, 3, 4))):
        process = drives.drive(mill, home)
        assert process.wait_for(says("begin")), process.words
        wait = dice.uniform(0, left)
        time.sleep(wait)
        if not process.kill(group=number % 2 == 0):
            break
        killed += 1
        left = max(left - wait / 2, 0.5)  # what is done is not done again
    finish(drives.drive(mill, home))
    check_lake(mill, drives.expected)
    drives.remove(mill, home)
    return killed


def meet(drives: Drives, dice: random.Random, number: int) -> int:
    """Two drives at once, of one Dagster over one lake; whoever loses stops."""
    mill, home = drives.case()
    team = [drives.drive(mill, home)]
    time.sleep(dice.uniform(0, 1 + number))
    team.append(drives.drive(mill, home))
    for process in team:
        assert process.wait() in {0, 1}, process.words
    finish(drives.drive(mill, home))
    check_lake(mill, drives.expected)
    drives.remove(mill, home)
    return 1
