"""The values of documents that go into a sample, as JSON; and why a document is refused."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from gristmill.errors import DataError
from gristmill.formats.energon.keys import check_media_name
from gristmill.lake.store.protocol import Store
from gristmill.stages.export.codec import MISSING_MEDIA, NotTaken, RowBlock
from gristmill.stages.export.energon.row_fields import RowFields

NO_NAMES = NotTaken("a media name is neither a string nor a list of strings")
BAD_NAME = NotTaken("a media name is absolute, leads out of its folder, or has a character that Energon cannot use")

Values = list[bytes | None]
"""The values at some paths of a document, as JSON or as text; None for a value that it does not have."""


class DocumentValues:
    """Reads the values of documents.

    Args:
        paths: of the values; a `?` at the end of a path says that a document may lack the value.
        media: paths of values that name media files; a document may lack them.
        files: as media; but the caller reads these files, so that they are not looked for here.
        exists: whether there is a media file of this name; None: it is not asked.
        texts: numbers of the paths whose values come as text. Every document has a string there.
    """

    def __init__(
        self,
        paths: Sequence[str],
        media: Sequence[str] = (),
        files: Sequence[str] = (),
        exists: Callable[[str], bool] | None = None,
        texts: Collection[int] = (),
    ) -> None:
        self._looked_for = len(paths) + len(media) if exists else 0
        self._exists = exists
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
        return [self._of(values) for values in self._fields.read(rows.lines, rows.path, rows.first)]

    def _of(self, values: Values) -> Values | NotTaken:
        for number in self._required:
            if values[number] is None:
                return self._absent[number]
        for number in self._media:
            value = values[number]
            names = media_names(value) if value is not None else []
            refused = _refused(names)
            if refused:
                return refused
            if self._exists and number < self._looked_for and not all(map(self._exists, names or ())):
                return MISSING_MEDIA
        return values[: self._count]


def media_names(value: bytes) -> list[str] | None:
    """The names of media files in a value, as JSON: a string, a list of strings, or null; None for other values.

    >>> media_names(b'"a.jpg"'), media_names(b'["a.jpg", "b.jpg"]'), media_names(b"7")
    (['a.jpg'], ['a.jpg', 'b.jpg'], None)
    """
    decoded: Any = msgspec.json.decode(value)
    names = decoded if isinstance(decoded, list) else [] if decoded is None else [decoded]
    return names if all(isinstance(name, str) for name in names) else None


def _refused(names: list[str] | None) -> NotTaken | None:
    if names is None:
        return NO_NAMES
    try:
        for name in names:
            check_media_name(name)
    except DataError:
        return BAD_NAME
    return None


def media_finder(lake: Store, root: str) -> Callable[[str], bool] | None:
    """Tells whether a folder of the lake has a media file of a name; None if the root is empty.

    Args:
        lake: has the files.
        root: path of the folder; empty: the files are elsewhere, and are not looked for.
    """
    return (lambda name: lake.head(media_path(root, name)) is not None) if root else None


def media_path(root: str, name: str) -> str:
    """The path of a media file in the lake.

    >>> media_path("media/", "a/b.jpg")
    'media/a/b.jpg'
    """
    return f"{root.strip('/')}/{name}"
