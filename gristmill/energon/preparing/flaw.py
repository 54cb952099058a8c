"""Flaw: something in a dataset that keeps it from being loaded as it should."""

from collections.abc import Sequence
from typing import NamedTuple

from gristmill.errors import DataError


class Flaw(NamedTuple):
    """Something found in a dataset.

    Attributes:
        path: path of the file, relative to the dataset.
        what: description of the fault.
        mend: advice for a person; empty if `what` says it.
        place: place in the file: a line, a sample's key; empty if the whole file is meant.
        warning: whether the dataset can be used nevertheless.

    >>> print(Flaw("a.jsonl", "its JSON is not valid", "repair or remove it", "line 3"))
    a.jsonl: line 3: its JSON is not valid (repair or remove it)
    """

    path: str
    what: str
    mend: str = ""
    place: str = ""
    warning: bool = False

    def __str__(self) -> str:
        where = f"{self.path}: {self.place}" if self.place else self.path
        return f"{where}: {self.what} ({self.mend})" if self.mend else f"{where}: {self.what}"


def flaw_from_error(error: DataError, path: str) -> Flaw:
    """The flaw of a file that cannot be read.

    Args:
        error: error with the reason; its message names the mend.
        path: path of the file.
    """
    return Flaw(path, str(error).removeprefix(f"{path}: "))


def has_errors(flaws: Sequence[Flaw]) -> bool:
    """Whether one of these is more than a warning."""
    return any(not flaw.warning for flaw in flaws)
