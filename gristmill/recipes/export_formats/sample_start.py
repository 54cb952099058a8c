"""Where a sample starts in a file of an export."""

from typing import NamedTuple


class SampleStart(NamedTuple):
    """Where a document is in a file that other tools open at any of its samples.

    Attributes:
        key: the name of the sample; empty if the format gives samples no names.
        offset: its first byte in the file.
    """

    key: str
    offset: int
