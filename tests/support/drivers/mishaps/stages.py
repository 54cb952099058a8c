"""Kills of stages, each in a process of its own, at moments drawn over everything that it does."""

import os
import random
import signal
import time
from collections.abc import Mapping
from contextlib import suppress

from mishaps.lakes import Lakes, put_raw, run_again
from mishaps.process import Process, one_step, wait_until_gone
from one_step import EXPORTS, STEPS, STORE_ERROR, work
from testkit import Mill

from gristmill.errors import StoreError
from gristmill.execution.runner import Inline

ROUND = (
    "convert",
    "tag",
    "cache",
    "export",
    "mix",
    "tars",
    "revise",
    "cache",
    "lines",
    "convert",
    "tag",
    "mix",
    "revise",
    "train",
    "index",
    "gc",
)
"""Whose turn it is, case after case."""

PLANNED = ("convert", "tag", "revise", "mix", *EXPORTS, "cache")
"""Steps with workers."""


def case_of(number: int, dice: random.Random, steps: tuple[str, ...] = ROUND) -> tuple[str, int]:
    """A step, and the edition that it makes: the tokenizer is trained once, and parts go in the second alone."""
    step = steps[number % len(steps)]
    return step, {"train": 1, "gc": 2}.get(step) or dice.choice((1, 2))


def wait_somewhere(process: Process, seconds: Mapping[str, float], dice: random.Random) -> None:
    """Waits for a moment within the work of a process.

    Every other time it is one of the whole duration, otherwise one of a phase: each phase has the same chance, however
    short it is.
    """
    phases = list(seconds)
    if dice.random() < 0.5:
        begin, long = phases[0], sum(seconds.values())
    else:
        begin = dice.choice(phases)
        long = seconds[begin]
    process.wait_for(lambda line: line == begin)
    time.sleep(dice.uniform(0, 1.05 * long))


def kill_stage(lakes: Lakes, dice: random.Random, number: int) -> int:
    """A stage and its workers are killed, up to four times in a row."""
    step, edition = case_of(number, dice)
    workers = dice.choice((0, 2)) if step in PLANNED else 0
    mill = lakes.copy(step, edition)
    killed = kill_often(mill, (step, workers), lakes.seconds(step, edition, workers), dice)
    run_again(mill, step, lakes.after[step, edition])
    lakes.remove(mill)
    return killed


def kill_often(mill: Mill, what: tuple[str, int], seconds: Mapping[str, float], dice: random.Random) -> int:
    """Kills up to four runs of a step with so many workers; how many were struck while they were at work."""
    killed = 0
    for _ in range(dice.choice((1, 2, 3, 4))):
        process = one_step(mill.lake.url, *what)
        wait_somewhere(process, seconds, dice)
        if not strike(process):
            break
        killed += 1
    return killed


def strike(process: Process, *, group: bool = True) -> bool:
    """Kills it; whether it was still at work."""
    return process.kill(group=group) and not process.has_done


def kill_run_alone(lakes: Lakes, dice: random.Random, number: int) -> int:
    """The run's process is killed and not its workers, and the next run comes at once, while they are still there."""
    step, edition = case_of(number, dice, PLANNED)
    mill = lakes.copy(step, edition)
    process = one_step(mill.lake.url, step, 2)
    wait_somewhere(process, lakes.seconds(step, edition, 2), dice)
    workers = process.children
    struck = strike(process, group=False)
    with suppress(StoreError):  # an object changed under it: a worker had one last shard on its way
        work(mill, step, Inline(), mill.said.append)
    wait_until_gone(workers)
    run_again(mill, step, lakes.after[step, edition])
    lakes.remove(mill)
    return int(struck)


def kill_worker(lakes: Lakes, dice: random.Random, number: int) -> int:
    """Up to three workers are killed under a run: it goes on, or fails with the shard's name."""
    step, edition = case_of(number, dice, PLANNED)
    mill = lakes.copy(step, edition)
    process = one_step(mill.lake.url, step, 2)
    process.wait_for(lambda line: line == "grind")
    killed = 0
    for _ in range(3):
        while not process.children and not process.over:
            time.sleep(0.001)
        time.sleep(dice.uniform(0, lakes.seconds(step, edition, 2)["grind"] / 3))
        for worker in process.children[:1]:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                killed += 1
    code = process.wait()
    assert code in {0, STORE_ERROR}, process.words
    run_again(mill, step, lakes.after[step, edition])
    lakes.remove(mill)
    return killed


def kill_before_a_change(lakes: Lakes, dice: random.Random, number: int) -> int:
    """A stage is killed right before one of the changes that it makes to the lake's folder."""
    step, edition = case_of(number, dice)
    changes = lakes.changes(step, edition)
    phase = dice.choice(sorted(set(changes)))
    at = dice.choice([n for n, each in enumerate(changes, start=1) if each == phase])
    mill = lakes.copy(step, edition)
    process = one_step(mill.lake.url, step, 0, at)
    assert process.wait() == -signal.SIGKILL, process.words
    run_again(mill, step, lakes.after[step, edition])
    lakes.remove(mill)
    return 1


def kill_and_go_back(lakes: Lakes, dice: random.Random, number: int) -> int:
    """A journey is killed while it makes the second edition; then the raw data are again those of the first."""
    mill = lakes.copy("convert", 2)
    long = sum(sum(lakes.seconds(step, 2, 0).values()) for step in STEPS)
    killed = 0
    for _ in range(1 + number % 2):
        process = one_step(mill.lake.url, "all")
        process.wait_for(lambda line: line == "plan")
        time.sleep(dice.uniform(0, long))
        killed += strike(process)
    put_raw(mill, lakes.shards, 1)
    run_again(mill, "all", lakes.whole[1])
    lakes.remove(mill)
    return killed
