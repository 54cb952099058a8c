"""Files in a lake that are not of it. Nobody knows their form, so only files with rows of documents can be searched."""

from collections.abc import Iterable, Sequence

import msgspec

from gristmill.errors import GristmillError
from gristmill.lake.rows.shard_file import read_blocks, rows_of
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store
from gristmill.takedowns.wanted import Wanted


class ForeignFiles(msgspec.Struct):
    """What a search of foreign files has found.

    Attributes:
        found: the rows of wanted documents, in words.
        read: the files that were read whole.
        excluded: the files that a person has excluded by name.
        unread: why a file could not be searched, by its path.
    """

    found: list[str] = []
    read: list[str] = []
    excluded: list[str] = []
    unread: dict[str, str] = {}


class _Row(msgspec.Struct):
    id: str | int
    source: str | None = None


_row = msgspec.json.Decoder(_Row)


def search_foreign(
    store: Store, paths: Iterable[str], wanted: Wanted, *, scan: bool, exclude: Sequence[str] = ()
) -> ForeignFiles:
    """Searches files that are not of the lake.

    Args:
        store: the lake.
        paths: of the files.
        wanted: the documents.
        scan: whether the rows of the files are read. A row without a source counts by its id.
        exclude: files, or folders of files, that are not searched.

    Raises:
        StoreError: the lake does not answer.
    """
    result = ForeignFiles()
    left_out = [name.rstrip("/") for name in exclude]
    for path in paths:
        if any(path == name or path.startswith(f"{name}/") for name in left_out):
            result.excluded.append(path)
        elif not scan:
            result.unread[path] = "not a file of the lake"
        else:
            try:
                result.found += _rows(store, path, wanted)
                result.read.append(path)
            except (GristmillError, *NOT_DECODED) as error:
                result.unread[path] = (
                    f"its rows are no JSON objects with an id ({str(error).removeprefix(f'{path}: ')})"
                )
    return result


def _rows(store: Store, path: str, wanted: Wanted) -> list[str]:
    """The rows of wanted documents in one file.

    Raises:
        MsgspecError: a row is no JSON object with an id.
        DataError: the file cannot be unpacked, or has no row.
    """
    found: list[str] = []
    number = 0
    for block in read_blocks(store, path):
        for line in rows_of(block):
            row = _row.decode(line)
            if any(row.source in {None, source} for source, _ in wanted.by_id.get(str(row.id), ())):
                found.append(f"{path}: row {number}")
            number += 1
    return found
