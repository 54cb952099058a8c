"""The objects of a folder that nothing names."""

from dataclasses import dataclass, field

from gristmill.lake.store.protocol import Entry


@dataclass
class FolderObjects:
    """A folder that nothing names, with its objects.

    Attributes:
        folder: its path, with a closing slash.
        entries: its objects.

    >>> FolderObjects("token_caches/a/part-00000-0a/").name
    'part-00000-0a'
    """

    folder: str
    entries: list[Entry] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.rstrip("/").rpartition("/")[2]

    @property
    def bytes(self) -> int:
        """The total size of its objects, in bytes."""
        return sum(entry.size for entry in self.entries)
