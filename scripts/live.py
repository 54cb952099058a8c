"""make live: the live tests. Those that fail are tried again, once, and are counted: a busy machine may be late."""

import sys
from collections.abc import Sequence

import pytest

STORIES = ("tests/live/test_live_automation.py",)
"""Files whose tests continue where the one before ended: such a file is tried again as a whole."""


class Failures:
    """A plugin of pytest that notes the tests that failed, in their setup or teardown too."""

    def __init__(self) -> None:
        self.tests: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest for each phase of each test."""
        if report.failed:
            self.tests.add(report.nodeid)


def again(failed: Sequence[str]) -> list[str]:
    """What is tried again for these tests."""
    files = [test.partition("::")[0] for test in failed]
    return sorted({file if file in STORIES else test for file, test in zip(files, failed, strict=True)})


def main(arguments: Sequence[str]) -> int:
    """The exit code of pytest, after the second attempt if there was one."""
    failures = Failures()
    code = pytest.main(["-m", "live", *arguments], plugins=[failures])
    failed = sorted(failures.tests)
    if failed:
        print(f"{len(failed)} live tests failed and are tried again: {', '.join(failed)}", flush=True)
        options = [each for each in arguments if each.startswith("-")]
        code = pytest.main(["-m", "live", *options, *again(failed)])
    ending = ", and some of them failed again" if failed and code else ""
    print(f"{len(failed)} live tests were tried again{ending}", flush=True)
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
