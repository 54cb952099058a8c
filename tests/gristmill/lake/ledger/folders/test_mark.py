"""Who takes its own mark away, and what becomes of the mark of another."""

from collections.abc import Callable, Iterable

import pytest

from gristmill.errors import Conflict
from gristmill.lake.ledger.folders.mark import has_mark, remove_mark
from gristmill.lake.store.folder import FolderStore

MARK = "exports/blend/oscar/index/writing.json"


def test_who_has_the_mark_removes_it(lake: FolderStore) -> None:
    lake.put(MARK, b"mine")
    assert has_mark(lake, MARK, b"mine")
    assert remove_mark(lake, MARK, b"mine")
    assert lake.head(MARK) is None
    assert not has_mark(lake, MARK, b"mine")


def test_the_mark_of_another_stays(lake: FolderStore) -> None:
    lake.put(MARK, b"another's")
    assert not has_mark(lake, MARK, b"mine")
    assert not remove_mark(lake, MARK, b"mine")
    assert lake.read(MARK) == b"another's"


def test_who_finds_no_mark_has_lost_it(lake: FolderStore) -> None:
    assert not remove_mark(lake, MARK, b"mine")


def test_a_mark_that_another_wrote_at_this_moment_stays(lake: FolderStore) -> None:
    class Late(FolderStore):
        """Another takes the place right before the removal."""

        def delete(self, paths: Iterable[str], still: Callable[[], bool] | None = None) -> None:
            lake.put(MARK, b"another's")
            super().delete(paths, still)

    lake.put(MARK, b"mine")
    assert not remove_mark(Late(lake.url), MARK, b"mine")
    assert lake.read(MARK) == b"another's"


@pytest.mark.parametrize("another", [False, True])
def test_a_removal_whose_answer_was_lost_is_one_unless_another_took_the_place(
    lake: FolderStore, *, another: bool
) -> None:
    class Lossy(FolderStore):
        """The mark goes, and the store then asks again whether it may."""

        def delete(self, paths: Iterable[str], still: Callable[[], bool] | None = None) -> None:
            super().delete(paths, still)
            if another:
                lake.put(MARK, b"another's")
            raise Conflict("asked again")

    lake.put(MARK, b"mine")
    assert remove_mark(Lossy(lake.url), MARK, b"mine") is not another
