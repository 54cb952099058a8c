"""Finding: one difference between the lake and one of its ledgers."""

from dataclasses import dataclass

from gristmill.errors import shorten


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference between the lake and a ledger.

    Attributes:
        path: the object.
        row: the first affected row, counted from 0; None if the finding is about the whole object.
        what: what was expected, and what was found.
        mend: what a person can do about it.
    """

    path: str
    row: int | None
    what: str
    mend: str

    def __str__(self) -> str:
        where = self.path if self.row is None else f"{self.path}: row {self.row}"
        return f"{where}: {self.what} ({self.mend})"


def differs(what: str, actual: object, recorded: object) -> str:
    """The sentence for a comparison that failed.

    Args:
        what: what was compared, such as a digest.
        actual: the value in the lake.
        recorded: the value in the ledger.
    """
    return f"{what} {_shown(actual)}, but its ledger says {_shown(recorded)}"


def _shown(value: object) -> str:
    return shorten(f"{value:,}" if isinstance(value, int) else str(value), 120)
