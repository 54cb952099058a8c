"""Runs that meet: each other on one partition, a raw shard that is replaced under them, a disk that is full."""

import os
import random
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

from mishaps.lakes import Lakes, put_raw, run_again, tree_of
from mishaps.process import Process, one_step
from mishaps.servers import Bucket
from mishaps.stages import PLANNED, case_of, wait_somewhere
from one_step import DATA_ERROR, STORE_ERROR
from testkit import Mill

ROOM = 64 << 20
"""Bytes of a small disk on which a lake has all the room it needs."""

PAGE = 4096

PATIENCE = 20
"""Seconds after which a run that is held up is woken, because another waits for the lock that it holds."""


def meet(lakes: Lakes, dice: random.Random, number: int, bucket: Bucket | None = None) -> int:
    """Two or three journeys over one lake at once: whoever loses stops, with a StoreError or for want of an input."""
    edition = 1 + number % 2
    mill = bucket.copy(lakes, "convert", edition) if bucket else lakes.copy("convert", edition)
    team: list[Process] = []
    for _ in range(dice.choice((2, 3))):
        team.append(one_step(mill.lake.url, "all", dice.choice((0, 2))))
        time.sleep(dice.choice((0.0, 0.05, 0.3)))
    for process in team:
        code = process.wait()
        words = process.words
        assert code in {0, STORE_ERROR, DATA_ERROR}, words
        assert "MalformedRow" not in words, words
    run_again(mill, "all", lakes.whole[edition])
    if bucket:
        bucket.remove(mill)
    lakes.remove(mill)
    return len(team) - 1


def sleep_over(lakes: Lakes, dice: random.Random, number: int, bucket: Bucket | None = None) -> int:
    """A run is held up in the middle until another has made its partition; then it wakes, and must do no harm."""
    step, edition = case_of(number, dice, PLANNED)
    workers = (0, 2)[number % 2]
    mill = bucket.copy(lakes, step, edition) if bucket else lakes.copy(step, edition)
    seconds = bucket.seconds(lakes, step, edition) if bucket else lakes.seconds(step, edition, workers)
    expected = lakes.after[step, edition]
    late = one_step(mill.lake.url, step, workers)
    wait_somewhere(late, seconds, dice)
    late.signal(signal.SIGSTOP)
    held = not late.over and not late.has_done
    code = one_step(mill.lake.url, step).wait_or(late.wake, PATIENCE)
    late.wake()
    assert late.wait() in {0, STORE_ERROR}, late.words
    if code == 0:
        found = tree_of(mill)
        harmed = [path for path in expected if found.get(path) != expected[path]]
        assert not harmed, f"the late run did harm: {harmed}"
    run_again(mill, step, expected)
    if bucket:
        bucket.remove(mill)
    lakes.remove(mill)
    return int(held)


def replace_raw(lakes: Lakes, dice: random.Random, number: int) -> int:
    """While raw objects are read, one is replaced, one comes and one goes, again and again."""
    workers = (0, 2)[number % 2]
    mill = lakes.copy("convert", 2)
    turns = dice.choice((1, 3))
    process = one_step(mill.lake.url, "convert", workers)
    process.wait_for(lambda line: line == "plan")
    seconds = lakes.seconds("convert", 1, workers)
    replaced = 0
    for turn in range(turns):
        time.sleep(dice.uniform(0, sum(seconds.values()) / turns))
        replaced += not process.over
        put_raw(mill, lakes.shards, 1 + turn % 2)
    code = process.wait()
    assert code in {0, STORE_ERROR}, process.words
    put_raw(mill, lakes.shards, 2)
    run_again(mill, "convert", lakes.after["convert", 2])
    lakes.remove(mill)
    return replaced


def fill_disk(lakes: Lakes, dice: random.Random, number: int) -> int:
    """The disk is full in the middle of a step; then there is room again. Takes root, to make a small disk."""
    step, edition = case_of(number, dice, (*PLANNED, "train", "index"))
    expected = lakes.after[step, edition]
    before = lakes.copy(step, edition)
    disk = lakes.folder / "disk"
    disk.mkdir(exist_ok=True)
    _mount(disk, ROOM)
    try:
        mill = Mill(Path(shutil.copytree(before.root, disk / "lake")))
        needed = sum(-(-len(data) // PAGE) * PAGE for data in expected.values()) - _used(disk)
        _mount(disk, _used(disk) + int(dice.random() * max(needed, 8 * PAGE)), "remount,")
        process = one_step(mill.lake.url, step, dice.choice((0, 2)) if step in PLANNED else 0)
        code = process.wait()
        words = process.words
        assert code in {0, STORE_ERROR}, words
        assert code == 0 or "free some space and run again" in words, words
        _mount(disk, ROOM, "remount,")
        run_again(mill, step, expected)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
    lakes.remove(before)
    return int(code != 0)


def _mount(disk: Path, size: int, how: str = "") -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{how}size={size}", "tmpfs", str(disk)], check=True)


def _used(disk: Path) -> int:
    """Bytes that are taken of a disk."""
    found = os.statvfs(disk)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def limit_files(lakes: Lakes, dice: random.Random, number: int) -> int:
    """Files may not grow beyond a size, as with a quota; then they may."""
    step, edition = case_of(number, dice, (*PLANNED, "train", "index"))
    mill = lakes.copy(step, edition)
    process = one_step(mill.lake.url, step)
    limit = dice.choice((100, 300, 600))  # each step writes a larger file
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, limit))
    code = process.wait()
    words = process.words
    assert code in {0, STORE_ERROR}, words
    run_again(mill, step, lakes.after[step, edition])
    lakes.remove(mill)
    return int(code != 0)
