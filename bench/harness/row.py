"""A row of the benchmark: two costs, whether the outputs agreed, the bar, and the table that people read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.harness.cost import Cost


@dataclass(frozen=True, kw_only=True)
class Row:
    """One comparison.

    Attributes:
        name: of the row.
        ours: what ours costs.
        peer: what the peer costs; None where the bar is absolute.
        peer_name: who the peer is.
        agree: whether the outputs are the same; None where there is nothing to compare.
        bar: what is asked for, for people.
        met: whether the bar was met; it never fails the command.
        note: one line for people.
        detail: everything else, as JSON.
    """

    name: str
    ours: Cost
    bar: str
    met: bool
    peer: Cost | None = None
    peer_name: str = ""
    agree: bool | None = None
    note: str = ""
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def cpu_ratio(self) -> float | None:
        """CPU of the peer over ours."""
        return _ratio(self.peer.cpu_s, self.ours.cpu_s) if self.peer else None

    @property
    def wall_ratio(self) -> float | None:
        """Wall time of the peer over ours."""
        return _ratio(self.peer.wall_s, self.ours.wall_s) if self.peer else None

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.name,
            "ours": self.ours.plain(),
            "peer": {"name": self.peer_name, **self.peer.plain()} if self.peer else None,
            "cpu_ratio": self.cpu_ratio,
            "wall_ratio": self.wall_ratio,
            "agree": self.agree,
            "bar": self.bar,
            "met": self.met,
            "note": self.note,
            "detail": self.detail,
        }


def _ratio(peer: float, ours: float) -> float | None:
    return round(peer / ours, 2) if ours > 0 else None


HEAD = ("name", "ours cpu, wall s", "peer cpu, wall s", "cpu x", "wall x", "agree", "bar", "note")


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned text."""
    lines = [HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in lines
    )


def _cells(row: Row) -> tuple[str, ...]:
    agree = {None: "-", True: "yes", False: "NO"}[row.agree]
    return (
        row.name,
        _cost(row.ours),
        _cost(row.peer),
        _number(row.cpu_ratio),
        _number(row.wall_ratio),
        agree,
        f"{row.bar}: {'met' if row.met else 'MISSED'}",
        row.note,
    )


def _cost(cost: Cost | None) -> str:
    return f"{cost.cpu_s:.2f}, {cost.wall_s:.2f}" if cost else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def disagreements(rows: Sequence[Row]) -> list[str]:
    """The names of rows whose outputs are not the same: what makes the command fail."""
    return [row.name for row in rows if row.agree is False]
