"""A whole little journey as a process of its own: `python journey.py LAKE WORKERS` (raw to v0, two sets, v1, a mix).

Says a line for each shard that is done, so that whoever kills it knows where it was.
"""

import sys
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path

from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.shelf import find
from gristmill.stages.grinding import Done, Item, Job
from gristmill.stages.mixing import Mix
from gristmill.stages.mixing_step import revision_step, stream_step
from gristmill.stages.step import Step, make
from resources.pool import LocalPool


class Told:
    """A pool that says when a shard is done."""

    def __init__(self, workers: int) -> None:
        self._pool = LocalPool(workers, small=0)

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        for done in self._pool.map(job, items):
            sys.stdout.write(f"shard {done.name} {job.stage}\n")
            sys.stdout.flush()
            yield done

    def close(self) -> None:
        self._pool.close()


def main(root: str, workers: int) -> None:
    mill = Mill(Path(root))
    mix = find("mixes", Mix, SHELVES, "even")
    steps: list[Step] = [
        mill.conversion(),
        mill.tagging("words-1", "characters-1"),
        revision_step(mill.source(), "v1", SNAPSHOT, SHELVES),
        stream_step(mix, "pages", SNAPSHOT, SHELVES),
    ]
    engine = Told(workers)
    for step in steps:
        make(step, mill.lake, engine, uuid.uuid4().hex, mill.said.append)
        sys.stdout.write(f"step {step.stage}\n")
        sys.stdout.flush()
    engine.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
