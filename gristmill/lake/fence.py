"""A fence: a question that a store asks right before it writes an object, such as whether a run still has its claim.

A process may sleep between a question of its own and its next write, while another process takes over its work. A
folder asks while it holds the lock that every compare-and-swap holds: so no claim is written between the question and
the write. A bucket is asked right before each request.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gristmill.errors import Conflict

Question = Callable[[], object]
"""It raises an error if nothing may be written any more."""

_question: ContextVar[Question | None] = ContextVar("fence", default=None)


@contextmanager
def fence_writes(question: Question) -> Iterator[None]:
    """Lets stores ask a question before each object that this thread writes in the block, after those of blocks around.

    Args:
        question: function that reads the lake, and raises an error if nothing may be written any more.
    """
    around = _question.get()

    def both() -> None:
        if around is not None:
            around()
        question()

    token = _question.set(both)
    try:
        yield
    finally:
        _question.reset(token)


def is_fenced() -> bool:
    """Whether a question must be asked before an object is written."""
    return _question.get() is not None


def check_fence() -> None:
    """Asks the question of the block, if there is one.

    Raises:
        GristmillError: nothing may be written any more.
    """
    question = _question.get()
    if question is not None:
        question()


def check_still(path: str, still: Callable[[], bool] | None) -> None:
    """Asks whether objects may still be removed.

    Args:
        path: path of one of them, for the message.
        still: function that tells whether they may still be removed, as for Store.delete().

    Raises:
        Conflict: they may not.
    """
    if still is not None and not still():
        raise Conflict(f"{path}: others began to use it while it was removed; make again what it belongs to")
