"""Whether raw objects are links, or files, as they were when their reader asked.

A link and the file that it leads to have the same bytes. But a reader may leave links out.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from msgspec import UNSET

from gristmill.lake.ledger.receipts import RawVersion
from gristmill.lake.store.plain_files import first_linked_path
from gristmill.lake.store.protocol import Entry
from gristmill.recipes.drift.drop_reasons import LEFT_OUT
from gristmill.recipes.reader import Reader

_LINK = f"{LEFT_OUT}link"


def may_leave_out(reader: Reader, name: str) -> bool:
    """Whether a reader leaves an object out if it, or a folder above it, is a link.

    Args:
        reader: reader of the source.
        name: name of the object, below its snapshot.
    """
    return any(reader.leaves_link(part) for part in _path_prefixes(name))


def _path_prefixes(name: str) -> Iterator[str]:
    names = name.split("/")
    return ("/".join(names[:n]) for n in range(1, len(names) + 1))


class Links:
    """Compares the links among the raw objects of a snapshot with those that its documents were made of.

    Args:
        reader: reader of the source.
        root: root of the store that holds the objects, as Store.url gives it.
        entries: the objects as they are, by name.
        stamps: the objects as they were read, by name.
        dropped: function that reads the counts of left-out rows of each finished shard. It is asked for shards of
            earlier versions, which recorded no links: these counts show how many were left out.
    """

    def __init__(
        self,
        reader: Reader,
        root: str,
        entries: Mapping[str, Entry],
        stamps: Mapping[str, RawVersion],
        dropped: Callable[[], Mapping[str, Mapping[str, int]]],
    ) -> None:
        self._reader, self._root, self._entries, self._stamps = reader, root, entries, stamps
        self._dropped, self._is_link = cache(dropped), cache(os.path.islink)  # one question for each folder

    def has_changed(self, shard: str, names: Sequence[str]) -> bool:
        """Whether an object became a link, or a link became a file, since the shard was made.

        Args:
            shard: name of the shard.
            names: names of the raw objects of the shard.
        """
        told = {name: self._stamps[name].link for name in names if name in self._stamps}
        if any(link is not UNSET and link != self._first_linked_part(name) for name, link in told.items()):
            return True
        old = [name for name, link in told.items() if link is UNSET and may_leave_out(self._reader, name)]
        row = self._dropped().get(shard) if old else None
        if row is None:
            return False
        left = sum(bool(link) and self._reader.leaves_link(link) for link in map(self._first_linked_part, names))
        followed = any(not self._reader.leaves_link(name) for name in names)  # archives, whose own links count too
        shown = row.get(_LINK, 0)
        return shown < left or (shown > left and not followed)

    def _first_linked_part(self, name: str) -> str:
        return first_linked_path(self._root, self._entries[name].path, name.count("/") + 1, self._is_link)
