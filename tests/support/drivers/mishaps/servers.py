"""Faults of the S3 server below a lake: bad answers, late ones, none at all, and its death."""

import os
import random
import time
from pathlib import Path

from mishaps.lakes import Lakes, run_again
from mishaps.process import Process, one_step
from mishaps.stages import PLANNED, case_of, kill_often
from one_step import STORE_ERROR
from proxy import FAULTS, FaultyProxy
from seaweed import Seaweed
from testkit import Mill

TRIES = 4
"""How often a run is tried again while the server goes on answering badly."""


class Bucket:
    """A real S3 server, and lakes in its bucket. How it is reached must stand in this process's environment."""

    def __init__(self, seaweed: Seaweed) -> None:
        self.seaweed = seaweed
        self._number = 0
        self._seconds: dict[tuple[str, int], dict[str, float]] = {}

    def copy(self, lakes: Lakes, step: str, edition: int) -> Mill:
        """A lake in the bucket as it is before a step."""
        self._number += 1
        url = self.seaweed.url(f"{os.getpid()}-{self._number}")
        return lakes.upload(Mill(Path("in-a-bucket"), url, self.seaweed.options), step, edition)

    def seconds(self, lakes: Lakes, step: str, edition: int) -> dict[str, float]:
        """How long each phase of a step takes when nothing disturbs it."""
        if (step, edition) not in self._seconds:
            mill = self.copy(lakes, step, edition)
            process = one_step(mill.lake.url, step, 2)
            process.finish()
            self._seconds[step, edition] = process.seconds()
            self.remove(mill)
        return self._seconds[step, edition]

    def remove(self, mill: Mill) -> None:
        """The case is closed."""
        mill.store.delete([entry.path for entry in mill.store.list("")])


def kill_stage(bucket: Bucket, lakes: Lakes, dice: random.Random, number: int) -> int:
    """A stage over a bucket is killed."""
    step, edition = case_of(number, dice, PLANNED)
    mill = bucket.copy(lakes, step, edition)
    killed = kill_often(mill, (step, 2), bucket.seconds(lakes, step, edition), dice)
    run_again(mill, step, lakes.after[step, edition])
    bucket.remove(mill)
    return killed


def spoil(bucket: Bucket, lakes: Lakes, dice: random.Random, number: int) -> int:
    """The whole journey over a server of which a share of all answers is spoiled in one way."""
    fault = FAULTS[number % len(FAULTS)]
    edition = dice.choice((1, 2))
    mill = bucket.copy(lakes, "convert", edition)
    rates = {fault: dice.uniform(0.02, 0.15)}
    proxy = FaultyProxy(bucket.seaweed.endpoint, seed=dice.randrange(1 << 30), rates=rates, delay=0.2)
    for _ in range(TRIES):
        process = one_step(mill.lake.url, "all", environment={"AWS_ENDPOINT_URL": proxy.endpoint})
        if _ended_well(process):
            break
    spoiled = proxy.spoiled()
    proxy.close()
    run_again(mill, "all", lakes.whole[edition])
    bucket.remove(mill)
    return spoiled


def _ended_well(process: Process) -> bool:
    """Whether it was done; if not, the lake did not answer, and nothing else is to blame."""
    code = process.wait()
    assert code in {0, STORE_ERROR}, process.words
    return code == 0


def kill_server(bucket: Bucket, lakes: Lakes, dice: random.Random, number: int) -> int:
    """The server is killed in the middle of a journey, up to three times, and comes back with what it had."""
    edition = 1 + number % 2
    mill = bucket.copy(lakes, "convert", edition)
    process = one_step(mill.lake.url, "all", 2)
    process.wait_for(lambda line: line == "plan")
    killed = 0
    for _ in range(dice.choice((1, 2, 3))):
        time.sleep(dice.uniform(0, 3))
        killed += not process.over
        bucket.seaweed.kill()
        time.sleep(dice.uniform(0, 1))
        bucket.seaweed.start()
    _ended_well(process)
    run_again(mill, "all", lakes.whole[edition])
    bucket.remove(mill)
    return killed
