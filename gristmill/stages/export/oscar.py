"""The codec of OSCAR releases: a file of JSON lines for each language, and its checksums."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gristmill.errors import DataError
from gristmill.formats.oscar.checksums import checksum_name, write_checksums
from gristmill.formats.oscar.compose import compose, doubt, language_of
from gristmill.formats.oscar.names import part_name
from gristmill.lake.rows.document import Document
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export import Oscar
from gristmill.stages.export.codec import Content, ExportedFile, FileFacts, Placed, Release, ReleaseFile, RowBlock, Sink
from gristmill.stages.export.cuts import cut_files, joined
from gristmill.stages.export.gzip_lines import GzipLines
from gristmill.stages.export.not_taken import NotTaken

OTHER_LANGUAGE = "language is not exported"
"""The reason counted for documents of a language that the recipe does not name."""

_COUNTED = {"edited": "edited rows", "new": "rows not from OSCAR"}
"""How the ledger counts lines that are not those of an OSCAR release, by their kind."""


class OscarCodec:
    """Writes OSCAR. Args: as declared."""

    version = 1
    weighted = False
    can_exclude = False

    def __init__(self, declared: Oscar) -> None:
        self._declared = declared

    def open(self, part: str, create: Callable[[str], Sink], lake: Store) -> "OscarPart":  # noqa: ARG002 - lines only
        """See Codec."""
        return OscarPart(self._declared, create)

    def release(self, sources: Sequence[ExportedFile]) -> Content:
        """See Codec: the files of each language, in the folder of its split if the mix holds documents out."""
        by_language: dict[tuple[str, str], list[ExportedFile]] = {}
        for source in sources:
            top, _, file = source.name.rpartition("/")
            by_language.setdefault((top, file.removesuffix(_ENDING)), []).append(source)
        files: list[ReleaseFile] = []
        for (top, language), group in sorted(by_language.items()):
            cut = list(cut_files(group, self._declared.part_bytes))
            folder = f"{top}/{language}/" if top else f"{language}/"
            for number, pieces in enumerate(cut, 1):
                name = part_name(language, number) if len(cut) > 1 else part_name(language)
                files.append(joined(folder + name, pieces))
        return Content(files)

    def excluded(self, *_: object) -> list[str]:
        """See Codec: OSCAR has no list of excluded samples."""
        return []

    def build(self, release: Release, name: str, read: Callable[[str], Iterator[bytes]]) -> Iterator[bytes]:  # noqa: ARG002 - builds no file
        """See Codec: every file is copied."""
        return iter(())

    def meaning(self, pieces: Iterable[bytes]) -> str:
        """See Codec: the bytes."""
        return hashlib.sha256(b"".join(pieces)).hexdigest()

    def sample(self, path: str, row: int, read: Callable[[str], Iterator[bytes]]) -> None:
        """See Codec: gzip is read from the beginning."""

    def warnings(self, release: Release) -> tuple[str, ...]:  # noqa: ARG002 - any number of files is fine
        """See Codec."""
        return ()

    def beside(self, release: Release, sha256: Mapping[str, str]) -> dict[str, bytes]:
        """See Codec: the checksums of each language."""
        folders: dict[str, list[tuple[str, str]]] = {}
        for path, digest in sha256.items():
            folder, _, name = path.rpartition("/")
            folders.setdefault(folder, []).append((name, digest))
        return {
            f"{release.name}{folder}/{checksum_name(folder.rpartition('/')[2])}": write_checksums(sums)
            for folder, sums in folders.items()
        }


_ENDING = ".jsonl.gz"


class OscarPart:
    """The files of one part: one for each split and language. See PartFiles."""

    def __init__(self, declared: Oscar, create: Callable[[str], Sink]) -> None:
        self._declared, self._create = declared, create
        self._files: dict[str, GzipLines] = {}
        self.counts: dict[str, int] = {}

    def write(self, rows: RowBlock) -> list[Placed]:
        """See PartFiles."""
        return rows.each_document(self._place)

    def _place(self, document: Document, split: str) -> Placed:
        language = language_of(document)
        if self._declared.languages and language not in self._declared.languages:
            return NotTaken(OTHER_LANGUAGE)
        composed = compose(document, schema=self._declared.schema)
        if b"\n" in composed.line:
            raise DataError(f"id {document.id!r}: its line of OSCAR has a line feed")
        for counted in (_COUNTED.get(composed.kind), doubt(document, composed.kind)):
            if counted:
                self.counts[counted] = self.counts.get(counted, 0) + 1
        path = f"{split}/{language}{_ENDING}" if split else f"{language}{_ENDING}"
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = GzipLines(self._create(path))
        file.write(composed.line)
        return path

    def close(self) -> dict[str, FileFacts]:
        """See PartFiles."""
        return {path: file.close() for path, file in sorted(self._files.items())}
