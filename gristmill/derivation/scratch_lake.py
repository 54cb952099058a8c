"""ScratchLake: a lake as a grinder sees it, of which nothing changes: what is written goes into a scratch folder."""

from collections.abc import Callable, Iterable, Iterator

from gristmill.lake.rows.shard_file import UnkeptUpload
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.open import Lake, open_store
from gristmill.lake.store.protocol import Entry, ObjectVersion, ReadOnly, Store, Upload


class ScratchStore(ReadOnly):
    """Reads a lake, and writes into a scratch folder. An object that is in both is read from the scratch folder.

    It lists nothing: a grinder knows what it reads.

    Args:
        lake: the lake.
        scratch: the scratch folder.
        unkept: folders; nothing is kept of what is uploaded into them.
    """

    def __init__(self, lake: Store, scratch: Store, unkept: tuple[str, ...] = ()) -> None:
        super().__init__(lake, lake.url)
        self._scratch, self._unkept = scratch, unkept

    def head(self, path: str) -> Entry | None:
        return self._scratch.head(path) or self._store.head(path)

    def read(self, path: str) -> bytes:
        return self._store_holding_path(path).read(path)

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        return self._scratch.read_tagged(path) or self._store.read_tagged(path)

    def read_range(self, path: str, start: int, end: int) -> bytes:
        return self._store_holding_path(path).read_range(path, start, end)

    def stream(self, path: str, version: ObjectVersion | None = None, start: int = 0) -> Iterator[bytes]:
        return self._store_holding_path(path).stream(path, version, start)

    def upload(self, path: str) -> Upload:
        return UnkeptUpload(path) if path.startswith(self._unkept) else self._scratch.upload(path)

    def put(self, path: str, data: bytes) -> Entry:
        return self._scratch.put(path, data)

    def put_if(self, path: str, data: bytes, etag: str | None) -> Entry:
        return self._scratch.put_if(path, data, etag)

    def delete(self, paths: Iterable[str], still: Callable[[], bool] | None = None) -> None:
        self._scratch.delete(paths, still)

    def _store_holding_path(self, path: str) -> Store:
        return self._scratch if self._scratch.head(path) else self._store


class ScratchLake(Lake, frozen=True):
    """The address of a lake, and the scratch folder. Workers of other processes are not given one.

    Attributes:
        scratch: the scratch folder.
        unkept: folders of which nothing is kept, as for ScratchStore.
    """

    scratch: str = ""
    unkept: tuple[str, ...] = ()

    def store(self) -> Store:
        """The lake for reading, the scratch folder for writing."""
        return ScratchStore(open_store(self.url, self.options), FolderStore(self.scratch), self.unkept)
