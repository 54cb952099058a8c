"""The files of a part, while a codec writes them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec

from gristmill.errors import DataError
from gristmill.lake.rows.batches import IdPair, decode_rows
from gristmill.lake.rows.document import Document
from gristmill.lake.store.json_object import Integer
from gristmill.recipes.export_formats.not_taken import NotTaken

TRAIN, VALIDATION = "train", "validation"
"""The splits of a mix that holds documents out. The split of other mixes is empty."""
MANY_FILES = 10_000
"""Files of a dataset above which people are warned: loaders open and shuffle them one by one."""


class Sink(Protocol):
    """A file that is being written. The stage aborts a file that is not closed in the end."""

    def write(self, data: bytes, /) -> None:
        """Appends bytes."""

    def close(self) -> object:
        """Publishes the file.

        Returns:
            Anything: callers do not read it.
        """


Placed = str | NotTaken
"""Where a document is now: the path, below the part's folder, of its file; or why no file has it."""

_DOCUMENTS = msgspec.json.Decoder(Document)


class RowBlock(NamedTuple):
    """Some rows of the mix's shard.

    Attributes:
        path: path of the shard, for messages.
        first: number of the first row in the shard, from 0.
        lines: the rows as the mix has them, each with its line feed. Each is one JSON object.
        pairs: id and source of each row.
        splits: the split of each row: `train`, `validation`, or empty.
    """

    path: str
    first: int
    lines: bytes
    pairs: Sequence[IdPair]
    splits: Sequence[str]

    def each_document(self, place: Callable[[Document, str], Placed]) -> list[Placed]:
        """Calls a function with each document and its split.

        Returns:
            The results, one for each row.

        Raises:
            DataError: a document contradicts itself; names shard and row.
        """
        documents = decode_rows(_DOCUMENTS, self.lines, self.path, self.first)
        placed: list[Placed] = []
        for number, (document, split) in enumerate(zip(documents, self.splits, strict=True)):
            try:
                placed.append(place(document, split))
            except DataError as error:
                raise DataError(f"{self.path}: row {self.first + number}: {error}") from error
        return placed


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
        content: XXH3-128 of the unpacked bytes, in hexadecimal digits. Files whose names end in `.gz` are packed.
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

    def write(self, rows: RowBlock) -> Sequence[Placed]:
        """Writes the documents of a block.

        Returns:
            Where each of them is now.

        Raises:
            DataError: a document contradicts itself; names shard and row.
        """

    def close(self) -> dict[str, FileFacts]:
        """Publishes the files.

        Returns:
            What is known of each, by its path.
        """
