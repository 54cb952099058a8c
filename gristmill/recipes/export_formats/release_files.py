"""A release of an export: the files of parts that it is made from, and its own files."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from gristmill.lake.store.json_object import Integer
from gristmill.recipes.export_formats.part_files import FileFacts


class Piece(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Bytes [start, end) of an object, which are rows [row, row + rows) of its file.

    Attributes:
        path: path of the object.
        start: its first byte.
        end: the byte behind its last one.
        row: its first row, from 0.
        rows: number of its rows.
    """

    path: str
    start: Integer
    end: Integer
    row: Integer
    rows: Integer


class ExportedFile(NamedTuple):
    """A file of a part, in the lake.

    Attributes:
        stream: name of the stream that its documents are of.
        path: its object.
        name: its path below the part's folder.
        sha256: digest of the object.
        size: size of the object, in bytes.
        facts: facts that its codec knows of it.
    """

    stream: str
    path: str
    name: str
    sha256: str
    size: int
    facts: FileFacts

    @property
    def whole(self) -> Piece:
        """All of it."""
        return Piece(self.path, 0, self.size, 0, self.facts.rows)


class ReleaseFile(msgspec.Struct, frozen=True):
    """A file of a release: pieces of the parts' files, one after another.

    Attributes:
        name: its path below the release's folder.
        rows: number of documents.
        bytes: its size.
        pieces: byte ranges of the parts' files. The pieces of one object follow each other, and are all of it.
    """

    name: str
    rows: Integer
    bytes: Integer
    pieces: tuple[Piece, ...]

    @classmethod
    def joined(cls, name: str, pieces: Sequence[Piece]) -> "ReleaseFile":
        """The file of a release that consists of these pieces.

        Args:
            name: name of the file.
            pieces: its pieces, in their order.

        >>> ReleaseFile.joined("en.jsonl", [Piece("a", 0, 90, 0, 3), Piece("b", 0, 10, 0, 1)]).rows
        4
        """
        size, rows = sum(each.end - each.start for each in pieces), sum(each.rows for each in pieces)
        return cls(name, rows, size, tuple(pieces))


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
        folder: folder of the release in the lake, with a closing slash.
        files: files that are copied, as in Content; the small files beside them follow from these.
        named: files of parts that are named where they are, as in Content.
        built: files that the codec writes itself, as in Content.
        weights: the weight of each stream of the mix, by name, if the format needs it.
        repetitions: number of times that each stream is read in an epoch, by stream; empty: streams are drawn by
            weight.
        excluded: names of what is left out, as in Content; and the samples whose documents are on a blocklist of the
            mix.
        code: digest of the code of the format, if a plug-in adds it.
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
    code: str = ""

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
