"""A file of lines in gzip members of about 1 MiB, which can be cut and joined without unpacking them."""

import xxhash
from isal import igzip_lib

from gristmill.lake.rows.shard_file import LEVEL, MEMBER
from gristmill.stages.export.codec import Cut, FileFacts, Sink


class GzipLines:
    """Writes lines. Nothing is visible before close().

    Args:
        sink: receives the packed bytes.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._content = xxhash.xxh3_128()
        self._pending: list[bytes] = []
        self._waiting = self._rows = self._length = self._bytes = 0
        self._members: list[Cut] = []

    def write(self, line: bytes) -> None:
        """Appends a line, given without its line feed."""
        self._pending.append(line)
        self._waiting += len(line) + 1
        if self._waiting >= MEMBER:
            self._cut()

    def _cut(self) -> None:
        """Ends a member."""
        rows = len(self._pending)
        self._pending.append(b"")
        plain = b"\n".join(self._pending)
        self._pending.clear()
        packed = igzip_lib.compress(plain, LEVEL, igzip_lib.COMP_GZIP)
        self._members.append(Cut(self._bytes, self._rows, self._length))
        self._content.update(plain)
        self._sink.write(packed)
        self._rows += rows
        self._length += len(plain)
        self._bytes += len(packed)
        self._waiting = 0

    def close(self) -> FileFacts:
        """Publishes the file, and returns what is known of it."""
        if self._pending or not self._members:  # a file without lines is an empty member: 0 bytes are no gzip
            self._cut()
        self._sink.close()
        return FileFacts(self._rows, self._length, self._content.hexdigest(), tuple(self._members))
