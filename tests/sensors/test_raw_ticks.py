"""The raw-arrival sensor over many ticks: time boxes, waits, bursts, and snapshots that vanish."""

import itertools
import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._daemon.types import DaemonHeartbeat
from dagster_kit import (
    BLEND_INDEX,
    BLEND_LETTERS,
    JOURNEY,
    LETTERS_V0,
    TINY_INDEX,
    TINY_LETTERS,
    Works,
    environment_of,
    letters,
)
from inventories import Reports
from seaweed import BUCKET, REGION, Seaweed
from ticking import Daemon

from assets.support.arrivals import report_arrivals, reported_versions
from gristmill.__main__ import main
from gristmill.errors import DataError, StoreError
from gristmill.execution.step import plan
from gristmill.lake.address import place
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.scan import EMPTY
from gristmill.recipes.source import Folders, Source
from gristmill.stages.conversion.step import ConversionStep
from resources.lake import LakeResource, lake_resource
from resources.pages.news import without_news
from sensors.automation import STILL
from sensors.raw_arrivals import raw_arrival_sensor
from sensors.raw_looks import Pace

RAW = "sources/letters/raw"
KEYS = "snapshots/letters"


def bucket_of(store: Store, seaweed: Seaweed) -> LakeResource:
    """The lake of a deployment in a bucket."""
    deployment = replace(environment_of(Path(store.url)), lake=store.url, endpoint=seaweed.endpoint, region=REGION)
    return lake_resource(deployment)


class Ticker:
    """The sensor of the letters, tick after tick; `warned` is what the last one warned of."""

    def __init__(
        self, works: Works, source: Source | None = None, pace: Pace | None = None, lake: LakeResource | None = None
    ) -> None:
        self.works = works
        self.seconds = 0.0
        self.cursor: str | None = None
        self.warned: list[str] = []
        below = [address for address, name in works.catalogue.partitioned_assets() if name == "letters"]
        chosen = pace or Pace(now=lambda: self.seconds)
        sources = [source or works.catalogue.sources["letters"]]
        self._sensor = raw_arrival_sensor(sources, {"letters": below}, chosen)
        self._lake = lake or lake_resource(environment_of(works.root))

    def tick(self) -> str:
        self.warned, logged = [], list[str]()
        with dg.build_sensor_context(
            instance=self.works.instance, cursor=self.cursor, resources={"lake": self._lake}
        ) as context:
            context.log.warning = lambda text, *_: self.warned.append(text)  # type: ignore[method-assign]  # to read it
            context.log.info = lambda text, *_: logged.append(text)  # type: ignore[method-assign]  # see above
            said: Any = self._sensor(context)
            self.cursor = context.cursor
        self.seconds += 30
        words = said.skip_message or "" if isinstance(said, dg.SkipReason) else logged[0]
        return words.removeprefix("letters: ")

    @property
    def said(self) -> str:
        return (self.cursor or "").partition("\n")[0].removeprefix("letters: ")

    @property
    def mind(self) -> dict[str, Any]:
        return dict(json.loads(json.loads(without_news(self.cursor))["sources"]["letters"]))

    @property
    def keys(self) -> list[str]:
        return sorted(self.works.instance.get_dynamic_partitions(KEYS))

    @property
    def known(self) -> dict[str, str]:
        return reported_versions(self.works.instance, "letters")

    @property
    def events(self) -> int:
        return len(self.works.instance.fetch_materializations(dg.AssetKey(RAW.split("/")), limit=5000).records)


def until_whole(ticker: Ticker) -> tuple[int, str]:
    """Ticks until a pass is whole: how many, and what the last said."""
    for number in itertools.count(1):
        said = ticker.tick()
        if not said.startswith("a scan is under way"):
            return number, said
        assert number < 100
    raise AssertionError


AT_ONCE = Pace(listing=0.0)
"""One object a tick."""


def test_a_tick_whose_time_is_over_leaves_the_rest_to_the_next_and_decides_nothing(works: Works) -> None:
    for snapshot in ("2023", "2024", "2025"):
        works.raw(letters(1), snapshot=snapshot)
    ticker = Ticker(works, pace=AT_ONCE)
    assert ticker.tick() == "a scan is under way: 1 objects so far; nothing is decided before it is complete"
    assert ticker.tick().startswith("a scan is under way: 2 objects")
    assert (ticker.keys, ticker.events) == ([], 0)
    assert ticker.tick() == "2023, 2024, 2025 reported"
    assert until_whole(ticker) == (3, "nothing new")
    assert ticker.known == Ticker(works).known
    assert Ticker(works).tick() == "nothing new"  # the same digests in one pass


def test_a_key_that_a_person_deletes_comes_back_with_the_next_scan(works: Works) -> None:
    works.raw(letters(1))
    ticker = Ticker(works)
    ticker.tick()
    for again in ("a tick", "sync"):
        works.instance.delete_dynamic_partition(KEYS, "2024")
        if again == "a tick":
            assert ticker.tick() == "2024 had no key though its raw data are there: its key was added"
            assert ticker.tick() == "nothing new"
        else:
            assert works.arrive("letters") == {"letters": []}
        assert (ticker.keys, ticker.events) == (["2024"], 1)


def test_many_keys_without_data_are_counted_and_removed_in_time(works: Works) -> None:
    works.raw(letters(1))
    ticker = Ticker(works, pace=Pace(reporting=-1.0))
    assert ticker.tick() == "2024 reported"
    works.know(*(f"typed-{number:02}" for number in range(30)))
    assert ticker.tick() == "nothing new"  # no time is left
    ticker = Ticker(works)
    assert ticker.tick().startswith("typed-00, typed-01, ")
    assert ticker.said.endswith("typed-19 and 10 more never had raw data: its key was removed")
    assert ticker.keys == ["2024"]


def test_a_ledger_that_cannot_be_read_keeps_its_key_and_does_not_hold_back_the_other_snapshots(works: Works) -> None:
    works.raw(letters(1))
    ticker = Ticker(works)
    ticker.tick()
    works.know("typed-1", "typed-2")
    works.store.put(place(LETTERS_V0, "typed-1").ledger, b"{")
    works.raw(letters(1, 2), snapshot="2025")
    assert ticker.tick() == "2025 reported; typed-2 never had raw data: its key was removed"
    assert ticker.keys == ["2024", "2025", "typed-1"]


def test_names_of_the_data_end_no_line_of_the_log(works: Works) -> None:
    for name in ("bad\nname", "\u202e"):
        works.raw(letters(1), snapshot=name)
    ticker = Ticker(works)
    ticker.tick()
    assert [each.partition(" is skipped")[0] for each in ticker.warned] == [f"{RAW}/bad\\nname", rf"{RAW}/\u202e"]


@pytest.mark.slow
def test_nothing_is_reported_before_the_automation_can_notice_it(works: Works) -> None:
    works.raw(letters(1))
    with dg.DagsterInstance.local_temp() as instance:  # an ephemeral one keeps no states of sensors
        ticker = Ticker(Works(works.root, instance))
        instance.add_daemon_heartbeat(DaemonHeartbeat(time.time(), "SENSOR", "a daemon", errors=[]))
        assert ticker.tick() == "waits for the first tick of the automation"
        assert (ticker.keys, ticker.events) == ([], 0)
        instance.add_daemon_heartbeat(DaemonHeartbeat(time.time() - 2 * STILL, "SENSOR", "a daemon", errors=[]))
        assert ticker.tick() == "2024 reported"  # nobody follows the reports, so they need not wait


@pytest.mark.slow
def test_on_a_real_server_too(works: Works, seaweed: Seaweed, tmp_path: Path) -> None:
    store = seaweed.store(tmp_path.name)
    for snapshot, name in itertools.product(("2024", "2024-b", "2024.c"), ("a", "a-b", "b/c")):
        store.put(f"{RAW}/{snapshot}/{name}.jsonl", b"{}\n")
    lake = bucket_of(store, seaweed)
    ticker = Ticker(works, pace=AT_ONCE, lake=lake)
    assert until_whole(ticker) == (9, "2024, 2024-b, 2024.c reported")
    assert until_whole(ticker) == (9, "nothing new")
    assert Ticker(works, lake=lake).tick() == "nothing new"
    store.delete([f"{RAW}/2024/a.jsonl"])
    assert until_whole(ticker) == (8, "2024 reported")


def test_a_cursor_that_is_lost_in_mid_listing_reports_nothing_twice(works: Works) -> None:
    for snapshot in ("2023", "2024", "2025"):
        works.raw(letters(1), snapshot=snapshot)
    ticker = Ticker(works, pace=AT_ONCE)
    until_whole(ticker)
    for lost in (None, "", "garbage", '{"of":"","under_way":{"position":"x"}}'):
        ticker.tick()
        ticker.cursor = lost
        assert until_whole(ticker) == (3, "nothing new")
    assert ticker.events == 3


def test_a_store_that_does_not_go_on_where_a_tick_stopped_is_said_and_at_last_loudly(works: Works) -> None:
    for number in range(9):
        works.raw(letters(1), name=f"{number}")
    ticker = Ticker(works, pace=AT_ONCE)
    assert ticker.tick().startswith("a scan is under way")
    for again in (1, 2, 3):
        works.store.delete([ticker.mind["under_way"]["ahead"]])
        said = ticker.tick()
        assert said.endswith(f"restarted {again} times: the store did not continue where the last tick stopped")
        assert bool(ticker.warned) == (again == 3)
    assert "3 scans in a row could not be resumed" in ticker.warned[0]
    assert until_whole(ticker)[1] == "2024 reported"
    assert "restarted" not in ticker.tick()


def test_a_disk_that_is_not_mounted_reports_nothing_and_leaves_the_cursor(works: Works) -> None:
    works.raw(letters(1))
    works.raw(letters(1), snapshot="2025")
    source = replace(works.catalogue.sources["letters"], mounted=".mounted")
    works.store.put(f"{RAW}/.mounted", b"")
    ticker = Ticker(works, source)
    assert ticker.tick() == "2024, 2025 reported"
    before = ticker.cursor
    (works.root / RAW).rename(works.root / "unmounted")
    for _ in range(3):
        with pytest.raises(StoreError, match=rf"{RAW}/\.mounted: the mount marker of source 'letters' is not there"):
            ticker.tick()
    assert (ticker.cursor, ticker.events) == (before, 2)
    (works.root / "unmounted").rename(works.root / RAW)
    assert ticker.tick() == "nothing new"


@pytest.mark.slow
def test_a_snapshot_with_what_is_no_file_is_skipped_loudly_and_the_others_go_on(works: Works) -> None:
    works.raw(letters(1))
    works.raw(letters(1), snapshot="2025")
    ticker = Ticker(works)
    ticker.tick()
    works.raw(letters(1, 2))
    fifo = works.root / RAW / "2025" / "pipe.jsonl.gz"
    os.mkfifo(fifo)
    assert ticker.tick() == "2024 reported; snapshots that cannot be converted as they are: 1 (2025)"
    assert ticker.warned == [f"{RAW}/2025 is skipped: 2025/pipe.jsonl.gz: a FIFO, not a file; remove it"]
    assert works.run("letters_journey").success
    failed = works.run("letters_journey", "2025")
    assert f"{RAW}/2025/pipe.jsonl.gz: a FIFO, not a file; remove it" in next(iter(failed.failures.values()))
    drop(works, "2024")
    (works.root / RAW / "2025" / "a.jsonl.gz").unlink()
    assert [ticker.tick(), ticker.tick()][1].startswith("2024 reported")  # 2025 is held back, and has not vanished
    fifo.unlink()
    assert ticker.tick().startswith("nothing new; snapshots that wait")


def test_due_reports_wait_neither_for_a_scan_nor_begin_one(works: Works) -> None:
    for number in range(3):
        works.raw(letters(1), snapshot=f"s{number}")
    ticker = Ticker(works, pace=Pace(reporting=0.0))
    assert ticker.tick() == "s0 reported; 2 more are reported at the next tick"
    works.raw(letters(1), snapshot="s9")
    assert ticker.tick() == "s1 reported; 1 more are reported at the next tick"
    assert ticker.tick() == "s2 reported"
    assert ticker.tick() == "s9 reported"


def test_a_snapshot_that_comes_back_keeps_its_key_while_it_waits(works: Works) -> None:
    """Its last report says that it has vanished, and nothing was made from it: only its objects hold its key."""
    works.raw(letters(1))
    works.raw(letters(1), snapshot="2025")
    ticker = Ticker(works)
    ticker.tick()
    drop(works, "2024")
    assert [ticker.tick(), ticker.tick()][1] == "2024 reported"
    works.raw(letters(1))
    patient = Ticker(works, replace(works.catalogue.sources["letters"], quiet=60.0))
    assert patient.tick() == "nothing new; snapshots that wait until they stay the same: 1 (2024)"
    assert patient.keys == ["2024", "2025"]


def test_no_key_is_removed_while_snapshots_may_be_hidden(works: Works) -> None:
    for snapshot in ("en/2024", "fr/2024"):
        works.raw(letters(1), snapshot=snapshot)
    ticker = Ticker(works, replace(works.catalogue.sources["letters"], partition=Folders(2)))
    assert ticker.tick() == "en.2024, fr.2024 reported"
    drop(works, "en/2024")
    ticker.tick()
    (works.root / RAW / "de").symlink_to("/nowhere/at/all")
    assert ticker.tick() == "nothing new"
    (works.root / RAW / "de").unlink()
    assert [ticker.tick(), ticker.tick()][1] == "en.2024 reported"
    (works.root / RAW / "de").symlink_to("/nowhere/at/all")
    assert (ticker.tick(), ticker.keys) == ("nothing new", ["en.2024", "fr.2024"])
    (works.root / RAW / "de").unlink()
    assert ticker.tick() == "en.2024 vanished, and nothing made from it is left: its key was removed"
    assert ticker.keys == ["fr.2024"]


def test_a_burst_that_cannot_be_reported_in_one_tick_is_reported_in_the_next(works: Works) -> None:
    for number in range(4):
        works.raw(letters(1), snapshot=f"s{number}")
    ticker = Ticker(works, pace=Pace(reporting=0.0))
    assert ticker.tick() == "s0 reported; 3 more are reported at the next tick"
    assert ticker.keys == ["s0", "s1", "s2", "s3"]
    assert ticker.tick() == "s1 reported; 2 more are reported at the next tick"
    assert report_arrivals(works.instance, works.catalogue.sources["letters"], works.store)[0] == ["s2", "s3"]
    assert ticker.tick() == "nothing new"  # what another has reported meanwhile is not reported again
    assert ticker.events == 4


@pytest.mark.slow
def test_of_many_snapshots_some_are_named(works: Works) -> None:
    for number in range(30):
        works.raw(letters(1), snapshot=f"s{number:02d}")
    said = Ticker(works).tick()
    assert said.endswith("s19 and 10 more reported")
    assert len(works.instance.get_dynamic_partitions(KEYS)) == 30


def test_a_source_with_a_quiet_time_waits(works: Works) -> None:
    source = replace(works.catalogue.sources["letters"], quiet=60.0)
    ticker = Ticker(works, source)
    works.raw(letters(1))
    wait = "nothing new; snapshots that wait until they stay the same: 1 (2024)"
    assert [ticker.tick(), ticker.tick(), ticker.tick()] == [wait, wait, "2024 reported"]
    works.raw(letters(1, 2))
    assert report_arrivals(works.instance, source, works.store)[0] == ["2024"]  # somebody says that it is whole
    assert ticker.tick() == "nothing new"


def test_a_source_with_a_marker_waits_for_it(works: Works) -> None:
    source = replace(works.catalogue.sources["letters"], marker="_SUCCESS")
    ticker = Ticker(works, source)
    works.raw(letters(1))
    assert ticker.tick() == "nothing new; snapshots that wait for their _SUCCESS: 1 (2024)"
    assert report_arrivals(works.instance, source, works.store)[0] == []
    works.store.put(f"{RAW}/2024/_SUCCESS", b"")
    assert ticker.tick() == "2024 reported"
    assert ticker.tick() == "nothing new"


@pytest.mark.slow
def test_a_source_with_an_inventory_is_not_listed(works: Works, seaweed: Seaweed, tmp_path: Path) -> None:
    reports = Reports(seaweed, tmp_path.name)
    store = reports.lake
    inventory = f"s3://{BUCKET}/{reports.top}"
    lake = bucket_of(store, seaweed)
    ticker = Ticker(works, replace(works.catalogue.sources["letters"], inventory=inventory), lake=lake)
    for snapshot in ("2024", "2025"):
        store.put(f"{RAW}/{snapshot}/a.jsonl", b"{}\n")
    reports.write("2026-01-01T00-00Z", 1_000, [list(store.list(""))])
    assert ticker.tick() == "2024, 2025 reported"
    store.delete([f"{RAW}/2024/a.jsonl"])
    store.put(f"{RAW}/2026/a.jsonl", b"{}\n")
    waits = f"nothing new; waits for an inventory after {reports.top}/2026-01-01T00-00Z/manifest.json"
    assert [ticker.tick(), ticker.tick()] == [waits, waits]
    reports.write("2026-01-02T00-00Z", 2_000, [list(store.list(""))])
    assert ticker.tick() == "2026 reported; snapshots that wait until they stay the same: 1 (2024)"
    ticker.cursor = None
    again = "nothing new; snapshots that wait until they stay the same: 1 (2024)"
    assert ticker.tick() == again  # one report, read twice, confirms nothing
    reports.write("2026-01-03T00-00Z", 3_000, [list(store.list(""))])
    assert ticker.tick() == "2024 reported"
    assert ticker.known["2024"] == EMPTY
    assert Ticker(works, lake=lake).tick() == "2024 vanished, and nothing made from it is left: its key was removed"


def test_due_reports_do_not_wait_for_the_next_inventory(works: Works, seaweed: Seaweed, tmp_path: Path) -> None:
    reports = Reports(seaweed, tmp_path.name)
    store = reports.lake
    source = replace(works.catalogue.sources["letters"], inventory=f"s3://{BUCKET}/{reports.top}")
    lake = bucket_of(store, seaweed)
    ticker = Ticker(works, source, Pace(reporting=0.0), lake)
    for snapshot in ("2024", "2025"):
        store.put(f"{RAW}/{snapshot}/a.jsonl", b"{}\n")
    reports.write("2026-01-01T00-00Z", 1_000, [list(store.list(""))])
    assert ticker.tick() == "2024 reported; 1 more are reported at the next tick"
    assert ticker.tick() == "2025 reported"
    assert ticker.tick().startswith("nothing new; waits for an inventory after ")


def test_a_scan_that_a_tick_cuts_begins_anew_in_the_next_inventory(
    works: Works, seaweed: Seaweed, tmp_path: Path
) -> None:
    reports = Reports(seaweed, tmp_path.name)
    source = replace(works.catalogue.sources["letters"], inventory=f"s3://{BUCKET}/{reports.top}")
    ticker = Ticker(works, source, AT_ONCE, bucket_of(reports.lake, seaweed))
    for snapshot in ("2023", "2024", "2025"):
        reports.lake.put(f"{RAW}/{snapshot}/a.jsonl", b"{}\n")
    listed = list(reports.lake.list(""))
    reports.write("2026-01-01T00-00Z", 1_000, [listed])
    assert [ticker.tick()[:33] for _ in range(2)] == [f"a scan is under way: {n} objects so" for n in (1, 2)]
    reports.write("2026-01-02T00-00Z", 2_000, [[*listed[1:], listed[0]]])  # the same neighbours at the cut
    assert ticker.tick().startswith("a scan is under way: 1 objects")
    assert [ticker.tick() for _ in range(2)][1] == "2023, 2024, 2025 reported"


def test_reports_of_the_former_kind_are_replaced_once(works: Works) -> None:
    """A digest that was made in another way is another one: each snapshot is reported again, once."""
    works.raw(letters(1))
    event = dg.AssetMaterialization(RAW.split("/"), partition="2024", tags={"dagster/data_version": "f" * 64})
    works.instance.report_runless_asset_event(event)
    ticker = Ticker(works)
    assert [ticker.tick(), ticker.tick()] == ["2024 reported", "nothing new"]


# snapshots that vanish


@pytest.mark.slow
def test_an_object_rewritten_with_its_time_set_back_is_reported_once_and_another_ctime_never(works: Works) -> None:
    made, ticker = works, Ticker(works)
    made.raw(letters(1, 2, 3))
    assert ticker.tick() == "2024 reported"
    assert made.run("letters_journey").success
    assert ticker.tick() == "nothing new"
    before, raw = ticker.events, made.root / RAW / "2024/a.jsonl.gz"
    raw.chmod(0o640)
    ticker.tick()
    assert ticker.events == before
    status, data = raw.stat(), raw.read_bytes()
    with raw.open("r+b") as opened:
        opened.write(data[:4] + b"\x01" + data[5:])
    os.utime(raw, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert ticker.tick() == "2024 reported"
    assert ticker.tick() == "nothing new"
    ticker.cursor = None
    assert ticker.tick() == "nothing new"
    assert report_arrivals(made.instance, made.catalogue.sources["letters"], made.store) == ([], {})
    assert made.run("letters_journey").success
    ticker.cursor = None
    assert ticker.tick() == "nothing new"
    assert ticker.events == before + 1


def drop(works: Works, snapshot: str, store: Store | None = None) -> None:
    held = store or works.store
    held.delete([entry.path for entry in list(held.list(f"{RAW}/{snapshot}/"))])


def rebuild(works: Works, jobs: Sequence[tuple[str, str | None, Sequence[str]]]) -> None:
    for job, key, only in jobs:
        done = works.run(job, key, only=only)
        assert done.success, (job, done.failures)


CHAIN = (
    ("letters_journey", "2024", ()),
    ("__ASSET_JOB", "2024", (BLEND_LETTERS, TINY_LETTERS)),
    ("blend_index", None, ()),
)


@pytest.mark.slow
def test_a_vanished_snapshot_shrinks_through_the_whole_chain_and_then_its_key_goes(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.raw(letters(4, 5), snapshot="2025")
    ticker = Ticker(works)
    assert ticker.tick() == "2024, 2025 reported"
    works.whole("2024")
    drop(works, "2024")
    assert ticker.tick() == "nothing new; snapshots that wait until they stay the same: 1 (2024)"
    assert ticker.warned == [f"{RAW}/2024 has vanished: to be confirmed"]
    failed = works.run("letters_journey")  # nobody has confirmed it yet
    assert "an empty folder may mean that raw data was lost" in next(iter(failed.failures.values()))
    assert ticker.tick() == "2024 reported"
    assert ticker.warned == [f"{RAW}/2024 has vanished: what was made from it becomes empty"]
    assert ticker.known["2024"] == EMPTY
    assert ticker.keys == ["2024", "2025"]

    step = ConversionStep(works.catalogue.sources["letters"], "2024", ("dagshelf",))
    with pytest.raises(DataError, match="may mean that raw data was lost"):  # plain Python knows no sensor
        plan(step, Lake(str(works.root), {}), "by-hand")

    rebuild(works, CHAIN[:1])
    assert ticker.tick() == "nothing new"
    assert ticker.keys == ["2024", "2025"]  # the mix is not empty yet
    rebuild(works, CHAIN[1:])
    for address in (*JOURNEY, BLEND_LETTERS, TINY_LETTERS):
        ledger = works.ledger(address)
        assert ledger, address
        assert (ledger.totals["shards"], ledger.totals["rows"]) == (0, 0)
        folders = [f"{address}/2024/", f"{place(address, '2024').ledger_stem}.ids/"]
        assert [entry.path for folder in folders for entry in works.store.list(folder)] == []
    for index in (BLEND_INDEX, TINY_INDEX):
        told = works.store.read(f"{index}/index.json")
        assert b'"letters/2024"' not in told  # neither absent nor left out: it is gone
        assert b'"snapshot":"2024"' not in told
    assert main(["gc", str(works.root)]) == 0
    assert list(works.store.list(f"{TINY_LETTERS}/train/2024/")) == []
    assert main(["verify", str(works.root), "--all"]) == 0

    assert ticker.tick() == "2024 vanished, and nothing made from it is left: its key was removed"
    assert ticker.keys == ["2025"]
    assert ticker.tick() == "nothing new"
    assert works.run("sync", None).success
    assert ticker.keys == ["2025"]


@pytest.mark.slow
def test_sync_of_a_fresh_database_does_not_bring_the_key_back(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.raw(letters(4, 5), snapshot="2025")
    ticker = Ticker(works)
    ticker.tick()
    works.whole("2024")
    drop(works, "2024")
    ticker.tick()
    ticker.tick()
    rebuild(works, CHAIN[:1])
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(works.root, fresh)
        assert other.run("sync", None).success
        assert sorted(fresh.get_dynamic_partitions(KEYS)) == ["2024", "2025"]  # the mix still holds its rows
        assert other.version(LETTERS_V0) == works.version(LETTERS_V0)
    rebuild(works, CHAIN[1:])
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(works.root, fresh)
        assert other.run("sync", None).success
        assert fresh.get_dynamic_partitions(KEYS) == ["2025"]


@pytest.mark.slow
def test_a_vanished_snapshot_that_comes_back_is_a_new_one(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.raw(letters(4, 5), snapshot="2025")
    ticker = Ticker(works)
    ticker.tick()
    works.run("letters_journey")
    before = works.fingerprint(LETTERS_V0)
    drop(works, "2024")
    ticker.tick()
    ticker.tick()
    rebuild(works, CHAIN[:1])
    assert ticker.tick().endswith("its key was removed")
    works.raw(letters(1, 2, 3))
    assert ticker.tick() == "2024 reported"
    assert ticker.keys == ["2024", "2025"]
    rebuild(works, CHAIN[:1])
    assert works.fingerprint(LETTERS_V0) == before


def test_a_key_stays_as_long_as_a_run_is_at_work_below_it(works: Works) -> None:
    works.raw(letters(1))
    works.raw(letters(2), snapshot="2025")
    ticker = Ticker(works)
    ticker.tick()
    drop(works, "2024")
    ticker.tick()
    works.store.put(place(BLEND_LETTERS, "2024").claim_path, b'{"token":"another"}')
    assert ticker.tick() == "2024 reported"
    assert ticker.keys == ["2024", "2025"]
    works.store.delete([place(BLEND_LETTERS, "2024").claim_path])
    assert ticker.tick().endswith("its key was removed")


@pytest.mark.slow
def test_a_whole_source_without_objects_is_said_loudly_and_waits_for_an_hour(works: Works) -> None:
    works.raw(letters(1))
    ticker = Ticker(works)
    ticker.tick()
    drop(works, "2024")
    for _ in range(120):
        assert ticker.tick() == "nothing new; snapshots that wait until they stay the same: 1 (2024)"
        assert ticker.warned[-1] == f"{RAW} has no objects left: is a disk not mounted, or a prefix mistyped?"
    assert ticker.tick() == "2024 reported"


@pytest.mark.filterwarnings("ignore:Parameter `include_sources`:dagster.BetaWarning")  # Dagster's own
@pytest.mark.slow
def test_automation_shrinks_the_vanished_snapshot_and_touches_no_other(works: Works) -> None:
    daemon = Daemon(works)

    def asked() -> dict[str, list[str]]:
        ticked = daemon.tick()
        found = {address: sorted(key or "" for name, key in ticked if name == address) for address in JOURNEY}
        return {address: keys for address, keys in found.items() if keys}

    works.raw(letters(1, 2, 3))
    works.raw(letters(4, 5), snapshot="2025")
    ticker = Ticker(works)
    ticker.tick()
    for snapshot in ("2024", "2025"):
        rebuild(works, [("letters_journey", snapshot, ())])
    while asked():
        pass
    drop(works, "2024")
    ticker.tick()
    assert asked() == {}
    ticker.tick()
    assert asked() == {address: ["2024"] for address in JOURNEY}
    rebuild(works, CHAIN[:1])
    assert ticker.tick().endswith("its key was removed")
    assert asked() == {}
    assert asked() == {}
