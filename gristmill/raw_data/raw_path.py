"""Where a raw object lies that a ledger names: below its snapshot's folder, or below `raw/` if it has none."""

from gristmill.errors import StoreError
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.protocol import Store


def find_raw_path(store: Store, asset: str, snapshot: str, name: str, sha256: str) -> str | None:
    """The path of a raw object in the lake; None if it is not there.

    The names of a source that takes everything for one snapshot begin below `raw/`. It may have a folder of the
    snapshot's name, with an object of the same name: then the bytes tell which one was read.

    Args:
        store: the lake.
        asset: address of the raw data, such as `sources/pages/raw`.
        snapshot: key of the snapshot.
        name: name of the object, as the ledger has it.
        sha256: hex sha256 of the object when it was read, or of its part.

    Raises:
        StoreError: the lake does not answer.
    """
    paths = [path for path in (f"{asset}/{snapshot}/{name}", f"{asset}/{name}") if store.head(path) is not None]
    if len(paths) < 2:
        return paths[0] if paths else None
    return next((path for path in paths if has_digest(store, path, sha256)), paths[0])


def has_digest(store: Store, path: str, sha256: str) -> bool:
    """Whether an object has this sha256. One that cannot be read does not.

    Args:
        store: the lake, or the store of raw data.
        path: path of the object.
        sha256: hex digest.
    """
    try:
        return hash_object(store, path) == sha256
    except StoreError:
        return False
