"""What `gc` holds from its last look at a place to its last deletion there, so that no run makes there what it deletes.

It is the claim that a run takes too: that of a partition, or the object that says that an export's release is being
written. A run asks before it takes either, and leaves the place to a `gc` that runs. It takes the claim of one that was
killed. The next `gc` also takes a claim of which it cannot be seen whether its `gc` runs.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

import msgspec

from gristmill.errors import Conflict, StoreError
from gristmill.execution.claim import GC, Claim, parse_claim
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.folders.mark import has_mark, remove_mark
from gristmill.lake.store.disk.os_errors import is_full
from gristmill.lake.store.protocol import Store
from gristmill.process import this_process


@contextmanager
def held_by_gc(store: Store, path: str, what: str, free: Callable[[], bool]) -> Iterator[Callable[[], bool] | None]:
    """Holds a place for `gc`, which may delete there as long as the block runs.

    On a full disk no claim can be written, also by a run. Then nothing is held: each deletion asks instead whether
    nobody has claimed the place, and looks again. Deletions and claims wait for each other there (`FolderStore`).

    Args:
        store: the lake.
        path: the path of the claim of this place.
        what: the place, for the message.
        free: function that looks again whether nobody works there, and nothing names what is to be deleted.

    Yields:
        Asks whether it is held still, before a deletion is sent again. None: it is not held, as a run is at work there,
        or was killed, or another `gc` is; or it is not free.

    Raises:
        StoreError: another took the claim while it was held, so some of what that made may have been deleted.
    """
    data = as_json(Claim(**msgspec.structs.asdict(this_process()), token=uuid4().hex, work=GC))
    before = store.read_tagged(path)
    if before is not None and not _is_left(before[0]):
        yield None
        return
    try:
        store.put_if(path, data, before[1] if before else None)
    except Conflict:
        yield None
        return
    except StoreError as error:
        if not is_full(error):
            raise
        yield (lambda: store.read_tagged(path) == before and free()) if free() else None
        return
    try:
        yield (lambda: has_mark(store, path, data)) if free() else None
    except BaseException:
        with suppress(StoreError):
            remove_mark(store, path, data)
        raise
    if not remove_mark(store, path, data):
        raise StoreError(
            f"{what}: another process took it over while gc removed objects there, so some of what that made may be"
            " gone: run gristmill make, then gristmill verify"
        )


def _is_left(data: bytes) -> bool:
    """Whether a claim is one of a `gc` that has ended, or of which it cannot be seen whether it runs."""
    claim = parse_claim(data)
    return claim is not None and claim.work == GC and not claim.runs(this_process())


def let_go_of_left(store: Store, path: str, what: str) -> None:
    """Removes a claim that a `gc` left behind when it was killed. All else is left alone.

    Args:
        store: the lake.
        path: the path of the claim.
        what: the place, for the message.

    Raises:
        StoreError: as for held_by_gc().
    """
    stored = store.read_tagged(path)
    if stored is not None and _is_left(stored[0]):
        with held_by_gc(store, path, what, lambda: False):
            pass
