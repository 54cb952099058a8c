"""What CI may take, what it says of itself, and what it tries again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import live
from scripts.budget import ALL_TESTS, FAST_TESTS, REFERENCE, Span, allowed, clock, covered, over_budget, table
from scripts.ci import Step

ROOT = Path(__file__).resolve().parents[2]
QUIET = [REFERENCE, REFERENCE, REFERENCE]


def test_the_time_of_tests_is_counted_once_where_they_run_beside_each_other() -> None:
    spans = [Span("a", 10, 20, 1), Span("b", 12, 15, 1), Span("c", 18, 30, 1), Span("d", 40, 41, 1)]
    assert covered(spans) == 21
    assert covered(spans[::-1]) == 21
    assert covered([]) == 0


@pytest.mark.parametrize(
    ("yardsticks", "factor"),
    [
        (QUIET, 1.0),
        ([REFERENCE / 3] * 3, 1.0),
        ([2 * REFERENCE, 3 * REFERENCE, REFERENCE], 2.0),
        ([REFERENCE, 9 * REFERENCE, REFERENCE], 1.0),
    ],
)
def test_the_budget_grows_on_a_slow_machine_and_one_disturbed_yardstick_does_not_count(
    yardsticks: list[float], factor: float
) -> None:
    assert allowed(ALL_TESTS, yardsticks) == pytest.approx(factor * 30 * 60)


def test_installs_do_not_count() -> None:
    installs = Span("install", 0, 2 * ALL_TESTS, 1, install=True)
    tests = Span("make test", ALL_TESTS, 2 * ALL_TESTS, 1)
    assert not over_budget([installs, tests], QUIET)
    longer = Span("make test", ALL_TESTS, 2 * ALL_TESTS + 1, 1)
    assert over_budget([installs, longer], QUIET)
    assert not over_budget([installs, longer], [2 * each for each in QUIET])


def test_the_table_shows_installs_tests_and_total_apart() -> None:
    again = "2 live tests were tried again"
    spans = [
        Span("install packages", 0, 60, 30, install=True),
        Span("install peer", 0, 100, 30, install=True),
        Span("make test", 60, 60 + FAST_TESTS + 1, 300),
        Span("make live", 60, 400, 30, ok=False, note=again),
    ]
    said = table(spans, [1.0, 2.0, 1.0], "make test").splitlines()
    assert said[4].split() == ["make", "live", "1:00", "5:40", "0:30", "FAILED", *again.split()]
    assert said[6].startswith("yardstick  1.00, 2.00, 1.00 s")
    assert said[7:] == [
        "make test  4:01 OVER THE BUDGET OF 4:00",
        "tests      5:40 of 30:00",
        "installs   1:40, of which no test ran beside them for 1:00",
        "total      6:40",
    ]
    assert clock(59.6) == "1:00"


def test_a_step_is_timed_to_its_own_end_and_its_last_words_are_kept(tmp_path: Path) -> None:
    script = "import sys; print('first'); print('last', file=sys.stderr); sys.exit(3)"
    bad = Step("bad", [sys.executable, "-u", "-c", script], log=tmp_path / "log")
    later = Step("later", [sys.executable, "-c", "import time; time.sleep(1)"], log=tmp_path / "later")
    end = later.wait()
    span = bad.wait()
    assert (span.ok, span.note, end.ok, end.note) == (False, "last", True, "")
    assert end.end - end.begin >= 1
    assert span.cpu > 0


FLAKY = """
import pathlib, pytest
pytestmark = pytest.mark.live
def test_good():
    with open({folder!r} + "/good", "a") as file:
        file.write("x")
def test_late():
    file = pathlib.Path({folder!r}, "late")
    there = file.exists()
    file.touch()
    assert there
"""


def retried(folder: Path, text: str) -> tuple[int, list[str]]:
    """Exit code and output of `make live` over one file of tests."""
    (folder / "test_some.py").write_text(text)
    paths = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "scripts.live", "test_some.py"]
    done = subprocess.run(command, cwd=folder, env=paths, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.slow
def test_only_the_live_tests_that_failed_are_tried_again_and_they_are_counted(tmp_path: Path) -> None:
    code, said = retried(tmp_path, FLAKY.format(folder=str(tmp_path)))
    assert (code, said[-1]) == (0, "1 live tests were tried again")
    assert "1 live tests failed and are tried again: test_some.py::test_late" in said
    assert (tmp_path / "good").read_text() == "x"
    code, said = retried(tmp_path, FLAKY.format(folder=str(tmp_path)))
    assert (code, said[-1]) == (0, "0 live tests were tried again")


@pytest.mark.slow
def test_a_live_test_that_fails_twice_fails(tmp_path: Path) -> None:
    wrong = "import pytest\n@pytest.mark.live\ndef test_wrong():\n    assert not 'wrong'\n"
    code, said = retried(tmp_path, wrong)
    assert (code, said[-1]) == (1, "1 live tests were tried again, and some of them failed again")


def test_a_story_is_told_again_from_its_beginning() -> None:
    (story,) = live.STORIES
    assert (ROOT / story).is_file()
    other = "tests/live/test_live_cancel.py::test_d[1]"
    assert live.again([f"{story}::test_c", other, f"{story}::test_a"]) == [story, other]
