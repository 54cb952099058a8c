"""A waterwheel: grinds in the process of the run, and writes into a file what it does."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from gristmill.engines.kinds import EngineKind
from gristmill.execution.runner import Inline
from gristmill.execution.work import Done, Item, Job


class Waterwheel:
    """The engine. Its address is `river:FILE`."""

    def __init__(self, address: str) -> None:
        self._file = Path(address.removeprefix("river:"))
        self._tell("opened")

    def _tell(self, words: str) -> None:
        with self._file.open("a") as file:
            file.write(f"{words}\n")

    def map(self, job: Job, items: Iterable[Item]) -> Iterator[Done]:
        self._tell(job.stage)
        return Inline().map(job, items)

    def close(self) -> None:
        self._tell("closed")


WATERWHEEL = EngineKind(
    name="waterwheel",
    help="the process of the run, by water",
    open=lambda _, address: Waterwheel(address),
    address=r"river:/.+",
    example="river:FILE",
)
