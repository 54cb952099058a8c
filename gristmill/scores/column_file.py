"""Reads a shard's columns, if they are there and were made from the shard as it is now."""

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from gristmill.errors import DataError, StoreError
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import DOCUMENTS
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.derived import columns_path
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store
from gristmill.scores.document_columns import DOCUMENT_FORMAT, DocumentColumnsHead
from gristmill.scores.label_columns import FORMAT, KEY, ColumnsHead

_TAIL = 1 << 16

Head = TypeVar("Head", ColumnsHead, DocumentColumnsHead, None)
_Stated = TypeVar("_Stated", ColumnsHead, DocumentColumnsHead)


class _Ranges:
    """An object of the store as a file that can be read in ranges. Its last bytes are read once."""

    closed = False

    def __init__(self, store: Store, path: str, size: int) -> None:
        self._store, self._path, self._size, self._at = store, path, size, 0
        self._begin = max(0, size - _TAIL)
        self._tail = store.read_range(path, self._begin, size)

    def read(self, count: int = -1) -> bytes:
        end = self._size if count < 0 else min(self._size, self._at + count)
        begin, self._at = self._at, end
        if begin >= self._begin:
            return self._tail[begin - self._begin : end - self._begin]
        return self._store.read_range(self._path, begin, end) if begin < end else b""

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def close(self) -> None:
        """Nothing is open."""


class ColumnsFile(Generic[Head]):
    """The columns of a shard.

    Attributes:
        head: head of the file; None if nobody has asked.
    """

    def __init__(self, where: str, file: Any, head: Head) -> None:
        self._where, self._file = where, file
        self.head: Head = head

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return list(self._file.schema_arrow.names)

    def table(self, columns: Sequence[str] | None = None) -> Any:
        """The table of some columns, or of all, as a pyarrow table. Each page is compared with its checksum.

        Raises:
            DataError: the file is damaged.
            StoreError: the lake does not answer.
        """
        lost = sorted({*(columns or ())} - {*self.names})
        if lost:
            raise _damaged_file_error(self._where, f"it has no column {lost[0]!r}")
        try:
            found = self._file.read(columns=None if columns is None else list(columns))
        except (pa.ArrowException, OSError) as error:
            raise _damaged_file_error(self._where, str(error)) from error
        if found.num_rows != self._file.metadata.num_rows:  # the head of a page has no checksum
            raise _damaged_file_error(self._where, f"{found.num_rows:,} rows of {self._file.metadata.num_rows:,}")
        return found


def open_columns(store: Store, partition: Place, shard: Shard) -> ColumnsFile[ColumnsHead] | None:
    """The columns of a shard of a set; None if they are missing, of another content or format, or no parquet.

    Args:
        store: the lake.
        partition: partition of the shard.
        shard: its row of the ledger's table.

    Raises:
        StoreError: the lake does not answer.
    """
    return _open_columns_file(store, partition, shard, ColumnsHead, FORMAT)


def has_columns(store: Store, partition: Place, shard: Shard) -> bool:
    """Whether a shard of documents or of a set has columns of its present content; the arguments of open_columns().

    Raises:
        StoreError: the lake does not answer.
    """
    opened = open_document_columns if partition.kind is DOCUMENTS else open_columns
    return opened(store, partition, shard) is not None


def open_document_columns(store: Store, partition: Place, shard: Shard) -> ColumnsFile[DocumentColumnsHead] | None:
    """The columns of a shard of documents; None as for open_columns(), whose arguments it has.

    Raises:
        StoreError: the lake does not answer.
    """
    return _open_columns_file(store, partition, shard, DocumentColumnsHead, DOCUMENT_FORMAT)


def read_pairs(store: Store, path: str) -> Iterator[Pair]:
    """The source and id of each row of a file of columns, whatever shard it was made from.

    Args:
        store: the lake.
        path: path of the file.

    Raises:
        DataError: it is no such file, or damaged.
        StoreError: the lake does not answer.
    """
    entry = store.head(path)
    if entry is None:
        return
    try:
        file = pq.ParquetFile(
            pa.PythonFile(_Ranges(store, path, entry.size), mode="r"), page_checksum_verification=True
        )
    except StoreError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise _damaged_file_error(path, str(error)) from error
    table = ColumnsFile(path, file, None).table(["source", "id"])
    yield from zip(table["source"].to_pylist(), table["id"].to_pylist(), strict=True)


def _damaged_file_error(where: str, what: str) -> DataError:
    return DataError(
        f"{where}: is damaged ({' '.join(what.split())}); delete it, and `gristmill report` or"
        " `gristmill preview` makes it again"
    )


def _open_columns_file(
    store: Store, partition: Place, shard: Shard, kind: type[_Stated], form: int
) -> ColumnsFile[_Stated] | None:
    path = columns_path(partition, shard.name)
    entry = store.head(path)
    if entry is None:
        return None
    try:
        file = pq.ParquetFile(
            pa.PythonFile(_Ranges(store, path, entry.size), mode="r"), page_checksum_verification=True
        )
        head = msgspec.json.decode((file.schema_arrow.metadata or {}).get(KEY, b""), type=kind)
    except StoreError:
        raise
    except (pa.ArrowException, OSError, *NOT_DECODED):
        return None
    if (head.format, head.content, file.metadata.num_rows) != (form, shard.content, shard.rows):
        return None
    return ColumnsFile(f"{store.url}/{path}", file, head)
