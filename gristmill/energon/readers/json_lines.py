"""Energon's JSON lines: one sample on a line, whose fields may name media files elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from gristmill.errors import DataError, RecipeError
from gristmill.formats.tar.keys import check_media_path
from gristmill.lake.rows.document import Document
from gristmill.readers.jsonl import JsonLines, json_value_or_refusal, raw_lines
from gristmill.readers.mapping.fields import RowTrouble, beside
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import Converted, RawObject, Refused
from gristmill.recipes.reader import Reader, RowIds

LINES = r"\.jsonl(\.(gz|zst|zstd|bz2|xz))?$"
"""A pattern for the `select` of a source: the files, without their indexes."""


@dataclass(frozen=True, kw_only=True)
class EnergonLines(Reader):
    """Reads each line of Energon's JSON lines as one document. Use it as the `convert` of a source.

    The source needs `select=LINES`, which leaves out the indexes beside the files.

    All fields are kept. The names that the fields of `media` hold, alone or in lists, also become the metadata's
    `media`, a list; it is absent if a line names none. A line is refused if such a name is absolute, leads out of its
    folder, or has a character that Energon cannot use; and if it names media and has a field `media_key` of its own.

    Attributes:
        source: name of the source.
        text: the fields that give the text together, in this order; empty ones are left out.
        id_key: the field with the id; None: the file's name and the number of the line, as Energon counts samples.
        media: fields that name media files, with dots for inner ones. A line may lack them.
        media_key: the metadata's field for the names of media.
        added: the time of acquisition of all documents.
    """

    source: str
    text: tuple[str, ...] = ("text",)
    id_key: str | None = None
    media: tuple[str, ...] = field(default=())
    media_key: str = "media"
    added: str | None = None

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one is of another type, or names no field.
        """
        what = f"EnergonLines of source {self.source!r}"
        check_types(self, what)
        if not self.text or not self.media_key or not all(self.media):
            raise RecipeError(f"{what}: text, media and media_key name fields; give names that are not empty")
        _ = self._json_lines_reader

    @cached_property
    def _json_lines_reader(self) -> JsonLines:
        return JsonLines(source=self.source, id_key=self.id_key, text_keys=self.text, added=self.added)

    def row_ids(self) -> RowIds:
        return self._json_lines_reader.row_ids()

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result for each line: a document, or why it was refused.

        See gristmill.recipes.source.Source.convert.
        """
        for number, line in raw_lines(raw):
            value = json_value_or_refusal(line, f"{raw.name} row {number}")
            row = value if isinstance(value, Refused) else self._json_lines_reader.document(value, raw, number, line)
            yield self._with_media(row, raw, number, line) if isinstance(row, Document) else row

    def _with_media(self, row: Document, raw: RawObject, number: int, line: bytes) -> Converted:
        """The document with the names of its media, or why its row is refused."""
        metadata = row.metadata if isinstance(row.metadata, dict) else {}
        names: list[str] = []
        for path in self.media:
            value = _value_at_path(metadata, path)
            for name in value if isinstance(value, list) else [value]:
                if name is None:
                    continue
                try:
                    check_media_path(name if isinstance(name, str) else "")
                except DataError as error:
                    return Refused("not a name of a media file", f"{raw.name} row {number} ({path}: {error})", line)
                names.append(name)
        if not names:
            return row
        try:
            return replace(row, metadata=beside(metadata, {self.media_key: names}, "give media_key another name"))
        except RowTrouble as trouble:
            return Refused(trouble.reason, f"{raw.name} row {number} ({trouble.detail})", line)


def _value_at_path(value: Any, path: str) -> Any:
    """The value at a path with dots; None if there is no such value."""
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
