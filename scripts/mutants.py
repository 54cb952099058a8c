"""make mutants: takes guards out of the code, one at a time, and asks whether a test notices.

The list is in tests/mutants/*.toml. Each mutant replaces one text of one file in a copy of the checkout; then the tests
that it names must fail. The copy is made once. Each mutant is tested in a fork of this process, which has imported the
large packages already.

python -m scripts.mutants [--resume] [WORD ...]      only the mutants whose file or name has one of the words
"""

import argparse
import hashlib
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from gristmill.environment import CHECKOUT
from scripts.progress import say

LIST = Path("tests", "mutants")
WARM = (
    "boto3", "dagster", "duckdb", "fastokens", "isal", "msgspec", "numcodecs", "numpy", "obstore.store",
    "orjson", "pyarrow", "tokenizers", "xxhash", "zstandard",
)  # fmt: skip
"""Packages that most tests import: they are imported once."""

LEAST = 0.95
"""Share of the mutants that the tests must kill."""

LIMIT = 90
"""Seconds for the tests of one mutant. A mutant that runs longer hangs, and counts as killed."""

KILLED, SURVIVED, BROKEN = "killed", "SURVIVED", "BROKEN"


@dataclass(frozen=True)
class Mutant:
    """A guard of the code, and the code without it.

    Attributes:
        name: what the changed code does, in a few words.
        file: the file of the code.
        old: a text that occurs once in the file.
        new: the text in its place.
        tests: files or ids of tests. At least one test must fail.
        survives: why no test can notice, or why none has to; empty if the tests must kill it.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    survives: str = ""

    def applied(self, code: str) -> str:
        """The code with the mutation.

        Raises:
            ValueError: the old text does not occur exactly once, or nothing changes.
        """
        if code.count(self.old) != 1:
            raise ValueError(f"{self.file}: {self.name}: the old text occurs {code.count(self.old)} times")
        if self.old == self.new:
            raise ValueError(f"{self.file}: {self.name}: the new text is the old one")
        return code.replace(self.old, self.new)


def read_list(root: Path) -> list[Mutant]:
    """The mutants of a checkout, in the order of their files.

    In a list, each table is a module: its file, the tests of all its mutants, and the mutants by name. A mutant may
    name further tests, which are run first.
    """
    mutants: list[Mutant] = []
    for path in sorted((root / LIST).glob("*.toml")):
        for module in tomllib.loads(path.read_text()).values():
            for name, each in module["mutants"].items():
                tests = (*each.get("tests", ()), *module["tests"])
                mutants.append(Mutant(name, module["file"], each["old"], each["new"], tests, each.get("survives", "")))
    return mutants


def copy_checkout(root: Path, target: Path) -> None:
    """Copies the files that git knows, and new files that it does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)


def outcome(tests: Sequence[str], limit: float) -> tuple[str, str]:
    """Runs tests of the current folder in a fork of this process.

    Args:
        tests: files or ids of tests.
        limit: seconds.

    Returns:
        KILLED if a test failed, SURVIVED if all passed, BROKEN if the tests could not be run; and what pytest printed.
    """
    log = Path("mutant.log").absolute()
    child = os.fork()
    if not child:
        _run(tests, log)
    deadline = time.monotonic() + limit
    ended, status = 0, 0
    while not ended and time.monotonic() < deadline:
        time.sleep(0.02)
        ended, status = os.waitpid(child, os.WNOHANG)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # also servers and workers that a failed test left behind
    if not ended:
        os.waitpid(child, 0)
        return KILLED, f"no end after {limit:.0f} s\n{log.read_text()}"
    code = os.waitstatus_to_exitcode(status)
    return {0: SURVIVED, 1: KILLED}.get(code, KILLED if code < 0 else BROKEN), log.read_text()


def _run(tests: Sequence[str], log: Path) -> None:
    """The forked process: it runs the tests, and never returns."""
    code = pytest.ExitCode.INTERNAL_ERROR
    try:
        os.setpgid(0, 0)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        options = ["-x", "-m", "not exhaustive and not live and not attack", f"--basetemp={log.parent}.tmp"]
        code = pytest.ExitCode(pytest.main([*options, *tests]))
    except BaseException:  # noqa: BLE001 - this process ends here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class Trial:
    """A copy of the checkout in which mutants are tested.

    Args:
        root: the checkout.
        folder: where the copy is made.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        copy_checkout(root, folder)
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        os.environ["PYTHONPATH"] = str(folder)

    def passes(self, mutants: Sequence[Mutant]) -> tuple[str, str]:
        """What the tests of mutants say of the code as it is. From now on Python stores no compiled files.

        Python knows a compiled file by the size and the second of its source, and a mutant may have both of them.
        """
        found = outcome(sorted({test for mutant in mutants for test in mutant.tests}), LIMIT * 20)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        sys.dont_write_bytecode = True
        return found

    def test(self, mutant: Mutant) -> tuple[str, str]:
        """What the mutant's tests say of it: see outcome()."""
        path = self.folder / mutant.file
        code = path.read_text()
        try:
            mutated = mutant.applied(code)
        except ValueError as error:
            return BROKEN, str(error)
        path.write_text(mutated)
        try:
            return outcome(mutant.tests, LIMIT)
        finally:
            path.write_text(code)


def warm_up() -> None:
    """Imports the packages that most tests import, and forgets our own modules: a fork imports those of the copy."""
    for name in WARM:
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] in {"gristmill", "scripts"}]:
        if name not in {"scripts", "scripts.mutants"}:
            del sys.modules[name]


def _key(mutant: Mutant, root: Path) -> str:
    """Digest of everything that a stored result depends on, but for helpers of the tests."""
    files = sorted({test.partition("::")[0] for test in mutant.tests})
    texts = [(root / mutant.file).read_bytes(), *((root / file).read_bytes() for file in files if file.endswith(".py"))]
    parts = [repr(mutant).encode(), *texts]
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:32]


def summary(results: Mapping[Mutant, str]) -> tuple[str, int]:
    """The last lines, and the exit code: 0 if enough were killed, and each of the others is explained."""
    survivors = [mutant for mutant, result in results.items() if result != KILLED]
    killed = len(results) - len(survivors)
    share = killed / len(results) if results else 0.0
    lines = [f"{killed} of {len(results)} killed: {share:.1%}"]
    lines += [f"  {m.file}: {m.name}: {results[m]}: {m.survives or 'NOT EXPLAINED'}" for m in survivors]
    lines += [f"  {m.file}: {m.name}: killed, but the list explains why not" for m in results if _idle(m, results)]
    bad = share < LEAST or any(not m.survives or results[m] == BROKEN for m in survivors)
    return "\n".join(lines), int(bad or any(_idle(m, results) for m in results))


def _idle(mutant: Mutant, results: Mapping[Mutant, str]) -> bool:
    return bool(mutant.survives) and results[mutant] == KILLED


def run(mutants: Sequence[Mutant], root: Path, folder: Path, known: Path | None) -> dict[Mutant, str]:
    """Tests mutants in a copy of the checkout.

    Args:
        mutants: those to test.
        root: the checkout.
        folder: an empty folder for the copy.
        known: file with the results so far, by digest; None: nothing is remembered.

    Returns:
        The result of each.

    Raises:
        SystemExit: the tests do not pass without any mutation.
    """
    stored: dict[str, str] = json.loads(known.read_text()) if known and known.exists() else {}
    results: dict[Mutant, str] = {}
    todo = [mutant for mutant in mutants if _key(mutant, root) not in stored]
    trial = Trial(root, folder)
    if todo:
        started = time.monotonic()
        unmutated, log = trial.passes(todo)
        if unmutated != SURVIVED:
            raise SystemExit(f"the tests do not pass without a mutation:\n{log}")
        say(f"all named tests pass without a mutation, in {time.monotonic() - started:.0f} s")
    for number, mutant in enumerate(mutants, start=1):
        key = _key(mutant, root)
        if key not in stored:
            started = time.monotonic()
            stored[key], log = trial.test(mutant)
            took = time.monotonic() - started
            say(f"{number:3}/{len(mutants)} {stored[key]:8} {took:5.1f} s  {mutant.file}: {mutant.name}")
            if stored[key] == BROKEN:
                say(log)
            if known:
                known.parent.mkdir(parents=True, exist_ok=True)
                known.write_text(json.dumps(stored))
        results[mutant] = stored[key]
    return results


def main(arguments: Sequence[str]) -> int:
    """0 if the tests kill enough mutants, and the list explains all others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only mutants whose file or name has one of these")
    parser.add_argument("--resume", action="store_true", help="keep the results of mutants that are unchanged")
    parser.add_argument("--folder", type=Path, help="where the copy of the checkout is made; by default in .cache")
    chosen = parser.parse_args(arguments)
    words = chosen.words
    mutants = [m for m in read_list(CHECKOUT) if not words or any(word in f"{m.file}: {m.name}" for word in words)]
    cache = CHECKOUT / ".cache" / "mutants"
    folder = chosen.folder or cache / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    known = cache / "results.json"
    if not chosen.resume:
        known.unlink(missing_ok=True)
    warm_up()
    started = time.monotonic()
    said, code = summary(run(mutants, CHECKOUT, folder, known))
    say(f"{said}\n{time.monotonic() - started:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
