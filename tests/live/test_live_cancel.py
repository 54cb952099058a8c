"""Runs and backfills are cancelled in the middle, as from the UI: nothing is lost, and nothing half-made is seen."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import Result
from live import Live
from steering import FORCED, SAFE, cancel_backfill, of_backfill, pause, processes, terminate, workers
from testkit import Mill, packed

from assets.support.facts.score_facts import score_facts
from gristmill.errors import StoreError
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.rows.shard_file import read_blocks
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.recipes.tagger import Tagger
from gristmill.reports.sizes import number_and_noun
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.tagging.step import TaggingStep

pytestmark = pytest.mark.live

SHELVES = ("gristmill", "slowshelf")
TAPES, HEARD = "sources/tapes/v0/documents", "sources/tapes/v0/attributes/heard-1"
NAMES = "abcdefghijkl"
TWELVE = len(NAMES)
ALL = 1000
"""Permits for more shards than there are."""


@dataclass
class Slow:
    """A deployment with a gate before each shard, its lake, and another lake that nobody disturbs."""

    live: Live
    mill: Mill
    calm: Mill
    instance: dg.DagsterInstance
    gate: Path

    def permit(self, shards: int) -> None:
        """From now on so many shards may pass the gate, and then no other."""
        passed = len(list(self.gate.iterdir())) - 1
        fresh = self.gate.with_name("permits")
        fresh.write_text(str(passed + shards))
        fresh.replace(self.gate / "permits")  # who reads it finds the old number or the new one

    def raw(self, snapshot: str, edition: int = 1, names: str = NAMES) -> None:
        """Raw shards of four documents; all together they are worth worker processes."""
        for name in names:
            noise = random.Random(f"{snapshot} {name} {edition}")
            rows = [{"id": f"{name}{n}", "text": noise.randbytes(50_000).hex(), "source": "tapes"} for n in range(4)]
            for mill in (self.mill, self.calm):
                mill.raw(f"{name}.jsonl.gz", packed(rows), "tapes", snapshot)
        self.instance.add_dynamic_partitions("snapshots/tapes", [snapshot])

    def undisturbed(self, snapshot: str) -> dict[str, bytes]:
        """The sources of a lake in which each step was made once, in plain Python, and its scores described."""
        tagger = find_recipe("taggers", Tagger, SHELVES, "heard-1")
        source = find_recipe("sources", Source, SHELVES, "tapes")
        for step in (
            ConversionStep(source, snapshot, SHELVES),
            TaggingStep("tapes", "v0", snapshot, (tagger,), SHELVES),
        ):
            make(step, self.calm.lake, Inline(), f"{snapshot}-{step.stage}", lambda _: None)
        heard = place(HEARD, snapshot)
        score_facts(self.calm.store, heard, read_ledger(self.calm.store, heard)[1], tagger.labels)
        return sources(self.calm, snapshot)

    def receipts(self, address: str, snapshot: str) -> int:
        """The shards that are ground and stand in no ledger yet."""
        lead = place(address, snapshot).receipts_folder
        names = [entry.path.removeprefix(lead) for entry in self.mill.store.list(lead)]
        return len([name for name in names if not name.startswith(".")])

    def ground(self, address: str, snapshot: str, shards: int) -> None:
        """Waits until so many shards are; the others stand before the gate."""
        self.live.wait(lambda: self.receipts(address, snapshot) >= shards, f"{shards} shards", every=0.05)

    def gone(self, run: str) -> Result:
        """A cancelled run, when nothing of it is left: no worker, and not its own process."""
        assert self.live.finish(run) == "CANCELED"
        self.live.wait(lambda: not workers(self.live), "the end of the workers", every=0.05)
        self.live.wait(lambda: not processes(self.live, lambda line: run in line), "the run's end", every=0.05)
        return Result(run, self.instance)


def sources(mill: Mill, snapshot: str) -> dict[str, bytes]:
    """All objects of a snapshot but its runs' notes."""
    return {path: data for path, data in mill.tree().items() if path.startswith("sources/") and snapshot in path}


def ledger(mill: Mill, address: str, snapshot: str) -> bytes | None:
    found = mill.store.read_tagged(place(address, snapshot).ledger)
    return found[0] if found else None


def readable(mill: Mill, address: str, snapshot: str) -> list[str]:
    """The shards of a finished partition whose bytes are those that its ledger names."""
    found = []
    for shard in read_ledger(mill.store, place(address, snapshot))[1]:
        try:
            list(read_blocks(mill.store, place(address, snapshot).shard(shard.name), shard.sha256))
        except StoreError:
            continue
        found.append(shard.name)
    return found


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slow]:
    folder = tmp_path_factory.mktemp("cancel")
    (folder / "lake").mkdir()
    (folder / "calm").mkdir()
    gate = folder / "gate"
    gate.mkdir()
    (gate / "permits").write_text("0")
    environment = {"GATE": str(gate), "GRISTMILL_WORKERS": "2"}
    live = Live(folder, str(folder / "lake"), shelves=("slowshelf",), environment=environment)
    try:
        pause(live)
        with dg.DagsterInstance.from_config(str(live.home)) as instance:
            yield Slow(live, Mill(folder / "lake"), Mill(folder / "calm"), instance, gate)
    finally:
        live.close()


@pytest.fixture(scope="module")
def cancelled(slow: Slow) -> str:
    """A backfill over three snapshots that was cancelled in the middle of the first."""
    for snapshot in ("2021", "2022", "2023"):
        slow.raw(snapshot)
    slow.permit(2)
    backfill = slow.live.backfill([TAPES], ["2021", "2022", "2023"])
    slow.ground(TAPES, "2021", 2)
    cancel_backfill(slow.live, backfill)  # the daemon looks at a backfill every 30 seconds
    assert slow.live.backfilled(backfill) == "CANCELED"
    return backfill


def test_a_cancelled_backfill_ends_its_run_and_begins_no_other(slow: Slow, cancelled: str) -> None:
    runs = of_backfill(slow.live, cancelled)
    assert [(run["tags"]["dagster/partition"], run["status"]) for run in runs] == [
        ("2021", "CANCELED"), ("2022", "CANCELED"), ("2023", "CANCELED")
    ]  # fmt: skip


def test_a_run_that_is_cancelled_again_and_again_grinds_each_shard_once_to_the_same_bytes(slow: Slow) -> None:
    slow.raw("2024")
    kept = {TAPES: 0, HEARD: 0}
    moments = [(TAPES, 1, 1, SAFE), (TAPES, 5, 4, FORCED), (HEARD, 2, 7 + 2, SAFE), (HEARD, 7, 5, FORCED)]
    for address, shards, permits, policy in moments:
        slow.permit(permits)
        run = slow.live.materialize([TAPES, HEARD], "2024")
        slow.ground(address, "2024", shards)
        assert len(workers(slow.live)) == 2
        terminate(slow.live, run, policy)
        said = slow.gone(run).said
        assert (
            f"{address}: {number_and_noun(TWELVE - kept[address], 'shard')} to grind, {kept[address]} kept, 0 gone"
            in said
        )
        kept[address] = slow.receipts(address, "2024")
        assert kept[address] == shards
        assert ledger(slow.mill, address, "2024") is None
    slow.permit(ALL)
    last = slow.live.materialize([TAPES, HEARD], "2024")
    slow.live.succeed(last)
    done = Result(last, slow.instance)
    assert done.said[0] == f"{TAPES}: 0 shards to grind, {TWELVE} kept, 0 gone"
    assert done.metadata(HEARD)["shards kept"] == kept[HEARD]
    assert done.metadata(HEARD)["shards ground"] == TWELVE - kept[HEARD]
    assert sources(slow.mill, "2024") == slow.undisturbed("2024")


def test_a_run_that_is_cancelled_in_the_queue_or_on_its_way_touches_nothing(slow: Slow) -> None:
    slow.raw("2025", names="abcd")
    slow.permit(0)
    before = slow.mill.stamps()
    first, second = (slow.live.materialize([TAPES], "2025") for _ in range(2))
    slow.live.wait(lambda: slow.live.status(first) in {"STARTING", "STARTED"}, "the first run", every=0.02)
    terminate(slow.live, second)
    terminate(slow.live, first, FORCED)
    slow.gone(second)
    slow.gone(first)
    assert {path for path in slow.mill.stamps() if path not in before} <= {place(TAPES, "2025").claim_path}
    assert ledger(slow.mill, TAPES, "2025") is None


def test_a_cancelled_rebuild_leaves_the_old_ledger_and_readers_get_old_bytes_or_a_plain_error(slow: Slow) -> None:
    slow.raw("2026")
    slow.permit(ALL)
    first = slow.live.materialize([TAPES, HEARD], "2026")
    slow.live.succeed(first)
    before = {address: ledger(slow.mill, address, "2026") for address in (TAPES, HEARD)}
    slow.raw("2026", edition=2)
    slow.permit(3)
    run = slow.live.materialize([TAPES, HEARD], "2026")
    slow.ground(TAPES, "2026", 3)
    terminate(slow.live, run)
    slow.gone(run)
    again = slow.receipts(TAPES, "2026")
    assert again == 3
    assert {address: ledger(slow.mill, address, "2026") for address in before} == before
    assert TWELVE - again - 2 <= len(readable(slow.mill, TAPES, "2026")) <= TWELVE - again  # two were under way
    assert len(readable(slow.mill, HEARD, "2026")) == TWELVE
    slow.permit(ALL)
    last = slow.live.materialize([TAPES, HEARD], "2026")
    slow.live.succeed(last)
    done = Result(last, slow.instance)
    assert done.said[0] == f"{TAPES}: {number_and_noun(TWELVE - again, 'shard')} to grind, {again} kept, 0 gone"
    assert sources(slow.mill, "2026") == slow.undisturbed("2026")


def test_what_a_cancelled_backfill_left_is_made_by_the_next_run(slow: Slow, cancelled: str) -> None:
    assert cancelled
    begun = slow.receipts(TAPES, "2021")
    assert begun == 2
    slow.permit(ALL)
    run = slow.live.materialize([TAPES], "2021")
    slow.live.succeed(run)
    grind = number_and_noun(TWELVE - begun, "shard")
    assert Result(run, slow.instance).said[0] == f"{TAPES}: {grind} to grind, {begun} kept, 0 gone"
