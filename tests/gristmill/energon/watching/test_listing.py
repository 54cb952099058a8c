"""When a watched folder counts as complete, and what its state is."""

from dataclasses import replace
from pathlib import Path

import pytest

from gristmill.energon.recipes.watched_folder import WatchedFolder
from gristmill.energon.watching.listing import FolderWatch, dump_watch, load_watch, requested_state
from gristmill.lake.store.open import open_store
from gristmill.raw_data.scan import Seen


class Ticks:
    """Lists of a folder by a clock that the test sets."""

    def __init__(self, path: Path, **options: object) -> None:
        self.folder = WatchedFolder(name="tars", path=str(path), **options)  # type: ignore[arg-type]
        self.store = open_store(str(path))
        self.cursor: str | None = None

    def at(self, seconds: float, *, late: bool = False) -> Seen | None:
        self.watch = load_watch(self.cursor, self.folder)
        seen = self.watch.look(self.folder, self.store, lambda: seconds, lambda: late)
        self.cursor = dump_watch(self.watch)
        return seen

    def quiet_at(self, seconds: float) -> bool:
        assert self.at(seconds) is not None
        return self.watch.is_quiet(self.folder)


def write(folder: Path, *names: str, data: bytes = b"x") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def test_files_are_complete_when_two_lists_a_minute_apart_agree(tmp_path: Path) -> None:
    write(tmp_path, "0.tar")
    ticks = Ticks(tmp_path)
    assert [ticks.quiet_at(second) for second in (0, 30, 59)] == [False] * 3
    write(tmp_path, "0.tar", data=b"xy")  # it grows
    assert [ticks.quiet_at(second) for second in (60, 90, 119, 120)] == [False, False, False, True]


def test_a_clock_that_is_set_back_begins_the_wait_again(tmp_path: Path) -> None:
    write(tmp_path, "0.tar")
    ticks = Ticks(tmp_path)
    assert [ticks.quiet_at(second) for second in (1000, 10, 65, 70)] == [False, False, False, True]


def test_without_a_wait_the_first_list_is_enough(tmp_path: Path) -> None:
    write(tmp_path, "0.tar")
    assert Ticks(tmp_path, quiet=0).quiet_at(0)


def test_only_tars_and_json_lines_count_and_not_what_prepare_writes(tmp_path: Path) -> None:
    ticks = Ticks(tmp_path, marker="_SUCCESS")
    write(tmp_path, "a/0.tar", "b.jsonl", "c.tgz")
    before = ticks.at(0)
    assert before is not None
    assert (before.objects, before.marked) == (3, False)
    write(tmp_path, "a/0.tar.idx", "b.jsonl.idx", ".nv-meta/index.sqlite", ".nv-meta/x.tar", "notes.txt", "_SUCCESS")
    after = ticks.at(1)
    assert after is not None
    assert (after.digest, after.marked) == (before.digest, True)


def test_a_list_that_takes_several_ticks_goes_on_where_it_stopped(tmp_path: Path) -> None:
    write(tmp_path, *(f"{number}.tar" for number in range(4)))
    whole = Ticks(tmp_path).at(0)
    ticks = Ticks(tmp_path)
    assert [ticks.at(0, late=True) for _ in range(3)] == [None] * 3
    assert ticks.at(0, late=True) == whole
    again = [ticks.at(1, late=True)]
    (tmp_path / "1.tar").unlink()  # where the next tick would go on
    assert [*again, ticks.at(1), ticks.watch.seen.objects] == [None, ticks.watch.seen, 3]


def test_a_server_that_goes_on_at_a_wrong_place_hides_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, *(f"{number}.tar" for number in range(4)))
    ticks = Ticks(tmp_path)
    entries = list(ticks.store.list(""))
    assert ticks.at(0, late=True) is None
    monkeypatch.setattr(ticks.store, "list", lambda _, after="": iter(entries[3:] if after else entries))
    seen = ticks.at(1)
    assert seen is not None
    assert seen.objects == 4


def test_the_cursor_is_small_and_a_damaged_one_begins_anew(tmp_path: Path) -> None:
    write(tmp_path, *(f"{number}.tar" for number in range(300)))
    ticks = Ticks(tmp_path)
    ticks.at(0)
    assert ticks.cursor is not None
    assert len(ticks.cursor) < 400
    for damaged in ("{", "[]", '{"position": "../x"}', ticks.cursor.replace('"of":"', '"of":"0')):
        assert load_watch(damaged, ticks.folder) == FolderWatch(of=load_watch(None, ticks.folder).of)


def test_another_recipe_is_another_state_and_another_wait_is_not(tmp_path: Path) -> None:
    folder = WatchedFolder(name="tars", path=str(tmp_path), split_ratio=(8, 1, 1))
    seen = Seen()
    assert requested_state(replace(folder, quiet=5.0, description="new"), seen) == requested_state(folder, seen)
    assert requested_state(replace(folder, split_ratio=(1, 0, 0)), seen) != requested_state(folder, seen)
