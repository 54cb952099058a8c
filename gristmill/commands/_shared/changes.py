"""The changes of a text, as lines for a terminal."""

from collections.abc import Iterable, Iterator

from gristmill.errors import shorten
from gristmill.text.differences import Difference

_WIDTH = 100


def change_lines(found: Iterable[Difference]) -> Iterator[str]:
    """Two lines for each change.

    Args:
        found: the changes.

    Yields:
        `- ` with what was there, `+ ` with what is there now, each on one line.

    >>> list(change_lines([Difference(6, "write me@x now", "write E now")]))
    ['- write me@x now', '+ write E now']
    """
    for change in found:
        yield f"- {shorten(' '.join(change.before.split()), _WIDTH)}"
        yield f"+ {shorten(' '.join(change.after.split()), _WIDTH)}"
