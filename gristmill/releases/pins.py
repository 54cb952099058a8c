"""Which parts, and which releases of exports, the files in `releases/` name. `gc` keeps them."""

import re

import orjson

from gristmill.errors import DataError
from gristmill.lake.store.protocol import Store
from gristmill.releases.pinned import RELEASES, check_unedited, name_of_release

_NAME = re.compile(rb"part-[0-9]+-[0-9a-f]+|release-[0-9a-f]+|metadataset-[0-9a-f]+\.yaml")


def pins(store: Store, *, damaged: bool = False) -> dict[str, list[str]]:
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
            data = _checked(data, entry.path)
        except DataError:
            if not damaged:
                raise
        for name in sorted(set(_NAME.findall(data))):
            found.setdefault(name.decode(), []).append(entry.path)
    return found


def _checked(data: bytes, path: str) -> bytes:
    """The JSON of a file without escapes, which may be different in each file."""
    try:
        plain = orjson.dumps(orjson.loads(data))
    except orjson.JSONDecodeError as error:
        raise DataError(
            f"{path}: not valid JSON ({error}), so the parts that it names are unknown; restore it from a copy"
        ) from error
    if name_of_release(path):
        check_unedited(data, path)
    return plain
