"""Withdraws a release, because something that it names must go. `withdrawn/releases/` keeps its list of objects."""

from shlex import quote

from gristmill.errors import DataError
from gristmill.execution.finding import Finding
from gristmill.lake.ledger.folders.pinned_upload import RELEASES, name_of_release
from gristmill.lake.store.protocol import Store
from gristmill.releases.pinned import pinned_path, read_pinned, withdrawn_path


def withdraw_release(store: Store, name: str) -> str:
    """Moves a release out of the way, so that `gc` removes what nothing else names.

    The record is written first. A withdrawal that was killed is started again, and goes on.

    Args:
        store: the lake.
        name: name of the release.

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


def find_withdrawn(store: Store) -> dict[str, Finding]:
    """The releases that were withdrawn and are in `releases/`: a copy was put back, or the withdrawal was killed.

    `gc` keeps what they name: a release never loses its parts while its file exists. A different release with the same
    name is not one of them; older versions of Gristmill could write it.

    Args:
        store: the lake.

    Returns:
        A finding for each such release, by its path.

    Raises:
        StoreError: the lake does not answer.
    """
    found = {}
    for record in store.list(f"withdrawn/{RELEASES}"):
        path = record.path.removeprefix("withdrawn/")
        name = name_of_release(path)
        if name is None:
            continue
        there = store.read_tagged(path)
        if there[0] == store.read(record.path) if there else any(store.list(f"{RELEASES}{name}/")):
            what = f"it was withdrawn, as {record.path} says, and is there, again or still: gc keeps what it names"
            mend = f"run `gristmill erase {quote(store.url)} --release {name}`, then `gristmill gc`"
            found[path] = Finding(path, None, what, mend)
    return found
