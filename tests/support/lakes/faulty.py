"""The work of the faulty tagger, for the tests of all engines."""

import time
from pathlib import Path

from testkit import Mill, make_documents

from gristmill.execution.step import StoredPlan, plan
from gristmill.execution.work import Engine, Item


def shards(mill: Mill, **words: str) -> None:
    """Six shards `a` to `f` of one document each; a word tells the faulty tagger what to do with that shard."""
    for number, name in enumerate("abcdef"):
        (row,) = make_documents(1, start=number)
        row["text"] = words.get(name, "word")
        mill.raw(f"{name}.jsonl.gz", [row])
    mill.convert()


def work(mill: Mill, token: str = "token", tagger: str = "faulty-1") -> tuple[StoredPlan, list[Item]]:
    """The planned work of a tagger."""
    step = mill.tagging(tagger)
    planned = plan(step, mill.lake, token)
    found = step.plan(mill.store)
    names = {target.place.asset: target.wants for target in found.targets}
    return planned, found.items(names, {})


def of_two_jobs(mill: Mill, engine: Engine) -> set[tuple[str, str]]:
    """The assets and shards that an engine has ground, whose results of two jobs are read in turns."""
    shards(mill)
    jobs = [work(mill, "token", tagger) for tagger in ("words-1", "characters-1")]
    results = zip(*(engine.map(planned.job, items) for planned, items in jobs), strict=True)
    done = [each for both in results for each in both]
    assert not any(each.outcome.failed for each in done)
    return {(each.asset.rpartition("/")[2], each.receipt.row.name) for one in done for each in one.outcome.ground}


OF_TWO_JOBS = {(tagger, name) for tagger in ("words-1", "characters-1") for name in "abcdef"}
MANY = 99
"""More than ever come: who waits for so many stands before a closed gate."""


def meeting(folder: Path, count: int = MANY) -> str:
    """The text of a document whose tagging waits until so many have come, or until opened()."""
    folder.mkdir(exist_ok=True)
    return f"MEET {folder} {count}"


def came(folder: Path, count: int) -> list[int]:
    """Waits until so many have come; the ids of their processes."""
    end = time.monotonic() + 60
    while len(found := [file.read_text() for file in folder.iterdir()]) < count or "" in found:
        assert time.monotonic() < end, "nobody came"
        time.sleep(0.005)
    return [int(pid) for pid in found]


def opened(folder: Path) -> None:
    """Lets all go on."""
    (folder / "open").touch()
