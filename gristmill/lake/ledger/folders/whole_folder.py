"""A folder with a ledger, such as that of a model: one run at a time writes it, so all its files are of one run.

While a run writes it, `writing.json` is there. The newest run takes it; an older one stops at its next file. Who is
killed leaves it, so that the next run makes the folder again unless it is whole.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from uuid import uuid4

from gristmill.errors import Conflict, Superseded
from gristmill.lake.asset_kinds import ledger_of_asset
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.folders.mark import has_mark, remove_mark
from gristmill.lake.ledger.folders.pinned_upload import upload_unless_pinned
from gristmill.lake.store.protocol import Store

WRITING = "writing.json"
"""The object that says that a run is writing the folder, or was killed while it wrote."""

TRIES = 20
"""Tries to write a file while others write it: each older run writes it at most once."""


def is_being_written(store: Store, asset: str) -> bool:
    """Whether a run is writing a folder, or was killed while it wrote.

    Args:
        store: the lake.
        asset: address of the folder.
    """
    return store.head(f"{asset}/{WRITING}") is not None


def is_whole(store: Store, asset: str, files: Mapping[str, str]) -> bool:
    """Whether the files of a folder are those of its ledger. They are only read if a run has not ended its writing.

    If they are, nothing says any more that a run is writing.

    Args:
        store: the lake.
        asset: address of the folder.
        files: hex sha256 of each file, by name.
    """
    if not is_being_written(store, asset):
        return True
    turn = _Turn(store, asset)  # from now on, no older run changes a file
    for name, sha256 in files.items():
        stored = store.read_tagged(f"{asset}/{name}")
        if stored is None or hashlib.sha256(stored[0]).hexdigest() != sha256:
            return False
    turn.end()
    return True


def write_whole_folder(
    store: Store,
    asset: str,
    files: Mapping[str, bytes],
    ledger: bytes,
    unchanged: Callable[[], bool],
    strays: Callable[[], Iterable[str]] = tuple,
) -> None:
    """Writes the files of a folder, then its ledger; removes other files last.

    Args:
        store: the lake.
        asset: address of the folder.
        files: bytes of each file, by name.
        ledger: bytes of the ledger.
        unchanged: whether the ledger is the one that this run found when it began.
        strays: paths of the files to remove, once the ledger is there.

    Raises:
        Conflict: another run has written the folder since this one began. Nothing was changed.
        Superseded: a newer run writes it now.
        DataError: a release names a file with other bytes. Nothing was changed.
    """
    path = ledger_of_asset(asset)
    with ExitStack() as pinned:
        for name, content in files.items():
            pinned.enter_context(upload_unless_pinned(store, f"{asset}/{name}", hashlib.sha256(content).hexdigest()))
        turn = _Turn(store, asset)
        if not unchanged():
            turn.end()
            raise Conflict(f"{path}: another run wrote it meanwhile; run again")
        for name, content in files.items():
            turn.put(f"{asset}/{name}", content)
    turn.put(path, ledger)
    turn.delete(strays())
    turn.end()


class _Turn:
    """The turn of one run to write a folder."""

    def __init__(self, store: Store, asset: str) -> None:
        self._store, self._asset = store, asset
        self._path, self._mark = f"{asset}/{WRITING}", as_json({"token": uuid4().hex})
        store.put(self._path, self._mark)

    def _is_mine(self) -> bool:
        return has_mark(self._store, self._path, self._mark)

    def _check_still_own_turn(self) -> None:
        if not self._is_mine():
            raise Superseded(f"{self._asset}: a newer run has taken it over; this one stops here")

    def put(self, path: str, data: bytes) -> None:
        """Writes a file over the one that is there. An older run may be in the middle of its last write."""
        for tries in range(TRIES, 0, -1):
            entry = self._store.head(path)
            self._check_still_own_turn()
            try:
                self._store.put_if(path, data, entry.etag if entry else None)
            except Conflict:
                if tries == 1:
                    raise
            else:
                return

    def delete(self, paths: Iterable[str]) -> None:
        """Removes files, as long as no newer run writes the folder."""
        self._check_still_own_turn()
        self._store.delete(list(paths), self._is_mine)

    def end(self) -> None:
        """Ends the turn, unless a newer run has its own."""
        remove_mark(self._store, self._path, self._mark)
