"""The codec of OSCAR releases: a file of JSON lines for each language, and its checksums."""

from collections.abc import Callable, Mapping, Sequence

from gristmill.formats.oscar.checksums import checksum_name, write_checksums
from gristmill.formats.oscar.compose import changed_metadata_counter, language_label_of_line, line_of_document
from gristmill.formats.oscar.names import part_name
from gristmill.lake.rows.document import Document
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export import Oscar
from gristmill.recipes.export_formats.codec import Codec, Content, ExportedFile, NotTaken, Release, ReleaseFile, Sink
from gristmill.recipes.export_formats.cuts import cut_release_files
from gristmill.recipes.export_formats.gzip_lines import GzipLinesPart

OTHER_LANGUAGE = "language is not exported"
"""The reason counted for documents of a language that the recipe does not name."""

_COUNTED = {"edited": "edited rows", "new": "rows not from OSCAR"}
"""How the ledger counts lines that are not those of an OSCAR release, by their kind."""


class OscarCodec(Codec):
    """Writes OSCAR. See Codec."""

    options = Oscar
    declared: Oscar

    def open(self, part: str, create: Callable[[str], Sink], lake: Store) -> "OscarPart":  # noqa: ARG002 - lines only
        """See Codec."""
        return OscarPart(self.declared, create)

    def release(self, sources: Sequence[ExportedFile]) -> Content:
        """See Codec: the files of each language, in the folder of its split if the mix holds documents out.

        A label that documents spell in several ways, such as `EN` and `en`, names one folder, in lower case.
        """
        spelled: dict[str, set[str]] = {}
        for source in sources:
            language = _language_of_file(source)
            spelled.setdefault(language.lower(), set()).add(language)
        by_language: dict[tuple[str, str], list[ExportedFile]] = {}
        for source in sources:
            language = _language_of_file(source)
            one = language if len(spelled[language.lower()]) == 1 else language.lower()
            by_language.setdefault((source.name.rpartition("/")[0], one), []).append(source)
        files: list[ReleaseFile] = []
        for (top, language), group in sorted(by_language.items()):
            cut = list(cut_release_files(group, self.declared.part_bytes))
            folder = f"{top}/{language}/" if top else f"{language}/"
            for number, pieces in enumerate(cut, 1):
                name = part_name(language, number) if len(cut) > 1 else part_name(language)
                files.append(ReleaseFile.joined(folder + name, pieces))
        return Content(files)

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


def _language_of_file(file: ExportedFile) -> str:
    return file.name.rpartition("/")[2].removesuffix(_ENDING)


class OscarPart(GzipLinesPart):
    """The files of one part: one for each split and language. See PartFiles."""

    def __init__(self, declared: Oscar, create: Callable[[str], Sink]) -> None:
        super().__init__(create)
        self._declared = declared

    def line(self, document: Document, split: str) -> tuple[str, bytes] | NotTaken:
        """See GzipLinesPart.

        Returns:
            The line's file in the part, and the line in UTF-8; or the reason why the format does not take the document.
        """
        language = language_label_of_line(document)
        if self._declared.languages and language not in self._declared.languages:
            return NotTaken(OTHER_LANGUAGE)
        composed = line_of_document(document, schema=self._declared.schema)
        for counted in (_COUNTED.get(composed.kind), changed_metadata_counter(document, composed.kind)):
            if counted:
                self.counts[counted] = self.counts.get(counted, 0) + 1
        return f"{split}/{language}{_ENDING}" if split else f"{language}{_ENDING}", composed.line
