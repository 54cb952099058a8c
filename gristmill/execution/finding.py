"""Finding: one thing in the lake that is not as a ledger says."""

from dataclasses import dataclass

from gristmill.errors import shorten


@dataclass(frozen=True, slots=True)
class Finding:
    """Where the lake and its ledger disagree.

    Attributes:
        path: the object.
        row: the first row concerned, counted from 0; None where it is about the object as a whole.
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


def differs(what: str, found: object, said: object) -> str:
    """The sentence of a comparison: what was found, and what the ledger says."""
    return f"{what} {_shown(found)}, but its ledger says {_shown(said)}"


def _shown(value: object) -> str:
    return shorten(f"{value:,}" if isinstance(value, int) else str(value), 120)
