"""CountedReads: a view of a lake that counts what is read."""

from collections.abc import Iterator

from gristmill.lake.store.plain_files import Tell
from gristmill.lake.store.protocol import Entry, ReadOnly, Store


class CountedReads(ReadOnly):
    """A view of a lake that notes the objects that are read, whole or in part."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, store.url)
        self.read_objects: list[str] = []

    def folders(self, prefix: str) -> Iterator[str]:
        return self._store.folders(prefix)

    def list(self, prefix: str, after: str = "", tell: Tell | None = None) -> Iterator[Entry]:
        return self._store.list(prefix, after, tell)

    def readable(self, path: str) -> str:
        self.read_objects.append(path)
        return path
