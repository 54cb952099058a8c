"""Grinding far away: one function for a cluster's worker, which takes bytes and gives bytes.

Nothing of ours is pickled but the function's name. A worker that has other code or other packages than the process
that planned would make other bytes under the same ledger: it refuses, and says what differs.
"""

import hashlib
import importlib.util
import os
import platform
import threading
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from gristmill.errors import RecipeError
from gristmill.execution.runner import grind_one, open_grinder
from gristmill.execution.work import Done, Grinder, Item, Job, Outcome

ONE_CORE = {
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
}
"""A worker is one core's work: its libraries start no threads of their own."""

HOME = "gristmill"

PACKAGES = (
    "duckdb",
    "fastokens",
    "fasttext-community",
    "isal",
    "msgspec",
    "numcodecs",
    "numpy",
    "orjson",
    "pyarrow",
    "tokenizers",
    "xxhash",
    "zstandard",
)
"""Packages of others whose version may show in the bytes."""

Kit = dict[str, str]
"""What the bytes depend on besides their inputs: versions and digests of code, by name; empty: not there."""


class Errand(msgspec.Struct, frozen=True):
    """A job, and the kit of the process that planned it."""

    job: Job
    kit: Kit


def errand(job: Job) -> bytes:
    """A job as `grind_bytes` takes it.

    Raises:
        RecipeError: a package of shelves is not there.
    """
    kit = kit_of(job.shelves)
    for package in job.shelves:
        if not kit[package]:
            raise RecipeError(f"{package}: no such package; GRISTMILL_SHELVES names packages that can be imported")
    return msgspec.json.encode(Errand(job, kit))


def grind_bytes(job: bytes, items: bytes) -> bytes:
    """Grinds items in whatever process this is; whatever goes wrong with one is part of its result.

    One at a time a process, however many threads it has: a grinder is one core's work.

    Args:
        job: of `errand`.
        items: a list of Items as JSON.

    Returns:
        A list of as many Dones as JSON.
    """
    work = msgspec.json.decode(items, type=list[Item])
    with _bench.lock:
        grind = _bench.grinder(job)
        return msgspec.json.encode([grind_one(grind, item) for item in work])


def answers_of(answer: bytes) -> list[Done]:
    """What `grind_bytes` gave."""
    return msgspec.json.decode(answer, type=list[Done])


class _Wary:
    """Opens the errand's grinder at the first item, where this process is fit for it."""

    def __init__(self, job: bytes) -> None:
        self.job = job
        self._grind: Grinder | None = None

    def __call__(self, item: Item) -> Outcome:
        if self._grind is None:
            wanted = msgspec.json.decode(self.job, type=Errand)
            _compare(wanted.kit, kit_of(wanted.job.shelves))
            _see(wanted.job.lake.url)
            self._grind = open_grinder(wanted.job)
        return self._grind(item)


class _Bench:
    """What a process keeps from item to item: the grinder of the last job."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._last: _Wary | None = None

    def grinder(self, job: bytes) -> Grinder:
        if self._last is None:
            for name, value in ONE_CORE.items():  # read when the libraries start: none of them has yet
                os.environ.setdefault(name, value)
        if self._last is None or self._last.job != job:
            self._last = _Wary(job)
        return self._last


_bench = _Bench()


def _compare(wanted: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Raises RecipeError where this process would make other bytes than the one that planned."""
    where = f"the worker on {platform.node()}"
    gone = [name for name, value in wanted.items() if value and not here.get(name)]
    if gone:
        raise RecipeError(
            f"{where} cannot import {', '.join(gone)}; workers need this checkout, the packages of GRISTMILL_SHELVES"
            " on their PYTHONPATH, and what requirements/app.txt pins"
        )
    other = [
        f"{name} {here[name] or 'none'}, not {value or 'none'}" for name, value in wanted.items() if here[name] != value
    ]
    if other:
        raise RecipeError(
            f"{where} would make other bytes: it has {'; '.join(other)}."
            " Give workers the same checkout and packages, and start them anew"
        )


def _see(lake: str) -> None:
    if "://" not in lake and not Path(lake).is_dir():
        raise RecipeError(
            f"the worker on {platform.node()} does not see the lake {lake}; a cluster over several machines needs a"
            " bucket, or a folder that all of them mount at the same path"
        )


@cache
def kit_of(shelves: tuple[str, ...]) -> Kit:
    """The kit of this process, as it was when it was first asked for: what is imported does not change any more."""
    kit = {"python": ".".join(platform.python_version_tuple()[:2])}
    kit |= {name: _version(name) for name in PACKAGES}
    return kit | {package: _code(package) for package in (HOME, *shelves)}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _code(package: str) -> str:
    """A digest of a package's Python files; empty where there is no such package."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return ""
    if spec is None or spec.submodule_search_locations is None:
        return ""
    digest = hashlib.sha256()
    for folder in dict.fromkeys(spec.submodule_search_locations):  # a path may stand on sys.path twice
        for path in sorted(Path(folder).rglob("*.py")):
            name = path.relative_to(folder).as_posix().encode()
            text = path.read_bytes()
            digest.update(b"%s\n%d\n" % (name, len(text)) + text)
    return digest.hexdigest()[:12]
