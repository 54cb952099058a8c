"""A mark: an object beside a ledger that names who works there. Its bytes are those of one run alone."""

from gristmill.errors import Conflict
from gristmill.lake.store.protocol import Store


def has_mark(store: Store, path: str, mark: bytes) -> bool:
    """Whether the mark that is there is this one.

    Args:
        store: the lake.
        path: path of the mark.
        mark: bytes of the mark that was written.
    """
    stored = store.read_tagged(path)
    return stored is not None and stored[0] == mark


def remove_mark(store: Store, path: str, mark: bytes) -> bool:
    """Removes a mark, unless another run has written its own over it. That one stays.

    Args:
        store: the lake.
        path: path of the mark.
        mark: bytes of the mark that was written.

    Returns:
        Whether it was still there. False: another run has taken the place, also if that has ended meanwhile.
    """
    if not has_mark(store, path, mark):
        return False
    try:
        store.delete([path], lambda: has_mark(store, path, mark))
    except Conflict:  # the mark is gone, and the answer was lost; or another took the place at this moment
        return store.read_tagged(path) is None
    return True
