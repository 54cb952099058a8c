"""Reads books in the form of Standard Ebooks, and EPUB files: a package file (OPF) and chapters in XHTML.

Source: EPUB 3.3 (https://www.w3.org/TR/epub-33): the package file holds the metadata, a manifest of all files, and the
spine, which is the order in which they are read.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from msgspec import UNSET

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.readers.archive import refused_member
from gristmill.readers.files.archive_passes import ArchivePasses
from gristmill.readers.files.creative_commons import creative_commons_licence
from gristmill.readers.files.raw_files import refused_file
from gristmill.readers.files.xml_text import BlockText
from gristmill.readers.text import Unfit, fit_text
from gristmill.readers.xml_events import XmlElement, parse_xml_document
from gristmill.readers.zip_archive import Member
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import TOO_LONG, Converted, LeftOut, RawObject, Refused
from gristmill.recipes.reader import Reader

_TEXT = BlockText(
    blocks=(
        "p", "div", "section", "article", "header", "footer", "hgroup", "h1", "h2", "h3", "h4", "h5", "h6",
        "blockquote", "ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "tr", "figure", "figcaption", "aside",
        "nav", "hr", "main", "address", "details", "summary", "fieldset", "form", "noscript",
    ),
    skipped=("head", "script", "style", "img", "svg", "audio", "video"),
    lines=("br",),
    cells=("td", "th"),
    kept=("pre",),
)  # fmt: skip
_ISBN = re.compile(r"(?:urn:)?(?:isbn:?)? *(?:97[89][- ]?)?(?:\d[- ]?){9}[\dXx]", re.IGNORECASE)
_XHTML = "application/xhtml+xml"
_TEXTS = {_XHTML, "text/html", "application/x-dtbook+xml", "text/x-oeb1-document"}
"""The media types of texts in a spine. The last two are those of older books."""


class _Package(NamedTuple):
    """What a package file says.

    Attributes:
        book: the id of the book.
        created: when it was published; may be empty.
        metadata: of the book.
        spine: the paths of its texts, in the order of reading.
        pictures: how many items of the spine are pictures.
        folder: that holds the package file.
    """

    book: str
    created: str
    metadata: dict[str, Any]
    spine: list[str]
    pictures: int
    folder: str


@dataclass(frozen=True, kw_only=True)
class EpubBooks(Reader):
    """Reads archives with one book each: a tar of a book's sources, or an EPUB file. Use it as a source's `convert`.

    A book is one document, its texts in the order of its spine; or each text is one. The id is the book's identifier
    in the package file; of a text, the identifier, `#` and its path beside the package file. Metadata are `kind`
    (`book`), `identifiers`, `isbn`, `title`, `authors`, `contributors`, `language`, `publisher`, `subjects`, `rights`,
    `license` (where the rights name a known one), `sources` and `description`; of a text also `path` and `chapter` (its
    number in the spine, from 1).

    Texts that the spine does not name are left out, as `not in the spine`; pictures in the spine for which no text
    stands in, as `pictures in the spine`. A text that the spine names and the archive does not hold, or that is not
    valid XHTML, makes a whole book be refused.

    Attributes:
        source: name of the source, which is the source of every document.
        unit: `book` or `chapter`.
        without: names of files, without their ending, that are left out and counted, such as title pages.
    """

    source: str
    unit: Literal["book", "chapter"] = "book"
    without: tuple[str, ...] = ("titlepage", "imprint", "colophon", "uncopyright", "halftitlepage", "toc", "loi")

    def __post_init__(self) -> None:
        check_types(self, f"EpubBooks of source {self.source!r}")

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields the book of an archive. See gristmill.recipes.source.Source.convert."""
        with ArchivePasses(raw) as archive:
            texts: set[str] = set()
            packages = list(archive.members(lambda name: _is_package(name, texts)))
            if len(packages) != 1:
                raise DataError(f"{raw.path}: {len(packages)} package files (.opf), not one; acquire it again")
            try:
                package = _read_package_file(packages[0])
            except Unfit as unfit:
                yield refused_file(raw, packages[0], unfit)
                return
            if others := len(texts.difference(package.spine)):
                yield LeftOut("not in the spine", others)
            if package.pictures:
                yield LeftOut("pictures in the spine", package.pictures)
            left_out = [path for path in package.spine if _file_stem(path) in self.without]
            if left_out:
                yield LeftOut("matter around the text", len(left_out))
            numbers = {path: n for n, path in enumerate((p for p in package.spine if p not in left_out), start=1)}
            if self.unit == "chapter":
                yield from self._convert_chapters(package, numbers, archive, raw)
            else:
                yield from self._convert_book(package, numbers, archive, raw)

    def _convert_book(
        self, package: _Package, numbers: dict[str, int], archive: ArchivePasses, raw: RawObject
    ) -> Iterator[Converted]:
        """The book, if all its texts are there."""
        found: dict[str, str] = {}
        size = 0
        for file, text in _read_chapter_texts(archive, numbers, raw):
            if isinstance(text, Refused):
                yield text._replace(id=package.book)
            elif size <= raw.limits.row:
                found[file] = text
                size += len(text.encode())
        raw.raw_span = None  # it is made of many files
        if size > raw.limits.row:
            where = f"{raw.name}: its texts have more than {raw.limits.row} bytes"
            yield Refused(TOO_LONG, where, b"", size, id=package.book)
        elif len(found) == len(numbers):
            text = "\n\n".join(found[path] for path in numbers if found[path])
            yield (
                self._book_document(package, "", text, {})
                if text
                else Refused("empty text", raw.name, b"", id=package.book)
            )

    def _convert_chapters(
        self, package: _Package, numbers: dict[str, int], archive: ArchivePasses, raw: RawObject
    ) -> Iterator[Converted]:
        """The texts, in the order of the archive."""
        for path, text in _read_chapter_texts(archive, numbers, raw):
            part = f"#{posixpath.relpath(path, package.folder or '.')}"
            if isinstance(text, Refused):
                yield text._replace(id=f"{package.book}{part}")
            elif text:
                yield self._book_document(package, part, text, {"path": path, "chapter": numbers[path]})
            else:
                yield LeftOut("empty")

    def _book_document(self, package: _Package, part: str, text: str, more: dict[str, Any]) -> Document:
        return Document(
            id=f"{package.book}{part}",
            text=f"{text}\n",
            source=self.source,
            created=package.created or UNSET,
            metadata={**package.metadata, **more},
        )


def _read_chapter_texts(
    archive: ArchivePasses, paths: Collection[str], raw: RawObject
) -> Iterator[tuple[str, str | Refused]]:
    """The path and the text of each file, in the order of the archive; or why it has no text."""
    missing = set(paths)
    for file in archive.members(lambda name: name in paths):
        missing.discard(file.name)
        try:
            text = _readable_chapter_text(file)
        except Unfit as unfit:
            yield file.name, refused_member(raw, file) if file.refused else refused_file(raw, file, unfit)
        else:
            yield file.name, text
    raw.raw_span = None
    for path in sorted(missing):
        yield path, Refused("text of the book missing", f"{raw.name} entry {path}", b"", member=path)


def _is_package(name: str, texts: set[str]) -> bool:
    """Whether a file is a package file. Names of files with texts are added to the set."""
    if name.lower().endswith((".xhtml", ".html", ".htm")):
        texts.add(name)
    return name.endswith(".opf")


def _file_stem(path: str) -> str:
    """The name of a file without its folders and its ending."""
    return path.rpartition("/")[2].rpartition(".")[0]


def _readable_chapter_text(file: Member) -> str:
    """The readable text of a chapter."""
    if file.refused:
        raise Unfit(file.refused)
    body = parse_xml_document([file.raw], where=file.name).find("body")
    if body is None:
        raise Unfit("no body")
    text = _TEXT(body)
    return fit_text(text) if text else ""


def _read_package_file(file: Member) -> _Package:
    """The package file."""
    if file.refused:
        raise Unfit(file.refused)
    root = parse_xml_document([file.raw], where=file.name)
    about, manifest, spine = root.find("metadata"), root.find("manifest"), root.find("spine")
    if about is None or manifest is None or spine is None:
        raise Unfit("no package of a book", "it has no metadata, manifest or spine")
    given = _Values(about)
    unique = next((text for item, text in given.identifiers if item == root.attributes.get("unique-identifier")), "")
    book = unique or next((text for _, text in given.identifiers), "")
    if not book:
        raise Unfit("no identifier of the book")
    folder = posixpath.dirname(file.name)
    items: dict[str, dict[str, str]] = {}
    for each in manifest.elements("item"):
        if items.setdefault(each.attributes.get("id", ""), each.attributes) is not each.attributes:
            raise Unfit("manifest names an item twice", repr(each.attributes.get("id", ""))[:80])
    paths: list[str] = []
    pictures = 0
    for reference in spine.elements("itemref"):
        item = items.get(reference.attributes.get("idref", ""))
        if item is None:
            raise Unfit("spine names no item", repr(reference.attributes.get("idref", ""))[:80])
        href = _text_file_of_item(item, items)
        if href is None:
            pictures += 1
        else:
            paths.append(posixpath.normpath(posixpath.join(folder, unquote(href))))
    created = next(iter(given.all("date")), "")
    return _Package(book, created, _book_metadata(given), list(dict.fromkeys(paths)), pictures, folder)


def _text_file_of_item(item: Mapping[str, str], items: Mapping[str, Mapping[str, str]]) -> str | None:
    """Where the text of an item is: its own file, or that of the item that it names to stand in. None of a picture.

    An item of an unknown type is read as a text. If that fails, the book is refused.
    """
    own = item
    for _ in items:
        if _bare_media_type(item) in _TEXTS:
            return item.get("href", "")
        item = items.get(item.get("fallback", ""), {"media-type": ""})
    return None if _bare_media_type(own).startswith("image/") else own.get("href", "")


def _bare_media_type(item: Mapping[str, str]) -> str:
    """Without parameters, in lower case: its case means nothing."""
    return item.get("media-type", _XHTML).partition(";")[0].strip().lower()


class _Values:
    """The values of Dublin Core in a package's metadata."""

    def __init__(self, about: XmlElement) -> None:
        self._about = about
        self.identifiers = [
            (each.attributes.get("id", ""), each.text().strip()) for each in about.elements("identifier")
        ]

    def all(self, name: str) -> list[str]:
        """The values of one name that are not empty."""
        texts = (" ".join(each.text().split()) for each in self._about.elements(name))
        return [text for text in texts if text]


def _book_metadata(given: _Values) -> dict[str, Any]:
    """The metadata of a book; what the package does not give is left out."""
    identifiers = [text for _, text in given.identifiers if text]
    isbn = [each for each in identifiers if _ISBN.fullmatch(each)]
    rights = " ".join(given.all("rights"))
    metadata: dict[str, Any] = {
        "kind": "book",
        "identifiers": identifiers,
        "isbn": isbn,
        "title": next(iter(given.all("title")), None),
        "authors": given.all("creator"),
        "contributors": given.all("contributor"),
        "language": next(iter(given.all("language")), None),
        "publisher": next(iter(given.all("publisher")), None),
        "subjects": given.all("subject"),
        "description": next(iter(given.all("description")), None),
        "rights": rights or None,
        "license": creative_commons_licence(rights),
        "sources": given.all("source"),
    }
    return {key: value for key, value in metadata.items() if value}
