"""An index of posts on disk, for joining questions with their answers in bounded memory."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

_BATCH = 10_000
_CACHE = 32 << 20


class PostPlace(NamedTuple):
    """Where a post is.

    Attributes:
        thread: id of its question.
        post: its own id.
        score: its score.
        start: its first byte in the file.
        end: the byte after its last one.
    """

    thread: int
    post: int
    score: int
    start: int
    end: int


class PostIndex:
    """Posts by their threads, sorted on disk: about 60 bytes for each, in a temporary file.

    Use it in a `with` statement.
    """

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="gristmill-posts-"))
        self._database = sqlite3.connect(Path(folder, "posts"), isolation_level=None)
        self._stack.callback(self._database.close)
        for setting in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{_CACHE >> 10}", "temp_store=FILE"):
            self._database.execute(f"PRAGMA {setting}")
        self._database.execute("CREATE TABLE posts (thread, post, score, start, end)")
        self._database.execute("BEGIN")
        self._waiting: list[PostPlace] = []
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def add(self, place: PostPlace) -> None:
        """Takes a post."""
        self._waiting.append(place)
        if len(self._waiting) >= _BATCH:
            self._write_waiting_posts()

    def _write_waiting_posts(self) -> None:
        self._database.executemany("INSERT INTO posts VALUES (?, ?, ?, ?, ?)", self._waiting)
        self._waiting.clear()

    def posts_by_thread(self) -> Iterator[list[PostPlace]]:
        """The posts of each thread, by the ids of the threads.

        In a thread, the question comes first, then the answers: the highest score first, of equal scores the lowest id.
        """
        self._write_waiting_posts()
        thread: list[PostPlace] = []
        order = "thread, post <> thread, score DESC, post, start"
        for row in self._database.execute(f"SELECT * FROM posts ORDER BY {order}"):  # noqa: S608 - our own words
            place = PostPlace(*row)
            if thread and thread[0].thread != place.thread:
                yield thread
                thread = []
            thread.append(place)
        if thread:
            yield thread
