"""Which parts, and which releases of exports, the files in `releases/` name; and which parts indexes name.

`gc` keeps them.
"""

import re
from collections.abc import Iterator

import orjson

from gristmill.errors import DataError
from gristmill.lake.address import part_at
from gristmill.lake.asset_kind import LEDGERS
from gristmill.lake.asset_kinds import KINDS
from gristmill.lake.ledger.folders.pinned_upload import RELEASES, name_of_release
from gristmill.lake.store.protocol import Entry, Store
from gristmill.releases.pinned import check_unedited

_NAME = re.compile(rb"part-[0-9]+-[0-9a-f]+|release-[0-9a-f]+|metadataset-[0-9a-f]+\.yaml")
_PART = re.compile(rb"part-[0-9]+-[0-9a-f]+")
_TOPS = tuple(dict.fromkeys(kind.top_folder for kind in KINDS if kind.immutable))


def entries_with_parts(store: Store) -> Iterator[Entry]:
    """All objects of the kinds of assets that have parts."""
    return (entry for top in _TOPS for entry in store.list(top))


def named_by_indexes(store: Store, gone: tuple[str, ...] = (), *, damaged: bool = False) -> dict[str, list[str]]:
    """The merged ledgers and the files of indexes that name a part, by its name.

    Args:
        store: the lake.
        gone: folders whose files name no part any more, such as those of releases that are removed.
        damaged: whether a file that is damaged names what can still be read in it; else it is an error.

    Raises:
        DataError: a file is damaged, so what it names is unknown.
        StoreError: the lake does not answer.
    """
    found: dict[str, list[str]] = {}
    for entry in entries_with_parts(store):
        path = entry.path
        if path.startswith(gone) or not path.endswith((".json", ".yaml")) or part_at(path) or LEDGERS in path:
            continue
        data = store.read(path)
        if path.endswith(".json"):
            try:
                data = _json_without_escapes(data, path, "make what it belongs to again, or restore it")
            except DataError:
                if not damaged:
                    raise
        for name in set(_PART.findall(data)):
            found.setdefault(name.decode(), []).append(path)
    return found


def pinned_by_releases(store: Store, *, damaged: bool = False) -> dict[str, list[str]]:
    """The files of releases that name a part, a release of an export or a metadataset, by its name.

    Each of these names has a digest in it, so it stands for one folder or file.

    Args:
        store: the lake.
        damaged: whether a file that is damaged or edited names what can still be read in it; else it is an error.

    Raises:
        DataError: a file is damaged or was edited, so what it names is unknown.
        StoreError: the lake does not answer.
    """
    found: dict[str, list[str]] = {}
    for entry in store.list(RELEASES):
        if not entry.path.endswith(".json"):
            continue
        data = store.read(entry.path)
        try:
            data = _check_unedited(data, entry.path)
        except DataError:
            if not damaged:
                raise
        for name in sorted(set(_NAME.findall(data))):
            found.setdefault(name.decode(), []).append(entry.path)
    return found


def _check_unedited(data: bytes, path: str) -> bytes:
    """The JSON of a file that was not edited."""
    plain = _json_without_escapes(data, path, "restore it from a copy")
    if name_of_release(path):
        check_unedited(data, path)
    return plain


def _json_without_escapes(data: bytes, path: str, mend: str) -> bytes:
    """JSON without escapes, which may be different in each file."""
    try:
        return orjson.dumps(orjson.loads(data))
    except (orjson.JSONDecodeError, orjson.JSONEncodeError) as error:  # the latter at 255 lists in each other
        raise DataError(f"{path}: not valid JSON ({error}), so the parts that it names are unknown; {mend}") from error
