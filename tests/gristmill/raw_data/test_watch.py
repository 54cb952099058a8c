"""A watch: when a change is ripe, by its own clock, and what it keeps from look to look."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from testkit import Mill

from gristmill.raw_data.scan import EMPTY, RawScan, scan_raw
from gristmill.raw_data.watch import ALL_GONE, ALL_GONE_SCANS, Watch, dump_watch, load_watch
from gristmill.recipes.raw_object import Converted, RawObject
from gristmill.recipes.source import Folders, Source

TOP = "sources/pages/raw/"


def nothing(_: RawObject) -> Iterator[Converted]:
    yield from ()


PAGES = Source(name="pages", convert=nothing)
PATIENT = replace(PAGES, quiet=60.0)


class Watcher:
    """Looks at set times; what is due counts as reported at once. Between looks the watch is text."""

    def __init__(self, mill: Mill, source: Source) -> None:
        self.mill, self.source = mill, source
        self.known: dict[str, str] = {}
        self.text: str | None = None
        self.gone: list[str] = []

    def put(self, name: str, data: bytes = b"1") -> None:
        self.mill.store.put(TOP + name, data)

    def at(self, seconds: float, took: float = 0.0) -> list[str]:
        """A whole pass that begins then and takes so long; what was due."""
        watch = load_watch(self.text, self.source, self.mill.store)
        found = watch.look(self.source, self.mill.store, lambda: seconds, lambda: False)
        assert found
        self.gone = watch.decide_reports(self.source, found, self.known, seconds + took)
        due = sorted(watch.due)
        self.known.update({key: each.version for key, each in watch.due.items()})
        watch.due = {}
        self.text = dump_watch(watch)
        return due


def test_without_a_quiet_time_a_change_is_due_at_once(mill: Mill) -> None:
    watcher = Watcher(mill, PAGES)
    watcher.put("2024/a")
    assert watcher.at(0) == ["2024"]
    assert watcher.at(30) == []
    watcher.put("2024/b")
    assert watcher.at(60) == ["2024"]
    watcher.mill.store.delete([f"{TOP}2024/b"])
    assert watcher.at(90) == ["2024"]
    assert watcher.known["2024"] == scan_raw(PAGES, mill.store).seen["2024"].version


def test_with_one_it_waits_until_passes_that_span_it_saw_the_same(mill: Mill) -> None:
    watcher = Watcher(mill, PATIENT)
    watcher.put("2024/a")
    assert [watcher.at(0), watcher.at(30), watcher.at(59)] == [[], [], []]
    assert watcher.at(60) == ["2024"]
    assert watcher.at(90) == []


def test_every_change_begins_the_wait_anew_and_other_snapshots_do_not_wait_for_it(mill: Mill) -> None:
    watcher = Watcher(mill, PATIENT)
    watcher.put("2024/a")
    watcher.put("2025/a")
    assert watcher.at(0) == []
    watcher.put("2024/b")
    assert watcher.at(50) == []
    assert watcher.at(60) == ["2025"]
    assert watcher.at(109) == []
    assert watcher.at(110) == ["2024"]


def test_a_change_that_is_taken_back_is_none(mill: Mill) -> None:
    watcher = Watcher(mill, PATIENT)
    entry = mill.store.put(f"{TOP}2024/a", b"1")
    watcher.at(0)
    assert watcher.at(60) == ["2024"]
    watcher.put("2024/b")
    assert watcher.at(70) == []
    mill.store.delete([f"{TOP}2024/b"])
    assert [watcher.at(80), watcher.at(500)] == [[], []]
    assert mill.store.head(f"{TOP}2024/a") == entry


def test_the_wait_is_from_the_end_of_the_first_pass_to_the_beginning_of_the_last(mill: Mill) -> None:
    """Between them nothing changed, whenever a pass came by the snapshot."""
    watcher = Watcher(mill, PATIENT)
    watcher.put("2024/a")
    assert watcher.at(0, took=40) == []
    assert watcher.at(70, took=40) == []  # it ends at 110, but began 30 seconds after the first had ended
    assert watcher.at(100) == ["2024"]


def test_a_clock_that_is_turned_back_begins_the_wait_anew(mill: Mill) -> None:
    watcher = Watcher(mill, PATIENT)
    watcher.put("2024/a")
    assert watcher.at(10_000) == []
    assert watcher.at(50) == []
    assert watcher.at(109) == []
    assert watcher.at(110) == ["2024"]


def test_writers_clocks_do_not_matter(mill: Mill) -> None:
    import os

    watcher = Watcher(mill, PATIENT)
    watcher.put("2024/a")
    os.utime(mill.root / TOP / "2024" / "a", (4e9, 4e9))  # in 2096
    assert [watcher.at(0), watcher.at(60)] == [[], ["2024"]]


def test_while_the_marker_is_away_a_change_is_not_due(mill: Mill) -> None:
    watcher = Watcher(mill, replace(PAGES, marker="_SUCCESS"))
    watcher.put("2024/a")
    assert watcher.at(0) == []
    watcher.put("2024/_SUCCESS")
    assert watcher.at(30) == ["2024"]
    mill.store.delete([f"{TOP}2024/_SUCCESS"])
    watcher.put("2024/b")
    assert (watcher.at(60), watcher.gone) == ([], [])
    watcher.put("2024/_SUCCESS")
    assert watcher.at(90) == ["2024"]
    watcher.put("2024/_SUCCESS", b"again")
    assert watcher.at(120) == []


def test_a_snapshot_has_vanished_when_two_passes_found_nothing_of_it(mill: Mill) -> None:
    watcher = Watcher(mill, PAGES)
    watcher.put("2024/a")
    watcher.put("2025/a")
    assert watcher.at(0) == ["2024", "2025"]
    mill.store.delete([f"{TOP}2024/a"])
    assert (watcher.at(30), watcher.gone) == ([], ["2024"])
    assert (watcher.at(60), watcher.gone) == (["2024"], ["2024"])
    assert watcher.known["2024"] == EMPTY
    assert (watcher.at(90), watcher.gone) == ([], [])
    watcher.put("2024/a")
    assert watcher.at(120) == ["2024"]


def test_a_snapshot_that_is_back_at_the_second_look_never_vanished(mill: Mill) -> None:
    watcher = Watcher(mill, PAGES)
    entry = mill.store.put(f"{TOP}2024/a", b"1")
    watcher.put("2025/a")
    watcher.at(0)
    (mill.root / TOP / "2024").rename(mill.root / "aside")
    assert watcher.at(30) == []
    (mill.root / "aside").rename(mill.root / TOP / "2024")
    assert mill.store.head(entry.path) == entry
    assert [watcher.at(60), watcher.at(90)] == [[], []]


def test_where_nothing_is_left_at_all_an_hour_must_pass(mill: Mill) -> None:
    watcher = Watcher(mill, PAGES)
    watcher.put("2024/a")
    watcher.put("2025/a")
    watcher.at(0)
    mill.store.delete([f"{TOP}2024/a", f"{TOP}2025/a"])
    between = [watcher.at(30 + scan) for scan in range(ALL_GONE_SCANS - 1)]
    assert [*between, watcher.at(29 + ALL_GONE)] == [[]] * ALL_GONE_SCANS
    assert watcher.at(30 + ALL_GONE) == ["2024", "2025"]


def test_where_nothing_is_left_of_an_inventory_two_scans_and_an_hour_are_enough(mill: Mill) -> None:
    watcher = Watcher(mill, replace(PAGES, inventory="s3://inventories/pages"))
    watcher.put("2024/a")
    watcher.at(0)
    mill.store.delete([f"{TOP}2024/a"])
    assert [watcher.at(30), watcher.at(29 + ALL_GONE), watcher.at(30 + ALL_GONE)] == [[], [], ["2024"]]


def test_nothing_vanishes_while_snapshots_may_be_hidden(mill: Mill) -> None:
    watcher = Watcher(mill, replace(PAGES, partition=Folders(2)))
    for name in ("en/2024/a", "fr/2024/a"):
        watcher.put(name)
    assert watcher.at(0) == ["en.2024", "fr.2024"]
    (mill.root / TOP / "en").rename(mill.root / "away")
    (mill.root / TOP / "en").symlink_to("/nowhere/at/all")
    assert [(watcher.at(30 * scan), watcher.gone) for scan in range(1, 4)] == [([], [])] * 3
    (mill.root / TOP / "en").unlink()
    assert [watcher.at(120), watcher.at(150)] == [[], ["en.2024"]]


def test_a_clock_that_jumps_an_hour_drops_nothing_while_the_disk_is_away(mill: Mill) -> None:
    watcher = Watcher(mill, PAGES)
    watcher.put("2024/a")
    watcher.put("2025/a")
    watcher.at(0)
    raw = mill.root / TOP
    raw.rename(mill.root / "unmounted")
    jumped = 2 * ALL_GONE
    found = [watcher.at(0), *(watcher.at(jumped + 30 * scan) for scan in range(ALL_GONE_SCANS - 2))]
    assert (found, watcher.gone) == ([[]] * (ALL_GONE_SCANS - 1), ["2024", "2025"])
    (mill.root / "unmounted").rename(raw)
    assert (watcher.at(jumped + 3000), watcher.gone) == ([], [])
    raw.rename(mill.root / "unmounted")  # away once more: the scans are counted anew
    assert (watcher.at(jumped + 3030), watcher.at(3 * jumped)) == ([], [])


def test_one_snapshot_may_stay_and_it_takes_two_scans_again(mill: Mill) -> None:
    watcher = Watcher(mill, PAGES)
    for name in ("2024/a", "2025/a", "2026/a"):
        watcher.put(name)
    watcher.at(0)
    mill.store.delete([f"{TOP}2024/a", f"{TOP}2025/a"])
    assert [watcher.at(30), watcher.at(60)] == [[], ["2024", "2025"]]


def test_nothing_vanishes_while_a_link_may_hide_it_or_its_snapshot_is_held_back(mill: Mill) -> None:
    watcher = Watcher(mill, PAGES)
    watcher.put("2024/a")
    watcher.put("2025/a")
    watcher.at(0)
    folder = mill.root / TOP / "2024"
    (folder / "a").unlink()
    (folder / "a").symlink_to("/nowhere/at/all")
    assert [(watcher.at(30 * scan), watcher.gone) for scan in range(1, 4)] == [([], [])] * 3
    (folder / "a").unlink()
    folder.rmdir()
    folder.symlink_to("/nowhere/at/all")
    assert [(watcher.at(30 * scan), watcher.gone) for scan in range(4, 7)] == [([], [])] * 3
    folder.unlink()
    assert [watcher.at(210), watcher.at(240)] == [[], ["2024"]]


def test_what_vanished_with_a_quiet_time_waits_for_it(mill: Mill) -> None:
    watcher = Watcher(mill, PATIENT)
    watcher.put("2024/a")
    watcher.put("2025/a")
    watcher.at(0)
    watcher.at(60)
    mill.store.delete([f"{TOP}2024/a"])
    assert [watcher.at(90), watcher.at(120), watcher.at(150)] == [[], [], ["2024"]]


@pytest.mark.parametrize("text", [None, "", "null", "{", "[]", '{"of": 3}', '{"due": {"a": 1}}', "anything", "\x00"])
def test_a_watch_that_cannot_be_read_is_a_new_one(mill: Mill, text: str | None) -> None:
    found = load_watch(text, PAGES, mill.store)
    assert found == Watch(of=found.of)
    assert found.of


@pytest.mark.parametrize(
    "wrong",
    [
        {"due": {"../up": {}}},
        {"under_way": {"position": "../../etc/passwd"}},
        {"under_way": {"position": "sources/other/raw/a"}},
        {"under_way": {"seen": 3}},
    ],
)
def test_a_cursor_on_which_each_tick_would_fail_is_dropped_and_told(mill: Mill, wrong: dict[str, Any]) -> None:
    told: list[str] = []
    new = load_watch(None, PAGES, mill.store, told.append)
    assert told == []
    text = json.dumps({"of": new.of, **wrong})
    assert load_watch(text, PAGES, mill.store, told.append) == new
    assert load_watch("[" * 100_000, PAGES, mill.store, told.append) == new
    assert len(told) == 2
    assert all(
        words.startswith("sources/pages/raw: the sensor's cursor cannot be read, and is dropped (") for words in told
    )


def test_a_watch_of_another_recipe_or_lake_is_a_new_one(mill: Mill) -> None:
    watcher = Watcher(mill, PATIENT)
    watcher.put("2024/a")
    watcher.at(0)
    assert load_watch(watcher.text, PATIENT, mill.store).waiting
    assert load_watch(watcher.text, PAGES, mill.store).waiting  # the wait is not part of what is listed
    assert not load_watch(watcher.text, replace(PATIENT, select="x"), mill.store).waiting
    assert not load_watch(watcher.text, replace(PATIENT, marker="x"), mill.store).waiting


def test_a_watch_is_small(mill: Mill) -> None:
    """A hundred snapshots under way are some kilobytes; none waiting, some bytes."""
    for number in range(100):
        mill.store.put(f"{TOP}snapshot-{number:03d}/a", b"1")
    watch = load_watch(None, PAGES, mill.store)
    asked = iter([False] * 98 + [True])
    assert watch.look(PAGES, mill.store, lambda: 0.0, lambda: next(asked)) is None
    assert len(dump_watch(watch)) < 18_000
    assert json.loads(dump_watch(watch))["under_way"]["ahead"] == f"{TOP}snapshot-099/a"
    assert len(dump_watch(Watch())) < 160


def test_a_scan_that_was_cut_does_not_go_on_in_another_inventory() -> None:
    cut, watch = RawScan(started=1.0), Watch()
    watch.reading("first/manifest.json")
    watch.under_way = cut
    watch.reading("first/manifest.json")
    assert watch.under_way is cut
    watch.reading("second/manifest.json")
    assert watch.under_way is None
