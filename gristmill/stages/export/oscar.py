"""The codec of OSCAR releases: a file of JSON lines for each language, and its checksums."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from gristmill.errors import DataError
from gristmill.formats.oscar.checksums import checksum_name, write_checksums
from gristmill.formats.oscar.compose import compose, doubt, language_of
from gristmill.formats.oscar.names import part_name
from gristmill.lake.rows.document import Document
from gristmill.recipes.export import Oscar
from gristmill.stages.export.codec import ExportedFile, FileFacts, NotTaken, Piece, ReleaseFile, Sink
from gristmill.stages.export.gzip_lines import GzipLines

OTHER_LANGUAGE = "language is not exported"
"""The reason counted for documents of a language that the recipe does not name."""

_COUNTED = {"edited": "edited rows", "new": "rows not from OSCAR"}
"""How the ledger counts lines that are not those of an OSCAR release, by their kind."""


class OscarCodec:
    """Writes OSCAR. Args: as declared."""

    version = 1

    def __init__(self, declared: Oscar) -> None:
        self._declared = declared

    def open(self, create: Callable[[str], Sink]) -> "OscarPart":
        """See Codec."""
        return OscarPart(self._declared, create)

    def release(self, sources: Sequence[ExportedFile]) -> list[ReleaseFile]:
        """See Codec: the files of each language, in the folder of its split if the mix holds documents out."""
        by_language: dict[tuple[str, str], list[ExportedFile]] = {}
        for source in sources:
            top, _, file = source.name.rpartition("/")
            by_language.setdefault((top, file.removesuffix(_ENDING)), []).append(source)
        files: list[ReleaseFile] = []
        for (top, language), group in sorted(by_language.items()):
            cut = list(_cut(group, self._declared.part_bytes))
            folder = f"{top}/{language}/" if top else f"{language}/"
            for number, pieces in enumerate(cut, 1):
                name = folder + (part_name(language, number) if len(cut) > 1 else part_name(language))
                size, rows = sum(each.end - each.start for each in pieces), sum(each.rows for each in pieces)
                files.append(ReleaseFile(name, rows, size, tuple(pieces)))
        return files

    def beside(self, sha256: Mapping[str, str]) -> dict[str, bytes]:
        """See Codec: the checksums of each language."""
        folders: dict[str, list[tuple[str, str]]] = {}
        for path, digest in sha256.items():
            folder, _, name = path.rpartition("/")
            folders.setdefault(folder, []).append((name, digest))
        return {
            f"{folder}/{checksum_name(folder.rpartition('/')[2])}": write_checksums(sums)
            for folder, sums in folders.items()
        }


_ENDING = ".jsonl.gz"


class OscarPart:
    """The files of one part: one for each split and language. See PartFiles."""

    def __init__(self, declared: Oscar, create: Callable[[str], Sink]) -> None:
        self._declared, self._create = declared, create
        self._files: dict[str, GzipLines] = {}
        self.counts: dict[str, int] = {}

    def write(self, document: Document, split: str) -> str | NotTaken:
        """See PartFiles."""
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

    def abort(self) -> None:
        """See PartFiles."""
        for file in self._files.values():
            file.abort()


def _cut(sources: Sequence[ExportedFile], most: int) -> Iterator[list[Piece]]:
    """The pieces of each file of a language: as many members as fit into `most` unpacked bytes, and at least one."""
    pieces: list[Piece] = []
    held = 0
    for source in sources:
        for start, end, row, rows, length in _members(source):
            if pieces and held + length > most:
                yield pieces
                pieces, held = [], 0
            last = pieces[-1] if pieces else None
            if last and (last.path, last.end) == (source.path, start):
                pieces[-1] = Piece(last.path, last.start, end, last.row, last.rows + rows)
            else:
                pieces.append(Piece(source.path, start, end, row, rows))
            held += length
    if pieces:
        yield pieces


def _members(source: ExportedFile) -> Iterator[tuple[int, int, int, int, int]]:
    """(first byte, end, first row, rows, unpacked bytes) of each member of a part's file."""
    members, facts = source.facts.members, source.facts
    for number, member in enumerate(members):
        after = members[number + 1] if number + 1 < len(members) else None
        end = after.start if after else source.size
        rows = (after.row if after else facts.rows) - member.row
        length = (after.length if after else facts.length) - member.length
        yield member.start, end, member.row, rows, length
