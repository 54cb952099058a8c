"""PackedUpload: a file of JSON lines that is written as its name says: gzip, Zstandard, bzip2, xz, or not packed."""

import bz2
import hashlib
import lzma
from collections.abc import Callable, Mapping

import zstandard
from isal import igzip_lib

from gristmill.lake.rows.shard_file import MEMBER, gzip_bytes, lower_suffix
from gristmill.lake.store.protocol import ObjectVersion, Store

_FAST = 2
"""Level of igzip for large outputs: twice as fast as its level 3, and 4 % larger."""
_SMALL = igzip_lib.MEM_LEVEL_SMALL
"""Memory of that level: text gets half a percent smaller than with its default, in the same time."""
_PACK: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip_bytes,
    ".gz fast": lambda data: bytes(igzip_lib.compress(data, _FAST, igzip_lib.COMP_GZIP, _SMALL)),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    **dict.fromkeys((".zst", ".zstd"), lambda data: zstandard.ZstdCompressor().compress(data)),
}


class PackedUpload:
    """Writes rows to an object, which appears at close(). Equal rows give equal bytes.

    Args:
        store: store that receives the object.
        path: path of the object; its ending names the packing.
        packing: an ending that names another packing; empty: that of the path.
        fast: whether gzip packs fast: for large files that are read from their beginning to their end.

    Attributes:
        rows: number of rows that were written.
    """

    def __init__(self, store: Store, path: str, packing: str = "", *, fast: bool = False) -> None:
        self._upload = store.upload(path)
        ending = packing or lower_suffix(path)
        self._pack = _PACK.get(f"{ending} fast" if fast and ending == ".gz" else ending, bytes)
        self._sha256 = hashlib.sha256()
        self._waiting: list[bytes] = []
        self._size = 0
        self._begun = False
        self.rows = 0

    @property
    def sha256(self) -> str:
        """The sha256 (hex) of what is written; of the object after close()."""
        return self._sha256.hexdigest()

    def write(self, row: bytes) -> None:
        """Appends a row, without its line feed."""
        self.write_rows(row + b"\n", 1)

    def write_rows(self, rows: bytes, count: int) -> None:
        """Appends so many rows, each with its line feed. They remain together in one member of the file."""
        self._waiting.append(rows)
        self._size += len(rows)
        self.rows += count
        if self._size >= MEMBER:
            self._end_packed_member()

    def _end_packed_member(self) -> None:
        packed = self._pack(b"".join(self._waiting))
        self._waiting.clear()
        self._size = 0
        self._begun = True
        self._sha256.update(packed)
        self._upload.write(packed)

    def end(self) -> str:
        """Writes what waits; nothing more may be written. Returns the sha256 (hex) of the object that close()
        publishes.
        """
        if self._size or not self._begun:
            self._end_packed_member()
        return self.sha256

    def close(self) -> ObjectVersion:
        """Publishes the object.

        Returns:
            Its version.
        """
        self.end()
        return self._upload.close().version

    def abort(self) -> None:
        """Removes what is written."""
        self._upload.abort()
