"""Reads source code: archives of repositories, or folder trees with a raw object for each file."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

from msgspec import Meta

from gristmill.errors import RecipeError, known_names
from gristmill.lake.rows.document import Document
from gristmill.readers.archive import TAR, ZIP, is_archive, refused_member
from gristmill.readers.code.languages import LANGUAGES, programming_language
from gristmill.readers.code.left_out import is_binary, is_generated, is_minified, is_vendored
from gristmill.readers.code.licences import UNKNOWN, LicenceFiles, is_licence_file, stated_licence
from gristmill.readers.files.archive_passes import ArchivePasses
from gristmill.readers.files.raw_files import raw_files, refused_file
from gristmill.readers.text import UNDECODABLE, Unfit, fit_text, python_text
from gristmill.readers.zip_archive import TOO_LARGE, Member
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import Converted, LeftOut, RawObject, Refused
from gristmill.recipes.reader import Reader

_LICENCE_SIZE = 1 << 20
_BEGIN = 64 << 10
"""Bytes of a file in an archive that is too large: a binary file has a NUL among them."""
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True, kw_only=True)
class CodeFiles(Reader):
    """Reads each source file as one document. Use it as the `convert` of a source.

    A raw object is an archive (tar or zip) of one repository, or one file of a folder tree. The id is
    `repository/path`. Metadata are `kind` (`code`), `repository`, `path`, `commit` (where `git archive` or the packer
    wrote it into the archive), `programming_language`, `license` (an SPDX expression, or NOASSERTION) and
    `license_from`: `header`, the paths of licence files, or `recipe`.

    The licence is that of the file's SPDX line; else that of the licence files in the nearest folder above it, within
    the archive; else `license`. Left out and counted are files that are vendored, binary, empty, generated, minified,
    of an unknown language, or of a language that the recipe does not want. So are links of a folder tree, and
    what lies behind them; a link with an archive's name is followed. Files above `largest` are refused.

    Attributes:
        source: name of the source, which is the source of every document.
        repository: name of the repository of all files. None: the name of the archive without its ending, or, for
            folder trees, the first `folders` folders.
        folders: number of folders that name the repository in a folder tree, such as 2 for `owner/name`.
        strip: number of folders in front of each path in an archive that are not part of it, such as 1 for archives
            that GitHub packs, with their folder `name-commit/`.
        license: the licence of files for which nothing else states one.
        languages: only files in these languages, such as `("Python", "Rust")`; empty: all that are known.
        encodings: encodings that are tried in this order. UTF-16 with a byte order mark is always read, and Python
            in the encoding that it declares.
        largest: largest file in bytes.
        generated: whether generated and minified files are kept.
        vendored: whether vendored files are kept.
    """

    source: str
    repository: str | None = None
    folders: Annotated[int, Meta(ge=0)] = 1
    strip: Annotated[int, Meta(ge=0)] = 0
    license: str = UNKNOWN
    languages: tuple[str, ...] = ()
    encodings: tuple[str, ...] = ("utf-8-sig",)
    largest: Annotated[int, Meta(ge=1)] = 1 << 20
    generated: bool = False
    vendored: bool = False

    def __post_init__(self) -> None:
        title = f"CodeFiles of source {self.source!r}"
        check_types(self, title)
        for language in self.languages:
            if language not in LANGUAGES:
                raise RecipeError(
                    f"{title}: language {language!r} is unknown; {known_names(language, sorted(LANGUAGES))}"
                )
        for encoding in self.encodings:
            try:
                "".encode(encoding)
            except LookupError as error:
                raise RecipeError(f"{title}: encoding {encoding!r} is unknown to Python; give one it knows") from error

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields the source files of a raw object. See gristmill.recipes.source.Source.convert."""
        if raw.link and self.leaves_link(raw.link):
            yield LeftOut("link")
            return
        if is_archive(raw.path):
            yield from self._convert_archive(raw)
            return
        parts = raw.name.split("/")
        count = min(self.folders, len(parts) - 1)
        for file in raw_files(raw, lambda _: True):
            size = file.size or len(file.raw)
            name = self.repository or "/".join(parts[:count])
            path = "/".join(file.name.split("/")[count:])
            if file.refused or size > self.largest:
                reason = (
                    "binary" if is_binary(file.raw) else self._left_out_reason(path, "", programming_language(path, ""))
                )
                yield (
                    LeftOut(reason)
                    if reason
                    else Refused(
                        TOO_LARGE,
                        f"{raw.name} ({size} bytes)",
                        file.raw[:_LICENCE_SIZE],
                        size,
                        id=_source_file_id(name, path),
                    )
                )
            else:
                yield self._convert_source_file(file, raw, name, path, LicenceFiles())

    def leaves_link(self, name: str) -> bool:
        """Whether a link is left out, also one to nothing: one that has an archive's name is followed.

        Args:
            name: path of the link, below its snapshot.
        """
        return not is_archive(name)

    def _convert_archive(self, raw: RawObject) -> Iterator[Converted]:
        name = self.repository or _archive_stem(raw.name)
        with ArchivePasses(raw) as archive:
            licences = LicenceFiles()
            for file in archive.members(is_licence_file, _LICENCE_SIZE):
                licences.add(self._repository_path(file.name), file.raw.decode("utf-8", "replace"))
            vendored: list[str] = []

            def accept(path: str) -> bool:
                if self.vendored or not is_vendored(path):
                    return True
                vendored.append(path)
                return False

            for file in archive.members(accept, self.largest, _BEGIN):
                path = self._repository_path(file.name)
                reason = self._reason_unread(path, file) if file.refused else ""
                if reason:
                    yield LeftOut(reason)
                else:
                    yield (
                        refused_member(raw, replace(file, raw=b""))._replace(id=_source_file_id(name, path))
                        if file.refused
                        else self._convert_source_file(file, raw, name, path, licences)
                    )
            if vendored:
                yield LeftOut("vendored", len(vendored))

    def _repository_path(self, name: str) -> str:
        """The path of an archive's file in its repository."""
        parts = name.split("/")
        return "/".join(parts[min(self.strip, len(parts) - 1) :])

    def _convert_source_file(
        self, file: Member, raw: RawObject, repository: str, path: str, licences: LicenceFiles
    ) -> Converted:
        """One source file."""
        if not self.vendored and is_vendored(path):
            return LeftOut("vendored")
        if not file.raw.strip():
            return LeftOut("empty")
        if is_binary(file.raw):
            return LeftOut("binary")
        try:
            text = self._decode_source_text(file.raw, path)
        except Unfit as unfit:
            return refused_file(raw, file, unfit)._replace(id=_source_file_id(repository, path))
        language = programming_language(path, text)
        reason = self._left_out_reason(path, text, language)
        if reason:
            return LeftOut(reason)
        licence, stated = self._licence_of_file(path, text, licences)
        metadata: dict[str, Any] = {
            "kind": "code",
            "repository": repository,
            "path": path,
            "programming_language": language,
            "license": licence,
        }
        if stated:
            metadata["license_from"] = stated
        if file.comment:
            metadata["commit"] = file.comment
        return Document(id=_source_file_id(repository, path), text=text, source=self.source, metadata=metadata)

    def _reason_unread(self, path: str, file: Member) -> str:
        """Why a file that an archive refuses is left out by its name and first bytes, or "": it may be code.

        A link is another name of a file that is read by its own.
        """
        if file.refused == "link":
            return file.refused
        if file.refused != TOO_LARGE:
            return ""
        return self._left_out_reason(path, "", programming_language(path, "")) or (
            "binary" if is_binary(file.raw) else ""
        )

    def _left_out_reason(self, path: str, text: str, language: str) -> str:
        """Why a file is left out, or ""."""
        if not self.generated and is_generated(path, text):
            return "generated"
        if not self.generated and is_minified(path, text):
            return "minified"
        if not language:
            return "unknown language"
        return "other language" if self.languages and language not in self.languages else ""

    def _licence_of_file(self, path: str, text: str, licences: LicenceFiles) -> tuple[str, str]:
        """The licence of a file, and what states it."""
        stated = stated_licence(text)
        if stated:
            return stated, "header"
        licence, files = licences.of(path)
        if files:
            return licence, files
        return self.license, "" if self.license == UNKNOWN else "recipe"

    def _decode_source_text(self, data: bytes, path: str) -> str:
        mark = _MARKS.get(data[:2])
        for encoding in (mark,) if mark else self.encodings:
            try:
                return fit_text(data.decode(encoding))
            except UnicodeError:
                continue
        mend = "" if mark else f'; declare encodings=("{self.encodings[0]}", "latin-1"), or as the files are'
        if path.endswith((".py", ".pyi", ".pyw")):
            try:
                return python_text(data)
            except Unfit as unfit:
                raise Unfit(unfit.reason, f"{unfit.detail}{mend if unfit.reason == UNDECODABLE else ''}") from None
        raise Unfit(UNDECODABLE, f"not {' or '.join((mark,) if mark else self.encodings)}{mend}")


def _source_file_id(repository: str, path: str) -> str:
    return f"{repository}/{path}" if repository else path


def _archive_stem(name: str) -> str:
    """The name of an archive without its ending."""
    end = max((end for end in (*TAR, *ZIP) if name.lower().endswith(end)), key=len)
    return name[: -len(end)]
