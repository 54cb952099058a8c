"""Reads trees and archives of HTML files that are texts as a whole, such as translations of one document.

For pages of a crawl, with menus and other boilerplate, use the readers of WARC files.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from gristmill.errors import RecipeError
from gristmill.extras import Needs, extra, needs
from gristmill.lake.rows.document import Document
from gristmill.readers.files.html_text import html_text
from gristmill.readers.files.raw_files import FileDocuments
from gristmill.readers.text import fit_text
from gristmill.readers.web.charsets import decode_html_strictly
from gristmill.readers.zip_archive import Member
from gristmill.recipes.option_types import check_pattern
from gristmill.recipes.raw_object import Converted, RawObject
from gristmill.recipes.reader import RowIds


@dataclass(frozen=True, kw_only=True)
class HtmlFiles(FileDocuments):
    """Reads the whole text of each HTML file as one document. Use it as the `convert` of a source.

    The raw objects are HTML files, packed or not, or tar or zip archives of them. The id is the file's path. Metadata
    are `path`, `title`, `language` (what `<html lang>` declares), in archives of git `commit`, and the named groups.

    Attributes:
        select: a pattern for the names of an archive's files; others are not read.
        groups: a pattern that is searched in the path. Its named groups become metadata.
        encoding: text encoding of files without a byte order mark, `<meta charset>` and XML declaration, if they are
            not UTF-8.
    """

    needs: ClassVar[Needs] = needs("resiliparse")

    select: str = r"\.x?html?$"
    groups: str = ""
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        super().__post_init__()
        title = f"HtmlFiles of source {self.source!r}"
        check_pattern(self.select, f"{title}: select")
        check_pattern(self.groups, f"{title}: groups")
        try:
            codecs.lookup(self.encoding)
        except LookupError as error:
            raise RecipeError(f"{title}: encoding {self.encoding!r} is unknown to Python; give one it knows") from error

    def row_ids(self) -> RowIds:
        return RowIds("path")

    def wants(self, name: str) -> bool:
        """Whether the pattern takes the name."""
        return re.search(self.select, name) is not None

    def documents(self, file: Member, raw: RawObject) -> Iterator[Converted]:  # noqa: ARG002 - see FileDocuments
        with extra():
            from resiliparse.parse.html import HTMLTree  # noqa: PLC0415 - an extra
        html = decode_html_strictly(file.raw, self.encoding)
        text = fit_text(html_text(html)) + "\n"
        tree = HTMLTree.parse(html)
        root = tree.document.query_selector("html") if tree.document else None
        groups = re.search(self.groups, file.name)
        metadata: dict[str, Any] = {
            "path": file.name,
            "title": " ".join((tree.title or "").split()),
            "language": (root.getattr("lang") or root.getattr("xml:lang") or "") if root else "",
            "commit": file.comment,
            **(groups.groupdict() if groups else {}),
        }
        metadata = {name: value for name, value in metadata.items() if value}
        yield Document(id=file.name, text=text, source=self.source, metadata=metadata)
