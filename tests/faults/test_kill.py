"""SIGKILL at seeded moments of a whole journey: what is run again ends as if nothing had happened."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import testkit
from testkit import Mill, make_documents

SEED = 20_240_917
"""The seed of each test stands in its name."""
SHARDS = 40
ENTRY = Path(testkit.__file__).with_name("journey.py")
SAID = SHARDS * 4 + 4
"""Lines that an undisturbed journey says: one a shard and one a step, in four steps."""


def start(mill: Mill) -> "subprocess.Popen[str]":
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    return subprocess.Popen(
        [sys.executable, str(ENTRY), str(mill.root), "2"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )


def wait_for(process: "subprocess.Popen[str]", count: int) -> int:
    """Reads so many of its lines, or all that it has; how many it read."""
    assert process.stdout is not None
    return sum(1 for _, _ in zip(range(count), process.stdout, strict=False))


def finish(mill: Mill) -> int:
    """Runs the journey to its end; how many lines it said."""
    with start(mill) as process:
        said = wait_for(process, 10 * SAID)
        assert process.wait() == 0
    return said


def children(pid: int) -> list[int]:
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        try:
            if (folder / "stat").read_text().rpartition(")")[2].split()[1] == str(pid):
                found.append(int(folder.name))
        except (OSError, IndexError):
            continue
    return found


def gone(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] in {"Z", "X"}
    except OSError:
        return True


def wait_until_gone(pids: list[int]) -> None:
    end = time.monotonic() + 5
    while not all(gone(pid) for pid in pids):
        assert time.monotonic() < end, "a worker outlived its run"
        time.sleep(0.005)


def prepare(root: Path) -> Mill:
    root.mkdir()
    mill = Mill(root)
    for number in range(SHARDS):
        rows = make_documents(40, start=number * 40)
        for row in rows:
            row["text"] = row["text"] + " " + "and so on " * 40
        rows[7]["text"] = "\x00"
        mill.raw(f"{number % 4}/{number:02d}.jsonl.gz", rows)
    return mill


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    mill = prepare(tmp_path_factory.mktemp("undisturbed") / "lake")
    assert finish(mill) == SAID
    return mill.tree()


def check(mill: Mill, undisturbed: dict[str, bytes]) -> None:
    assert mill.tree() == undisturbed
    hidden = (".receipts/", "/.incoming/", "/.claim")
    left = [path for path in mill.root.rglob("*") if path.is_file() and any(h in path.as_posix() for h in hidden)]
    assert left == []


@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_a_run_killed_again_and_again_ends_as_if_undisturbed(
    tmp_path: Path, undisturbed: dict[str, bytes], seed: int
) -> None:
    dice = random.Random(seed)
    mill = prepare(tmp_path / "lake")
    done = 0
    for number in range(4):
        with start(mill) as process:
            done += wait_for(process, dice.randrange(SAID // 4) if number else dice.randrange(1, SAID))
            time.sleep(dice.random() * 0.02)
            workers = children(process.pid)
            process.send_signal(signal.SIGKILL)
            process.wait()
            wait_until_gone(workers)
    rest = finish(mill)
    assert rest <= SAID - done + 4 * 10, "a re-run ground what was done already"
    check(mill, undisturbed)


@pytest.mark.parametrize("seed", range(SEED + 100, SEED + 103))
def test_a_run_whose_workers_are_killed_goes_on_or_is_taken_up(
    tmp_path: Path, undisturbed: dict[str, bytes], seed: int
) -> None:
    dice = random.Random(seed)
    mill = prepare(tmp_path / "lake")
    with start(mill) as process:
        for _ in range(3):
            wait_for(process, dice.randrange(1, SAID // 4))
            time.sleep(dice.random() * 0.02)
            for worker in children(process.pid)[:1]:
                os.kill(worker, signal.SIGKILL)
        wait_for(process, SAID)
        if process.wait():  # two kills met one item and its second try: it failed by name, the rest is there
            assert finish(mill) < SAID
    check(mill, undisturbed)


def test_workers_end_in_the_middle_of_an_item_when_their_run_is_killed(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    root.mkdir()
    mill = Mill(root)
    for number in range(4):
        rows = make_documents(8, start=number * 8)
        for row in rows:
            row["text"] = "SLEEP"
        mill.raw(f"{number}.jsonl.gz", rows)
    mill.convert()
    script = (
        "import sys; from pathlib import Path; from testkit import Mill; from resources.pool import LocalPool\n"
        "Mill(Path(sys.argv[1])).tag('faulty-1', engine=LocalPool(2, small=0))"
    )
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    with subprocess.Popen(
        [sys.executable, "-c", script, str(root)], env={**os.environ, "PYTHONPATH": paths}
    ) as process:
        end = time.monotonic() + 20
        while len(workers := children(process.pid)) < 2:
            assert time.monotonic() < end
            time.sleep(0.01)
        time.sleep(1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        started = time.monotonic()
        wait_until_gone(workers)
        assert time.monotonic() - started < 2
    mill.store.sweep()
    assert list(mill.store.list(mill.attributes("faulty-1").folder)) == []
