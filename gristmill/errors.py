"""What can go wrong, by what to do next.

* GristmillError
  x DataError          the bytes are wrong: stop; running again will not help
    + MalformedRow     a row that is not what its file promises; names file and row
    + Misaligned       documents and attributes differ; names shard, row and both ids
    + DuplicateId      one id twice; names both places
  x RecipeError        a declaration on a shelf is wrong: edit it
  x StoreError         the lake did not answer, or is being rebuilt: try again
    + Conflict         somebody else wrote first; nothing of theirs was changed
    + Superseded       a newer run has taken over the partition: leave it to that run
"""


def shorten(text: str, most: int = 80) -> str:
    """A text as messages show it: of at most so many characters, the last three of which are dots if it is cut."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


class GristmillError(Exception):
    """The root of everything that Gristmill raises on purpose."""


class DataError(GristmillError):
    """The bytes are wrong; the message names file, row and mend."""


class MalformedRow(DataError):  # noqa: N818 - the tree reads as English
    """A row is not what its file promises.

    Args:
        path: the file, as the lake names it.
        row: the row's number, counted from 0.
        reason: what is wrong with it.
        mend: what a person can do about it.
    """

    def __init__(self, path: str, row: int, reason: str, mend: str = "repair or rebuild this file") -> None:
        self.path, self.row, self.reason, self.mend = path, row, reason, mend
        super().__init__(f"{path}: row {row}: {reason} ({mend})")

    def __reduce__(self) -> tuple[type["MalformedRow"], tuple[str, int, str, str]]:
        return type(self), (self.path, self.row, self.reason, self.mend)


class Misaligned(DataError):  # noqa: N818
    """Documents and attributes are not the same rows in the same order."""


class DuplicateId(DataError):  # noqa: N818
    """An id that must be unique stands in two places."""


class RecipeError(GristmillError):
    """A declaration is wrong; an unknown name lists the known ones."""


class StoreError(GristmillError):
    """The lake did not answer, or what was read is being rebuilt: try again."""


class Conflict(StoreError):  # noqa: N818
    """A compare-and-swap lost: the object is no longer what was read."""


class Superseded(StoreError):  # noqa: N818
    """A newer run has taken over this partition; this one stops and has changed nothing of it."""
