"""Lists a watched folder, and decides when its files have stopped changing.

The list is reduced to a few numbers. A tick may end in its middle; the next tick continues at the same file.
"""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import fields

import msgspec

from gristmill.energon.formats.info import META_FOLDER, is_tar
from gristmill.energon.preparing.dataset import is_packed_tar
from gristmill.energon.recipes.watched_folder import WatchedFolder
from gristmill.errors import GristmillError
from gristmill.lake.identity import digest_of
from gristmill.lake.store.protocol import Entry, Store, check_path
from gristmill.raw_data.scan import Seen


def is_data(path: str) -> bool:
    """Whether a file of the folder is one that others wrote: a tar, a packed tar or a JSONL file.

    >>> [is_data(path) for path in ("a/0.tar", "a.tgz", "b.jsonl", "a/0.tar.idx", ".nv-meta/split.yaml")]
    [True, True, True, False, False]
    """
    data = is_tar(path) or is_packed_tar(path) or path.endswith(".jsonl")
    return data and not path.startswith(f"{META_FOLDER}/")


class FolderWatch(msgspec.Struct):
    """The state of a watch between ticks. If it is lost, a run is late, or finds nothing to write.

    Attributes:
        of: digest of the recipe; if it differs, the watch begins anew.
        started: time when the list that is under way was begun, in seconds.
        seen: its files so far.
        position: path of its last file; empty if no list is under way.
        ahead: path of the file after that.
        digest: digest of the last complete list; None before the first.
        since: time when the first of the complete lists in a row that agree ended.
        lists: number of lists in a row that agree.
    """

    of: str = ""
    started: float = 0.0
    seen: Seen = msgspec.field(default_factory=Seen)
    position: str = ""
    ahead: str = ""
    digest: int | None = None
    since: float = 0.0
    lists: int = 0

    def look(
        self, folder: WatchedFolder, store: Store, now: Callable[[], float], late: Callable[[], bool]
    ) -> Seen | None:
        """Begins or continues a list.

        Args:
            folder: the recipe.
            store: store of the folder.
            now: the time in seconds.
            late: whether the time of this tick is up.

        Returns:
            The files if the list is complete; else None.

        Raises:
            StoreError: the folder cannot be listed; discard this watch.
        """
        listing = store.list("", self.position)
        if self.position:
            first = next(listing, None)
            if first is None or first.path != self.ahead:  # files came or went there: begin again
                self.position, listing = "", store.list("")
            else:
                listing = itertools.chain([first], listing)
        if not self.position:
            self.started, self.seen = now(), Seen()
        if not self._take_listing(folder, listing, late):
            return None
        self.position = self.ahead = ""
        self._count_equal_listings(now())
        return self.seen

    def _take_listing(self, folder: WatchedFolder, listing: Iterator[Entry], late: Callable[[], bool]) -> bool:
        took = False
        for entry in listing:
            if took and late():
                self.ahead = entry.path
                return False
            took, self.position = True, entry.path
            if entry.path.rpartition("/")[2] == folder.marker:
                self.seen.marked = True
            elif is_data(entry.path):
                self.seen.add(entry.path, entry)
        return True

    def _count_equal_listings(self, ended: float) -> None:
        """Counts the lists in a row that agree. A clock that was set back begins the count anew."""
        if self.digest == self.seen.digest and self.since <= self.started:
            self.lists += 1
        else:
            self.digest, self.since, self.lists = self.seen.digest, ended, 1

    def is_quiet(self, folder: WatchedFolder) -> bool:
        """Whether the files have stayed the same for as long as the recipe asks; after a complete list.

        The time counts from the end of the first list that saw these files to the beginning of the last.

        Args:
            folder: the recipe.
        """
        return folder.quiet == 0 or (self.lists > 1 and self.started - self.since >= folder.quiet)


def requested_state(folder: WatchedFolder, seen: Seen) -> str:
    """The state for which a run is requested: the recipe and the files. A run is requested once for a state.

    Args:
        folder: the recipe.
        seen: all files.
    """
    return f"{_recipe_digest(folder)}-{seen.version}"


_NOT_OF_THE_STATE = frozenset({"name", "description", "quiet", "marker"})


def _recipe_digest(folder: WatchedFolder) -> str:
    options = [(each.name, repr(getattr(folder, each.name))) for each in fields(folder)]
    return digest_of([option for option in options if option[0] not in _NOT_OF_THE_STATE])[:16]


def dump_watch(watch: FolderWatch) -> str:
    """The watch as the text of a cursor: a few hundred bytes and two paths, however many files the folder has."""
    return json.dumps(msgspec.to_builtins(watch), separators=(",", ":"))  # which takes the 128 bits of a digest


def load_watch(text: str | None, folder: WatchedFolder) -> FolderWatch:
    """The watch of a cursor; a new one if the cursor is missing, damaged, or of another recipe.

    Args:
        text: result of dump_watch, or None.
        folder: the recipe.
    """
    new = FolderWatch(of=_recipe_digest(folder))
    try:
        stored = msgspec.convert(json.loads(text), FolderWatch) if text else new
        if stored.position:
            check_path(stored.position)
    except (ValueError, RecursionError, GristmillError):
        return new
    return stored if stored.of == new.of else new
