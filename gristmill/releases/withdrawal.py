"""Withdraws a release, because something that it names must go. `withdrawn/releases/` keeps its list of objects."""

from gristmill.errors import DataError
from gristmill.lake.ledger.folders.pinned_upload import RELEASES
from gristmill.lake.store.protocol import Store
from gristmill.releases.pinned import pinned_path, read_pinned, withdrawn_path


def withdraw_release(store: Store, name: str) -> str:
    """Moves a release out of the way, so that `gc` removes what nothing else names.

    The record is written first. A withdrawal that was killed is started again, and goes on.

    Args:
        store: the lake.
        name: of the release.

    Returns:
        The path of the record: the release's file, unchanged.

    Raises:
        Unknown: the lake has no such release.
        DataError: its file is damaged, or another release of the name was withdrawn.
        RecipeError: the name is wrong.
        StoreError: the lake does not answer.
    """
    path, record = pinned_path(name), withdrawn_path(name)
    old = store.read_tagged(record)
    if store.head(path) is not None or old is None:
        read_pinned(store, name)
        data = store.read(path)
        if old is not None and old[0] != data:
            raise DataError(f"{record}: another release of this name was withdrawn before; give that file another name")
        if old is None:
            store.put_if(record, data, None)
    files = [entry.path for entry in store.list(f"{RELEASES}{name}/")]
    store.delete([*files, path])
    return record
