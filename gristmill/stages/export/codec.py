"""What a format gives to the export stage: how documents become the files of a part, and parts a release.

The stage knows no format. `formats.py` has the codec of each.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from gristmill.lake.rows.document import Document
from gristmill.lake.store.json_object import Integer

TRAIN, VALIDATION = "train", "validation"
"""The splits of a mix that holds documents out. The split of other mixes is empty."""


class Sink(Protocol):
    """A file that is being written."""

    def write(self, data: bytes, /) -> None:
        """Appends bytes."""

    def close(self) -> None:
        """Publishes the file."""

    def abort(self) -> None:
        """Removes everything written so far."""


class NotTaken(NamedTuple):
    """A document that the format does not take. The reason is short and stable: the ledger counts by it."""

    reason: str


class Cut(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A piece of a file that may be cut out and be a file by itself, such as a gzip member.

    Attributes:
        start: its first byte in the file.
        row: its first row.
        length: unpacked bytes of the file before it.
    """

    start: Integer
    row: Integer
    length: Integer


class FileFacts(msgspec.Struct, frozen=True):
    """What a codec knows of a file that it has written.

    Attributes:
        rows: number of documents.
        length: unpacked bytes.
        content: digest of the unpacked bytes. Packing the same bytes on another machine may give another file.
        members: the pieces at whose ends the file may be cut.
    """

    rows: Integer
    length: Integer
    content: str
    members: tuple[Cut, ...] = ()


class PartFiles(Protocol):
    """Writes the documents of one part. The stage gives the documents of one shard, in their order.

    Attributes:
        counts: further counters, such as documents that were edited. The ledger adds them up.
    """

    counts: dict[str, int]

    def write(self, document: Document, split: str) -> str | NotTaken:
        """Writes a document.

        Args:
            document: the document.
            split: `train`, `validation`, or empty.

        Returns:
            The path, below the part's folder, of the file that has it now; or why no file has it.

        Raises:
            DataError: the document contradicts itself.
        """

    def close(self) -> dict[str, FileFacts]:
        """Publishes the files, and returns what is known of each, by its path."""

    def abort(self) -> None:
        """Aborts all files."""


class ExportedFile(NamedTuple):
    """A file of a part, in the lake.

    Attributes:
        path: its object.
        name: its path below the part's folder.
        sha256: of the object.
        size: of the object.
        facts: what its codec knows of it.
    """

    path: str
    name: str
    sha256: str
    size: int
    facts: FileFacts


class Piece(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Bytes [start, end) of an object, which are rows [row, row + rows) of its file."""

    path: str
    start: Integer
    end: Integer
    row: Integer
    rows: Integer


class ReleaseFile(msgspec.Struct, frozen=True):
    """A file of a release: pieces of the parts' files, one after another.

    Attributes:
        name: its path below the release's folder.
        rows: number of documents.
        bytes: its size.
        pieces: what it consists of. The pieces of one object follow each other, and are all of it.
    """

    name: str
    rows: Integer
    bytes: Integer
    pieces: tuple[Piece, ...]


class Codec(Protocol):
    """A format of exports."""

    @property
    def version(self) -> int:
        """Version of what it writes. Raising it makes every export of the format again."""

    def open(self, create: Callable[[str], Sink]) -> PartFiles:
        """Begins a part.

        Args:
            create: opens a file, by its path below the part's folder.
        """

    def release(self, sources: Sequence[ExportedFile]) -> list[ReleaseFile]:
        """The files of a release over all parts, in their order: stream, snapshot, shard."""

    def beside(self, sha256: Mapping[str, str]) -> dict[str, bytes]:
        """The small files of a release, by their paths below its folder.

        Args:
            sha256: of each ReleaseFile, by its name.
        """
