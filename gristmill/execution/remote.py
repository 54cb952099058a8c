"""Grinding on a cluster: one function that a cluster's worker calls; it takes bytes and returns bytes.

Of gristmill, only the name of this function is pickled. A worker whose code or packages differ from those of the
planning process could make other bytes under the same ledger. Such a worker refuses, and names the differences.
"""

import hashlib
import importlib.util
import os
import platform
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from gristmill.errors import RecipeError
from gristmill.execution.runner import grind_one_item, open_grinder
from gristmill.execution.work import Done, Grinder, Item, Job, Outcome
from gristmill.installation import MAKERS, installed_version
from gristmill.lake.ledger.lake_id import read_lake_id
from gristmill.lake.store.open import Lake

ONE_CORE = {
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
}
"""Environment of a worker: it uses one core, so its libraries must not start threads of their own."""

HOME = "gristmill"

WorkerEnvironment = dict[str, str]
"""What the bytes depend on besides their inputs: versions and digests of code, by name; empty: not installed."""


class RemoteJob(msgspec.Struct, frozen=True):
    """A job, the environment of the process that planned it, and the id of its lake; empty: the lake has none yet."""

    job: Job
    environment: WorkerEnvironment
    lake_id: str = ""


def remote_job(job: Job) -> bytes:
    """The message for `grind_bytes` that carries a job, as JSON.

    Raises:
        RecipeError: a package with shelves cannot be imported.
        DataError: the lake's id is damaged.
    """
    kit = worker_environment(job.shelves)
    for package in job.shelves:
        if not kit[package]:
            raise RecipeError(f"{package}: no such package; GRISTMILL_SHELVES must name packages that can be imported")
    return msgspec.json.encode(RemoteJob(job, kit, _lake_id(job.lake)))


def grind_bytes(job: bytes, items: bytes) -> bytes:
    """Grinds items in this process. An item's failure is not raised: it is part of its result.

    A process grinds one item at a time, even if the cluster calls it from several threads: a grinder uses one core.

    Args:
        job: JSON from `remote_job`.
        items: a list of Items as JSON.

    Returns:
        A list of Dones as JSON, one for each item, in the same order.
    """
    work = msgspec.json.decode(items, type=list[Item])
    with _workplace.lock:
        grind = _workplace.grinder(job)
        return msgspec.json.encode([grind_one_item(grind, item) for item in work])


def answers_of(answer: bytes) -> list[Done]:
    """The results in an answer of `grind_bytes`."""
    return msgspec.json.decode(answer, type=list[Done])


class _CheckedGrinder:
    """Opens the job's grinder at the first item, after checking that this process would make the same bytes."""

    def __init__(self, job: bytes) -> None:
        self.job = job
        self._grind: Grinder | None = None

    def __call__(self, item: Item) -> Outcome:
        if self._grind is None:
            remote = msgspec.json.decode(self.job, type=RemoteJob)
            _check_same_environment(remote.environment, worker_environment(remote.job.shelves))
            _check_lake(remote.job.lake, remote.lake_id)
            self._grind = open_grinder(remote.job)
        return self._grind(item)


class _Workplace:
    """What a worker process keeps between items: the grinder of the last job."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._last: _CheckedGrinder | None = None

    def grinder(self, job: bytes) -> Grinder:
        if self._last is None:
            for name, value in ONE_CORE.items():  # the libraries read it when they are imported: that is later
                os.environ.setdefault(name, value)
        if self._last is None or self._last.job != job:
            self._last = _CheckedGrinder(job)
        return self._last


_workplace = _Workplace()


def _check_same_environment(planned: Mapping[str, str], worker: Mapping[str, str]) -> None:
    """Raises RecipeError if this process might make other bytes than the one that planned."""
    process = f"the worker on {platform.node()}"
    missing = [name for name, value in planned.items() if value and not worker.get(name)]
    if missing:
        raise RecipeError(
            f"{process} cannot import {', '.join(missing)}; workers need this Gristmill,"
            " the packages of GRISTMILL_SHELVES on their PYTHONPATH, and the packages that requirements/app.txt pins"
        )
    differing = [
        f"{name} {worker[name] or 'none'}, not {value or 'none'}"
        for name, value in planned.items()
        if worker[name] != value
    ]
    if differing:
        raise RecipeError(
            f"{process} would make other bytes: it has {'; '.join(differing)}."
            " Give workers the same Gristmill and packages, and restart them"
        )


def _lake_id(lake: Lake) -> str:
    found = read_lake_id(lake.store())
    return found.id if found else ""


def _check_lake(lake: Lake, planned: str) -> None:
    """Raises RecipeError if this process does not see the lake of the one that planned."""
    missing = "://" not in lake.url and not Path(lake.url).is_dir()
    if missing or (planned and _lake_id(lake) != planned):
        raise RecipeError(
            f"the worker on {platform.node()} does not see the lake {lake.url}, or sees another there; a cluster over"
            " several machines needs a bucket, or a folder that all of them mount at the same path"
        )


def worker_environment(shelves: tuple[str, ...]) -> WorkerEnvironment:
    """The environment of this process.

    Each package is read once, whatever the shelves: imported code does not change when its files do.
    """
    kit = {"python": ".".join(platform.python_version_tuple()[:2])}
    kit |= {name: installed_version(name) for name in MAKERS}
    return kit | {package: _package_code_digest(package) for package in (HOME, *shelves)}


@cache
def _package_code_digest(package: str) -> str:
    """A digest of a package's Python files; empty if there is no such package.

    Only a wheel of gristmill holds the Dagster location. It is left out: wheel and checkout grind the same bytes.
    """
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return ""
    if spec is None or spec.submodule_search_locations is None:
        return ""
    digest = hashlib.sha256()
    for folder in dict.fromkeys(spec.submodule_search_locations):  # sys.path may name a folder twice
        for path in sorted(Path(folder).rglob("*.py")):
            name = path.relative_to(folder).as_posix().encode()
            if package == HOME and name.startswith(b"location/"):
                continue
            text = path.read_bytes()
            digest.update(b"%s\n%d\n" % (name, len(text)) + text)
    return digest.hexdigest()[:12]
