"""The short form of `make faults`: a handful of each kind, at seeded moments. docs/internals/faults.md has the rest."""

import os
import random
import signal
from pathlib import Path

import kills
import pytest
from faulty import came, meeting, shards
from mishaps import meetings, runs, servers, stages
from mishaps.lakes import Lakes, check_lake
from mishaps.process import Process, one_step, wait_until_gone
from one_step import step_of
from seaweed import Seaweed
from testkit import Mill

pytestmark = pytest.mark.slow

SEED = 20_240_917 + kills.NUMBER
"""A case is drawn from it, the test's name and the case's number; CI has other cases at each commit.

Moments are moments of this machine: where a process was faster than its killer, nothing struck. That is no fault of the
lake.
"""


def cases(fast: int, all_: int, sampled: int = 0) -> pytest.MarkDecorator:
    """The cases of a test: a few for each commit, which draws others, and all for `make proofs`.

    Args:
        fast: how many `make test` runs.
        all_: how many `make proofs` runs.
        sampled: how many of those that are not fast `make sample` runs, so that each commit has them in CI.
    """
    slow = [pytest.param(n, marks=pytest.mark.slow) for n in range(fast, fast + sampled)]
    more = [pytest.param(n, marks=[pytest.mark.slow, pytest.mark.exhaustive]) for n in range(fast + sampled, all_)]
    return pytest.mark.parametrize("number", [*range(fast), *slow, *more])


def dice(request: pytest.FixtureRequest, number: int) -> random.Random:
    return random.Random(f"{SEED}/{request.node.originalname}/{number}")


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> Lakes:
    return Lakes(tmp_path_factory.mktemp("faults") / "lakes", shards=6)


@pytest.fixture(scope="module")
def bucket(seaweed: Seaweed) -> servers.Bucket:
    return servers.Bucket(seaweed)


@cases(1, 5)
def test_a_stage_killed_again_and_again_ends_as_if_undisturbed(
    lakes: Lakes, request: pytest.FixtureRequest, number: int
) -> None:
    killed = stages.kill_stage(lakes, dice(request, number), number + kills.NUMBER)
    assert 0 <= killed <= 4


@cases(1, 8, sampled=2)
def test_a_stage_killed_right_before_one_of_its_changes_ends_as_if_undisturbed(
    lakes: Lakes, request: pytest.FixtureRequest, number: int
) -> None:
    assert stages.kill_before_a_change(lakes, dice(request, number), number + kills.NUMBER) == 1


def test_the_next_run_may_come_while_workers_of_a_killed_one_are_there(
    lakes: Lakes, request: pytest.FixtureRequest
) -> None:
    assert stages.kill_run_alone(lakes, dice(request, 0), kills.NUMBER) <= 1


@cases(0, 2, sampled=1)  # fast: tests/gristmill/engines/test_local.py kills the workers of a run
def test_a_run_whose_workers_are_killed_goes_on_or_is_taken_up(
    lakes: Lakes, request: pytest.FixtureRequest, number: int
) -> None:
    assert stages.kill_worker(lakes, dice(request, number), number + kills.NUMBER) <= 3


def test_what_a_killed_run_ground_is_not_ground_again(lakes: Lakes) -> None:
    mill = lakes.copy("convert", 1)
    middle = [n for n, phase in enumerate(lakes.changes("convert", 1), start=1) if phase == "grind"][-10]
    assert one_step(mill.lake.url, "convert", 0, middle).wait() == -signal.SIGKILL
    place = mill.documents()
    receipts = {
        e.path.removeprefix(place.receipts_folder).removesuffix(".json") for e in mill.store.list(place.receipts_folder)
    }
    done = {name for name in receipts if not name.startswith(".")}
    assert 0 < len(done) < 6
    mill.make(step_of(mill, "convert"))
    assert set(mill.ground) == {shard for shard in mill.table(place) if shard not in done}
    check_lake(mill, lakes.after["convert", 1], "convert")


def test_runs_that_meet_end_as_one(lakes: Lakes, request: pytest.FixtureRequest) -> None:
    assert meetings.meet(lakes, dice(request, 1), 1) >= 1


@cases(1, 2)
def test_raw_objects_may_be_replaced_while_they_are_read(
    lakes: Lakes, request: pytest.FixtureRequest, number: int
) -> None:
    assert meetings.replace_raw(lakes, dice(request, number), number) <= 3


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk is mounted, which takes root")
@cases(1, 2)
def test_a_full_disk_is_said_and_once_there_is_room_nothing_is_lost(
    lakes: Lakes, request: pytest.FixtureRequest, number: int
) -> None:
    assert meetings.fill_disk(lakes, dice(request, number), number) <= 1


def test_files_that_may_not_grow_are_said_too(lakes: Lakes, request: pytest.FixtureRequest) -> None:
    assert meetings.limit_files(lakes, dice(request, 0), 0) == 1


@pytest.mark.slow  # fast: the same kills over a folder; tests/s3/test_faults.py has the faults of a bucket
def test_a_stage_over_a_bucket_is_killed(bucket: servers.Bucket, lakes: Lakes, request: pytest.FixtureRequest) -> None:
    assert servers.kill_stage(bucket, lakes, dice(request, 0), 0) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("number", [pytest.param(0, marks=pytest.mark.exhaustive), 4])  # 500; answers that are lost
def test_a_server_may_answer_badly_as_long_as_it_answers_well_at_last(
    bucket: servers.Bucket, lakes: Lakes, request: pytest.FixtureRequest, number: int
) -> None:
    assert servers.spoil(bucket, lakes, dice(request, number), number) >= 1


@pytest.mark.slow
def test_a_server_that_dies_and_comes_back_costs_time_and_nothing_else(
    bucket: servers.Bucket, lakes: Lakes, request: pytest.FixtureRequest
) -> None:
    assert servers.kill_server(bucket, lakes, dice(request, 0), 0) <= 3


def test_workers_end_in_the_middle_of_an_item_when_their_run_is_killed(mill: Mill, tmp_path: Path) -> None:
    here = tmp_path / "meeting"
    shards(mill, **dict.fromkeys("abcdef", meeting(here)))
    script = (
        "import sys; from pathlib import Path; from testkit import Mill\n"
        "from gristmill.engines.local import LocalPool\n"
        "Mill(Path(sys.argv[1])).tag('faulty-1', engine=LocalPool(2, small=0))"
    )
    process = Process(["-c", script, str(mill.root)])
    workers = came(here, 2)
    assert set(workers) <= set(process.children)
    os.kill(process.pid, signal.SIGKILL)
    wait_until_gone(workers)
    process.wait()
    mill.store.sweep()
    assert list(mill.store.list(mill.attributes("faulty-1").folder)) == []


@pytest.mark.slow
def test_a_dagster_run_that_is_killed_is_taken_up(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    drives = runs.Drives(tmp_path)
    assert runs.kill_drive(drives, dice(request, 0), kills.NUMBER) <= 4
