"""Files that no ledger knows: those that are not of the lake, and raw objects that no document was made from.

Nobody knows their form, so only files with rows of documents can be searched.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from gristmill.errors import GristmillError, RecipeError
from gristmill.lake.address import documents_asset
from gristmill.lake.rows.shard_file import read_blocks, split_rows
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import read_catalogue
from gristmill.takedowns.side_files import pairs_in_row, wanted_pairs_in_row
from gristmill.takedowns.wanted import Wanted


class ForeignFiles(msgspec.Struct):
    """What a search of foreign files has found.

    Attributes:
        found: the rows of wanted documents, in words.
        read: the files that were read whole.
        excluded: the files that a person has excluded by name.
        unread: reasons why files could not be searched, by path.
    """

    found: list[str] = []
    read: list[str] = []
    excluded: list[str] = []
    unread: dict[str, str] = {}


class _Row(msgspec.Struct):
    id: str | int


_row = msgspec.json.Decoder(_Row)


def search_foreign(
    store: Store,
    files: Mapping[str, str],
    wanted: Wanted,
    *,
    scan: bool,
    exclude: Sequence[str] = (),
    raw: bool = False,
    made_ids: str = "",
) -> ForeignFiles:
    """Searches files that no ledger knows.

    Args:
        store: the lake.
        files: reason why a ledger does not know a file, by its path.
        wanted: the documents.
        scan: whether the rows of the files are read. A row counts if one of its strings is the id of a document.
        exclude: files, or folders of files, that are not searched.
        raw: whether a converter gives these rows their source and id: then a row counts also if it has another source.
        made_ids: reason why rows may have such a document without its id; see why_not_in_rows().

    Returns:
        The places of the documents, and the files that could not be searched.

    Raises:
        StoreError: the lake does not answer.
    """
    result = ForeignFiles()
    left_out = [name.rstrip("/") for name in exclude]
    for path, why in files.items():
        if any(path == name or path.startswith(f"{name}/") for name in left_out):
            result.excluded.append(path)
        elif not scan:
            result.unread[path] = why
        else:
            try:
                found = _wanted_rows_in_file(store, path, wanted, raw=raw)
                result.found += found
                if made_ids and not found:
                    result.unread[path] = made_ids
                else:
                    result.read.append(path)
            except (GristmillError, *NOT_DECODED) as error:
                result.unread[path] = (
                    f"its rows are no JSON objects with an id ({str(error).removeprefix(f'{path}: ')})"
                )
    return result


def why_not_in_rows(wanted: Wanted, packages: Sequence[str], assets: Collection[str]) -> str:
    """The reason why raw rows of wanted documents may not have their ids as they are; empty if they have.

    Args:
        wanted: the documents.
        packages: the shelves.
        assets: the assets of the lake.
    """
    try:
        recipes = read_catalogue(tuple(packages)).sources
    except RecipeError as error:
        return f"how readers make ids is not known: {error}"
    for name in sorted({source for source, _ in wanted.reasons}):
        named = [each for each in recipes.values() if name in {each.name, each.read_as}]
        if not named and documents_asset(name, "v0") in assets:
            return f"no recipe of --shelves reads source {name!r}, so how its ids are made is not known"
        ids = [id_ for source, id_ in wanted.reasons if source == name]
        keyed = (each for each in recipes.values() if each.reader.source_key is not None)
        for found in (each.reader.row_ids() for each in (*named, *keyed)):
            if found is None or found.kind != "field" or (found.name != "id" and any(map(str.isdecimal, ids))):
                return f"the reader of source {name!r} makes its ids, so a row of such a file may not have them"
    return ""


def _wanted_rows_in_file(store: Store, path: str, wanted: Wanted, *, raw: bool) -> list[str]:
    """The rows of wanted documents in one file.

    Raises:
        MsgspecError: a row is no JSON object with an id.
        DataError: the file cannot be unpacked, or has no row.
    """
    found: list[str] = []
    number = 0
    for block in read_blocks(store, path):
        for line in split_rows(block):
            name = str(_row.decode(line).id)
            if wanted_pairs_in_row(name, line.decode(), wanted) if raw else pairs_in_row(line, wanted):
                found.append(f"{path}: row {number}")
            number += 1
    return found
