"""A file of lines in gzip members of about 1 MiB, which can be cut and joined without unpacking them."""

from collections.abc import Callable

import xxhash
from isal import igzip_lib

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.shard_file import LEVEL, MEMBER
from gristmill.recipes.export_formats.not_taken import NotTaken
from gristmill.recipes.export_formats.part_files import Cut, FileFacts, Placed, RowBlock, Sink


class GzipLines:
    """Writes lines. Nothing is visible before close().

    Args:
        sink: file that receives the packed bytes.
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
            self._end_member()

    def _end_member(self) -> None:
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
        """Publishes the file.

        Returns:
            What is known of it.
        """
        if self._pending or not self._members:  # a file without lines is an empty member: 0 bytes are no gzip
            self._end_member()
        self._sink.close()
        return FileFacts(self._rows, self._length, self._content.hexdigest(), tuple(self._members))


class GzipLinesPart:
    """The files of a part in which each document is a line: see PartFiles. A format has a class below it.

    Args:
        create: function that opens a file, by its path below the part's folder.
    """

    def __init__(self, create: Callable[[str], Sink]) -> None:
        self._create = create
        self._files: dict[str, GzipLines] = {}
        self.counts: dict[str, int] = {}

    def line(self, document: Document, split: str) -> tuple[str, bytes] | NotTaken:
        """The path of a document's file below the part's folder, ending in `.gz`; and its line, without a line feed.

        Args:
            document: the document.
            split: `train`, `validation`, or empty if the mix holds no documents out.
        """
        raise NotImplementedError

    def write(self, rows: RowBlock) -> list[Placed]:
        """See PartFiles.

        Returns:
            Where each document is now.
        """
        return rows.each_document(self._append_document_line)

    def _append_document_line(self, document: Document, split: str) -> Placed:
        made = self.line(document, split)
        if isinstance(made, NotTaken):
            return made
        path, line = made
        if b"\n" in line:
            raise DataError(f"id {document.id!r}: its line has a line feed")
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = GzipLines(self._create(path))
        file.write(line)
        return path

    def close(self) -> dict[str, FileFacts]:
        """See PartFiles.

        Returns:
            What is known of each file, by its path.
        """
        return {path: file.close() for path, file in sorted(self._files.items())}
