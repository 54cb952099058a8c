"""Runs of a bucket against Python's own sorting, whatever the memory."""

import io
from collections import Counter

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from peak_memory import run_with_peak

from gristmill.stages.dedupe.columns import Spill
from gristmill.stages.dedupe.fingerprint_blocks import PlacedHashes
from gristmill.stages.dedupe.merging import ENTRY_BYTES, RunWriter, merge_windows

Hash = tuple[int, int]
hashes = st.tuples(st.integers(0, 2), st.integers(0, 3))


def run_of(found: list[Hash], most: int, pieces: int = 1) -> tuple[list[bytes], int]:
    """The files of a run, made in parts of so many hashes, and the bytes that were spilled."""
    hi, lo = np.array(found, np.uint64).reshape(-1, 2).T
    positions = np.arange(len(found), dtype=np.uint64) * np.uint64(7)
    cut: list[PlacedHashes] = [
        PlacedHashes(hi[start : start + pieces], lo[start : start + pieces], positions[start : start + pieces])
        for start in range(0, len(found), pieces)
    ]
    with Spill(most * ENTRY_BYTES) as spill:
        run = RunWriter(spill)
        run.write_bucket(iter(cut))
        files = []
        for columns in (run.hashes, run.positions, run.repeats, run.counts):
            files.append(io.BytesIO())
            columns.copy_to(files[-1])
        return [file.getvalue() for file in files], spill.bytes


def slow_run(found: list[Hash]) -> list[bytes]:
    distinct = sorted(set(found))
    first = {each: found.index(each) * 7 for each in distinct}
    again = sorted((distinct.index(each), at * 7) for at, each in enumerate(found) if at * 7 != first[each])
    counts = sorted(Counter(index for index, _ in again).items())
    return [
        b"".join(np.array([each[half] for each in distinct], "<u8").tobytes() for half in (0, 1)),
        np.array([first[each] for each in distinct], "<u8").tobytes(),
        np.array([index for index, _ in again], "<u4").tobytes() + np.array([at for _, at in again], "<u8").tobytes(),
        np.array([index for index, _ in counts], "<u4").tobytes() + np.array([n for _, n in counts], "<u8").tobytes(),
    ]


@given(found=st.lists(hashes, max_size=40), most=st.integers(1, 50), pieces=st.integers(1, 4))
@settings(max_examples=draws(25))
def test_a_run_is_the_same_in_any_memory(found: list[Hash], most: int, pieces: int) -> None:
    files, spilled = run_of(found, most, pieces)
    assert files == slow_run(found)
    assert bool(spilled) or len(found) <= max(most, pieces)


def test_a_hash_that_is_repeated_more_often_than_fits_in_memory() -> None:
    found = [(5, 5), *[(1, 1)] * 500, (0, 9), *[(1, 1)] * 500]
    files, spilled = run_of(found, 20, 10)
    assert files == slow_run(found)
    assert spilled > 0


_HEAVY = """
import io, sys, time
import numpy as np
from gristmill.stages.dedupe.columns import Spill
from gristmill.stages.dedupe.fingerprint_blocks import PlacedHashes
from gristmill.stages.dedupe.merging import RunWriter

class Nowhere:
    def write(self, data):
        pass

def pieces(count, heavy):
    for start in range(0, count, 50_000):
        at = np.arange(start, start + 50_000, dtype=np.uint64)
        hi = np.ones(50_000, np.uint64) if heavy else at * np.uint64(0x9E3779B97F4A7C15)
        yield PlacedHashes(hi, hi, at)

base = peak()
times = []
for count, heavy in ((1_000_000, True), (10_000_000, True), (10_000_000, False)):
    begun = time.process_time()
    with Spill(64 << 20) as spill:
        run = RunWriter(spill)
        run.write_bucket(pieces(count, heavy))
        for columns in (run.hashes, run.positions, run.repeats, run.counts):
            columns.copy_to(Nowhere())
        assert (run.hashes.rows, run.repeats.rows) == ((1, count - 1) if heavy else (count, 0))
    times.append(time.process_time() - begun)
print(peak() - base, *times)
"""


@pytest.mark.slow
def test_ten_million_repeats_cost_no_more_memory_and_time_than_as_many_hashes() -> None:
    """64 MiB are allowed. Ten times the repeats cost about ten times the CPU, and no more than different hashes do."""
    peak, million, heavy, different = map(float, run_with_peak(_HEAVY).split())
    assert peak < 96
    assert heavy < 25 * million
    assert heavy < 3 * different


class Listed:
    def __init__(self, found: list[Hash]) -> None:
        self.hi, self.lo = np.array(found, np.uint64).reshape(-1, 2).T
        self.rows = len(found)

    def read(self, start: int, stop: int) -> list[np.ndarray]:
        return [self.hi[start:stop], self.lo[start:stop]]


@given(lists=st.lists(st.sets(hashes, max_size=12), min_size=1, max_size=4), most=st.integers(1, 20))
@settings(max_examples=draws(25))
def test_windows_have_every_hash_once_and_equal_ones_together(lists: list[set[Hash]], most: int) -> None:
    seen: list[list[Hash]] = [[] for _ in lists]
    last: Hash = (-1, -1)
    for window in merge_windows([Listed(sorted(each)) for each in lists], most):
        parts = [list(zip(hi.tolist(), lo.tolist(), strict=True)) for _, hi, lo in window]
        assert [start for start, _, _ in window] == [len(each) for each in seen]
        here = [each for part in parts for each in part]
        assert min(here) > last
        assert len(here) <= most + len(lists)
        last = max(here)
        for each, part in zip(seen, parts, strict=True):
            each.extend(part)
    assert seen == [sorted(each) for each in lists]
