"""What a format gives to the export stage: how documents become the files of a part, and parts a release.

The stage knows no format. `formats.py` has the codec of each.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import msgspec

from gristmill.errors import DataError
from gristmill.lake.identity import Pair
from gristmill.lake.rows.batches import IdPair, decode_rows
from gristmill.lake.rows.document import Document
from gristmill.lake.store.json_object import Integer
from gristmill.lake.store.protocol import Store
from gristmill.stages.export.not_taken import NotTaken
from gristmill.stages.export.sample_start import SampleStart

TRAIN, VALIDATION = "train", "validation"
"""The splits of a mix that holds documents out. The split of other mixes is empty."""
MANY_FILES = 10_000
"""Files of a dataset above which people are warned: loaders open and shuffle them one by one."""


class Sink(Protocol):
    """A file that is being written. The stage aborts a file that is not closed in the end."""

    def write(self, data: bytes, /) -> None:
        """Appends bytes."""

    def close(self) -> object:
        """Publishes the file."""


Placed = str | NotTaken
"""Where a document is now: the path, below the part's folder, of its file; or why no file has it."""

_DOCUMENTS = msgspec.json.Decoder(Document)


class RowBlock(NamedTuple):
    """Some rows of the mix's shard.

    Attributes:
        path: of the shard, for messages.
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

    def write(self, rows: RowBlock) -> Sequence[Placed]:
        """Writes the documents of a block.

        Returns:
            Where each of them is now.

        Raises:
            DataError: a document contradicts itself; names shard and row.
        """

    def close(self) -> dict[str, FileFacts]:
        """Publishes the files, and returns what is known of each, by its path."""


class ExportedFile(NamedTuple):
    """A file of a part, in the lake.

    Attributes:
        stream: name of the stream that its documents are of.
        path: its object.
        name: its path below the part's folder.
        sha256: of the object.
        size: of the object.
        facts: what its codec knows of it.
    """

    stream: str
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


class NamedFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file of a part that a release names where it is, so that it is not copied.

    Attributes:
        path: its object.
        rows: number of documents.
        split: the format's name of its split.
    """

    path: str
    rows: Integer
    split: str


class Content(NamedTuple):
    """What a release consists of.

    Attributes:
        files: the files that are copied from those of the parts.
        named: the files of parts that are named where they are.
        built: the files that the codec writes itself, by their paths below the release's folder: the parts' files that
            each is made from.
        excluded: files that are named, and samples in them as `path/key`, that the recipe leaves out.
    """

    files: Sequence[ReleaseFile] = ()
    named: Sequence[NamedFile] = ()
    built: Mapping[str, Sequence[str]] = MappingProxyType({})
    excluded: Sequence[str] = ()


class Release(msgspec.Struct, frozen=True, omit_defaults=True):
    """A release, as `release.json` has it.

    Attributes:
        schema: version of this format: 1.
        format: the format with all its options, as JSON.
        folder: of the release in the lake, with a closing slash.
        files: see Content; the small files beside them follow from these.
        named: see Content.
        built: see Content.
        weights: the weight of each stream of the mix, by name, if the format needs it.
        repetitions: how often each stream is read in an epoch; empty: streams are drawn by weight.
        excluded: see Content; and the samples whose documents are on a blocklist of the mix.
    """

    schema: int
    format: dict[str, Any]
    folder: str
    files: tuple[ReleaseFile, ...]
    named: tuple[NamedFile, ...] = ()
    built: dict[str, tuple[str, ...]] = {}
    weights: dict[str, float] = {}
    repetitions: dict[str, float] = {}
    excluded: tuple[str, ...] = ()

    @property
    def sizes(self) -> dict[str, int | None]:
        """The size of each large file, by its path in the lake; None: not known before the file is written."""
        copied = {self.folder + file.name: file.bytes for file in self.files}
        return copied | {self.folder + name: None for name in self.built}

    @property
    def index(self) -> str:
        """The address of the index that it belongs to."""
        return self.folder.rstrip("/").rpartition("/")[0]

    @property
    def name(self) -> str:
        """The name of its folder, with a closing slash."""
        return self.folder.removeprefix(f"{self.index}/")


class Codec(Protocol):
    """A format of exports."""

    @property
    def version(self) -> int:
        """Version of what it writes. Raising it makes every export of the format again."""

    @property
    def weighted(self) -> bool:
        """Whether its releases name the weights of the mix's streams."""

    @property
    def can_exclude(self) -> bool:
        """Whether its releases can leave out a sample that a part has."""

    def open(self, part: str, create: Callable[[str], Sink], lake: Store) -> PartFiles:
        """Begins a part.

        Args:
            part: the name of its folder.
            create: opens a file, by its path below the part's folder.
            lake: holds what documents refer to.
        """

    def release(self, sources: Sequence[ExportedFile]) -> Content:
        """The content of a release over all parts, in their order: stream, snapshot, shard."""

    def excluded(
        self,
        sources: Sequence[ExportedFile],
        blocked: Mapping[str, Collection[Pair]],
        read: Callable[[ExportedFile], Iterator[bytes]],
    ) -> list[str]:
        """The samples of these files that a release must exclude; no samples if the format cannot exclude any.

        Args:
            sources: as in release().
            blocked: source and id of the documents on the mix's blocklists, by stream.
            read: the bytes of a file.

        Returns:
            Paths of samples, as `path/key`.

        Raises:
            DataError: the recipe excludes a sample that no file has.
        """

    def build(self, release: Release, name: str, read: Callable[[str], Iterator[bytes]]) -> Iterator[bytes]:
        """The bytes of a file of a release that is not copied.

        Args:
            release: the release.
            name: of the file, one of `release.built`.
            read: the bytes of a part's file, by its path.
        """

    def meaning(self, pieces: Iterable[bytes]) -> str:
        """A digest of what a built file says. Another version of a library may write the same in other bytes.

        Args:
            pieces: of the file.

        Raises:
            DataError: it is no such file.
        """

    def sample(self, path: str, row: int, read: Callable[[str], Iterator[bytes]]) -> SampleStart | None:
        """Where a document is in a file; None if tools read the format from the beginning only.

        Args:
            path: of the file, of a part or of a release.
            row: number of the document in the file, from 0.
            read: the bytes of a file, by its path.
        """

    def warnings(self, release: Release) -> tuple[str, ...]:
        """What people should know of a release that is valid, but that its readers will not like."""

    def beside(self, release: Release, sha256: Mapping[str, str]) -> dict[str, bytes]:
        """The small files of a release, by their paths below the folder of the index.

        Args:
            release: the release.
            sha256: of each file that was copied or built, by its path below the release's folder.
        """
