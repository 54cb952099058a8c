"""The values of documents that go into a sample, as JSON; and why a document is refused."""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from gristmill.energon.exports.media_source import MediaSource, missing_media
from gristmill.energon.exports.row_fields import RowFields
from gristmill.errors import DataError
from gristmill.formats.tar.keys import check_media_path
from gristmill.recipes.export_formats.codec import RowBlock
from gristmill.recipes.export_formats.not_taken import NotTaken

NO_NAMES = NotTaken("a media name is neither a string nor a list of strings")
BAD_NAME = NotTaken("a media name is absolute, leads out of its folder, or has a character that Energon cannot use")

Values = list[bytes | None]
"""The values at some paths of a document, as JSON or as text; None for a value that it does not have."""


class DocumentValues:
    """Reads the values of documents.

    Args:
        paths: paths of the values; a `?` at the end of a path says that a document may lack the value.
        media: paths of values that name media files; a document may lack them.
        files: paths of values that are media; but the caller reads these files, so that they are not looked for here.
        source: source that has the media files; None: they are not looked for.
        texts: numbers of the paths whose values come as text. Every document has a string there.
    """

    def __init__(
        self,
        paths: Sequence[str],
        media: Sequence[str] = (),
        files: Sequence[str] = (),
        source: MediaSource | None = None,
        texts: Collection[int] = (),
    ) -> None:
        self._looked_for = len(paths) + len(media)
        self._source = source
        self._count = len(paths)
        self._required = [number for number, path in enumerate(paths) if not path.endswith("?")]
        self._absent = {number: NotTaken(f"it has no {paths[number]}") for number in self._required}
        self._media = range(len(paths), len(paths) + len(media) + len(files))
        self._fields = RowFields([path.removesuffix("?") for path in (*paths, *media, *files)], texts)

    def read(self, rows: RowBlock) -> list[Values | NotTaken]:
        """The values of each document in the order of the paths, or why the document is refused.

        Raises:
            MalformedRow: a row has no object where a path leads through one; names shard and row.
        """
        return [
            self._of(values, pair.id)
            for values, pair in zip(self._fields.read(rows.lines, rows.path, rows.first), rows.pairs, strict=True)
        ]

    def _of(self, values: Values, document: str) -> Values | NotTaken:
        for number in self._required:
            if values[number] is None:
                return self._absent[number]
        for number in self._media:
            value = values[number]
            names = media_names(value) if value is not None else []
            refused = _not_taken_reason(names)
            if refused:
                return refused
            if self._source and number < self._looked_for:
                lost = next((name for name in names or () if not self._source.has_file(name, document)), None)
                if lost is not None:
                    return missing_media(self._source, lost, document)
        return values[: self._count]


def media_names(value: bytes) -> list[str] | None:
    """The names of media files in a value, as JSON: a string, a list of strings, or null; None for other values.

    >>> media_names(b'"a.jpg"'), media_names(b'["a.jpg", "b.jpg"]'), media_names(b"7")
    (['a.jpg'], ['a.jpg', 'b.jpg'], None)
    """
    decoded: Any = msgspec.json.decode(value)
    names = decoded if isinstance(decoded, list) else [] if decoded is None else [decoded]
    return names if all(isinstance(name, str) for name in names) else None


def _not_taken_reason(names: list[str] | None) -> NotTaken | None:
    if names is None:
        return NO_NAMES
    try:
        for name in names:
            check_media_path(name)
    except DataError:
        return BAD_NAME
    return None
