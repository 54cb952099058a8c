"""What was seen after each night: one row for each, and the table of all."""

from collections.abc import Iterable
from dataclasses import dataclass

COLUMNS = ("lost", "told", "told after", "queue empty", "red", "all after")
"""After the night's words. Seconds are those since the last kill."""


@dataclass(frozen=True)
class Figures:
    """What was seen when all was as it must be.

    Attributes:
        night: what happened, in words.
        lost: objects of the good snapshots that are not as in a lake that nobody disturbed.
        objects: objects of the good snapshots.
        told: messages about the bad snapshot.
        told_after: seconds until the first of them.
        empty_after: seconds until the queue was empty, and stayed so.
        red: findings of `verify`, all about what was red before.
        after: seconds until all of it was so.
    """

    night: str
    lost: int
    objects: int
    told: int
    told_after: float
    empty_after: float
    red: int
    after: float

    @property
    def cells(self) -> tuple[str, ...]:
        """One for each column."""
        seconds = [f"{each:.0f} s" for each in (self.told_after, self.empty_after, self.after)]
        return f"{self.lost} of {self.objects}", str(self.told), seconds[0], seconds[1], str(self.red), seconds[2]


@dataclass(frozen=True)
class Failed:
    """A night after which something was not as it must be.

    Attributes:
        night: what happened, in words.
        missing: what did not come.
    """

    night: str
    missing: str

    @property
    def cells(self) -> tuple[str, ...]:
        """One for all columns."""
        return (f"NOT RECOVERED: {self.missing}",)


def row(words: str, cells: Iterable[str]) -> str:
    """A line of the table."""
    return f"{words:<56}" + "".join(f"{cell:>13}" for cell in cells)


def table(nights: Iterable[Figures | Failed]) -> str:
    """All nights, in the order in which they were played."""
    return "\n".join([row("night", COLUMNS), *(row(each.night, each.cells) for each in nights)])
