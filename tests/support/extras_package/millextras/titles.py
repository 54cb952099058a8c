"""Titles: a line for each document, with its id and its title."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from gristmill.lake.rows.document import Document
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export_formats.codec import Codec, NotTaken, Release, Sink
from gristmill.recipes.export_formats.gzip_lines import GzipLinesPart
from gristmill.recipes.export_formats.options import ExportFormat


@dataclass(frozen=True, kw_only=True)
class Titles(ExportFormat):
    """The options: what is between id and title."""

    type: ClassVar[str] = "titles"

    between: str = ": "


class TitlesPart(GzipLinesPart):
    """The file of a part."""

    def __init__(self, declared: Titles, create: Callable[[str], Sink]) -> None:
        super().__init__(create)
        self.declared = declared

    def line(self, document: Document, split: str) -> tuple[str, bytes] | NotTaken:  # noqa: ARG002 - one file for all
        title = document.metadata.get("title") if isinstance(document.metadata, dict) else None
        if not title:
            return NotTaken("no title")
        return "titles.txt.gz", f"{document.id}{self.declared.between}{title}".encode()


class TitlesCodec(Codec):
    """Writes the format."""

    options = Titles

    def open(self, part: str, create: Callable[[str], Sink], lake: Store) -> TitlesPart:  # noqa: ARG002 - lines only
        return TitlesPart(self.declared, create)

    def beside(self, release: Release, sha256: Mapping[str, str]) -> dict[str, bytes]:
        return {f"{release.name}SHA256": "".join(f"{sha256[name]}  {name}\n" for name in sha256).encode()}
