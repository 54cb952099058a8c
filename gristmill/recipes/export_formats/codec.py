"""What a format gives to the export stage: how documents become the files of a part, and parts a release.

The stage knows no format. An entry point of the group `gristmill.exports` names the codec of each.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from gristmill.lake.identity import Pair
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export_formats.not_taken import NotTaken
from gristmill.recipes.export_formats.options import ExportFormat
from gristmill.recipes.export_formats.part_files import (
    MANY_FILES,
    TRAIN,
    VALIDATION,
    Cut,
    FileFacts,
    PartFiles,
    Placed,
    RowBlock,
    Sink,
)
from gristmill.recipes.export_formats.release_files import (
    Content,
    ExportedFile,
    NamedFile,
    Piece,
    Release,
    ReleaseFile,
)
from gristmill.recipes.export_formats.sample_start import SampleStart

__all__ = [
    "MANY_FILES",
    "TRAIN",
    "VALIDATION",
    "Codec",
    "Content",
    "Cut",
    "ExportFormat",
    "ExportedFile",
    "FileFacts",
    "NamedFile",
    "NotTaken",
    "PartFiles",
    "Piece",
    "Placed",
    "Release",
    "ReleaseFile",
    "RowBlock",
    "SampleStart",
    "Sink",
]


class Codec:
    """Writes a format of exports. Its class is made with the options: `Codec(declared)`.

    An entry point of the group `gristmill.exports`, with the name of the format, names the class. Where it defines a
    method anew, the bytes of parts and releases follow from the arguments alone: `verify` makes them again.

    Attributes:
        options: the class of its options.
        version: version of what it writes. Raising it makes every export of the format again.
        weighted: whether its releases name the weights of the mix's streams.
        can_exclude: whether its releases can leave out a sample that a part has.
        declared: the options.
    """

    options: ClassVar[type[ExportFormat]]
    version: ClassVar[int] = 1
    weighted: ClassVar[bool] = False
    can_exclude: ClassVar[bool] = False

    def __init__(self, declared: Any) -> None:
        self.declared = declared

    def check(self, lake: Store) -> None:
        """Checks what the format needs, before anything is made, and again in each worker.

        Args:
            lake: the store of what documents refer to.

        Raises:
            GristmillError: something is missing, such as a folder.
        """

    def open(self, part: str, create: Callable[[str], Sink], lake: Store) -> PartFiles:
        """Begins a part.

        Args:
            part: name of the part's folder.
            create: function that opens a file by its path below the part's folder.
            lake: the store of what documents refer to.

        Returns:
            The writer of the part's files.
        """
        raise NotImplementedError

    def release(self, sources: Sequence[ExportedFile]) -> Content:
        """The content of a release over all parts. By default the files of one name are joined into one.

        Args:
            sources: the files of the parts, in the order of stream, snapshot and shard.
        """
        by_name: dict[str, list[Piece]] = {}
        for source in sources:
            by_name.setdefault(source.name, []).append(source.whole)
        return Content([ReleaseFile.joined(name, pieces) for name, pieces in sorted(by_name.items())])

    def excluded(
        self,
        sources: Sequence[ExportedFile],  # noqa: ARG002 - this and what follows: a format may need it
        blocked: Mapping[str, Collection[Pair]],  # noqa: ARG002
        read: Callable[[ExportedFile], Iterator[bytes]],  # noqa: ARG002
    ) -> list[str]:
        """The samples of these files that a release must exclude. It is asked only with `can_exclude`.

        Args:
            sources: files of the parts, as in release().
            blocked: source and id of the documents on the mix's blocklists, by stream.
            read: the bytes of a file.

        Returns:
            Paths of samples, as `path/key`.

        Raises:
            DataError: the recipe excludes a sample that no file has.
        """
        return []

    def build(self, release: Release, name: str, read: Callable[[str], Iterator[bytes]]) -> Iterator[bytes]:
        """The bytes of a file of a release that is not copied.

        Args:
            release: the release.
            name: name of the file, one of `release.built`.
            read: the bytes of a part's file, by its path.
        """
        raise NotImplementedError

    def meaning(self, pieces: Iterable[bytes]) -> str:
        """A digest of what a built file says. Another version of a library may write the same in other bytes.

        Args:
            pieces: the bytes of the file.

        Raises:
            DataError: it is no such file.
        """
        return hashlib.sha256(b"".join(pieces)).hexdigest()

    def sample(self, path: str, row: int, read: Callable[[str], Iterator[bytes]]) -> SampleStart | None:  # noqa: ARG002
        """Where a document is in a file; None if tools read the format from the beginning only.

        Args:
            path: path of the file, which is in a part or in a release.
            row: number of the document in the file, from 0.
            read: the bytes of a file, by its path.

        Returns:
            The place, or None.
        """
        return None

    def warnings(self, release: Release) -> tuple[str, ...]:  # noqa: ARG002
        """What people should know of a release that is valid, but that its readers will not like.

        Returns:
            Sentences.
        """
        return ()

    def beside(self, release: Release, sha256: Mapping[str, str]) -> dict[str, bytes]:  # noqa: ARG002
        """The small files of a release, by their paths below the folder of the index. Begin them with `release.name`.

        Its names are checked before anything is written: then it is asked with digests of zeros.

        Args:
            release: the release.
            sha256: digest of each file that was copied or built, by its path below the release's folder.
        """
        return {}
