"""DAGSTER_HOME, and the variables of processes that Dagster's part of a project needs."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import yaml  # type: ignore[import-untyped]
from sqlalchemy.exc import DBAPIError

from gristmill.environment import Environment, check_home
from gristmill.errors import RecipeError, StoreError
from gristmill.execution.work import Say
from gristmill.installation import top_level
from gristmill.lake.store.disk.file_lock import open_locked
from gristmill.lake.store.open import Lake
from gristmill.project import find_project


def environment_of_arguments(environment: Environment, lake: Lake, shelves: tuple[str, ...]) -> Environment:
    """The settings with the lake and the shelves of a command line.

    Args:
        environment: the settings of variables and project.
        lake: the lake; of its options, Dagster's processes take `endpoint` and `region`.
        shelves: the packages that hold the recipes.

    Raises:
        RecipeError: another option is given.
    """
    options = dict(lake.options)
    endpoint, region = options.pop("endpoint", ""), options.pop("region", "")
    if options:
        raise RecipeError(f"--option {next(iter(options))}: Dagster's processes take endpoint and region alone")
    url = lake.url if "://" in lake.url else str(Path(lake.url).expanduser().absolute())
    return replace(environment, lake=url, shelves=shelves, endpoint=endpoint, region=region)


def prepare_dagster_home(environment: Environment) -> Path:
    """The path of Dagster's folder. If it has no dagster.yaml, that of the project is put there; without one,
    Gristmill's.

    Raises:
        RecipeError: the folder is in the lake, or the project's table is wrong.
    """
    check_home(environment.lake, environment.home)
    home = Path(environment.home)
    home.mkdir(parents=True, exist_ok=True)
    settings = home / "dagster.yaml"
    if not settings.exists():
        new = home / f".dagster.yaml.{os.getpid()}"
        project = find_project()
        theirs = Path(project.folder) / "dagster.yaml" if project else settings
        shutil.copyfile(theirs if theirs.is_file() else top_level() / "dagster.yaml", new)
        new.replace(settings)
    return home


def missing_dagster_settings(home: Path) -> str:
    """The settings that the dagster.yaml of a folder lacks, because an earlier Gristmill wrote it, and the mend; empty:
    none.

    Nobody but its owner changes the file. A file that cannot be read is left to Dagster, which names the fault.
    """
    try:
        settings = yaml.safe_load((home / "dagster.yaml").read_text())
        concurrency = settings.get("concurrency") or {}
        complete = (concurrency.get("pools") or {}).get("default_limit") is not None
    except (OSError, ValueError, AttributeError, yaml.YAMLError):
        return ""
    if complete:
        return ""
    mend = "pools: {granularity: op, default_limit: 100}"
    return (
        f"{home / 'dagster.yaml'} is of an earlier Gristmill: below `concurrency:` add the line `{mend}`, else the UI"
        " warns at each pool; add it to the dagster.yaml of the project too"
    )


def child_process_variables(environment: Environment) -> Mapping[str, str]:
    """The variables of a process that loads the location over a lake."""
    paths = dict.fromkeys([str(top_level()), *(path for path in sys.path if path)])
    chosen = {
        "DAGSTER_HOME": environment.home,
        "GRISTMILL_LAKE": environment.lake,
        "GRISTMILL_SHELVES": ",".join(environment.shelves),
        "AWS_ENDPOINT_URL_S3": environment.endpoint,
        "AWS_REGION": environment.region,
        "PYTHONPATH": os.pathsep.join(paths),
    }
    # Else a backfill fails for good if the daemon looks at it while the code is being loaded anew.
    patient = {"DAGSTER_BACKFILL_RETRY_DEFINITION_CHANGED_ERROR": "1"}
    # Else Dagster starts a run twice whose process takes more than a minute to begin, and both fail.
    patient |= {"DAGSTER_GRPC_TIMEOUT_SECONDS": "300"}
    return {**patient, **os.environ, **{name: value for name, value in chosen.items() if value}}


@contextmanager
def lock_dagster_home(home: Path, say: Say) -> Iterator[None]:
    """Waits until no other command makes things with this DAGSTER_HOME, and keeps others waiting meanwhile.

    The ledgers bear two at once, but each would find the other's claims, and fail.

    Args:
        home: DAGSTER_HOME.
        say: function that takes a line if another command is at work.
    """
    file, flags = home / ".at-work", os.O_RDWR | os.O_CREAT
    try:
        lock = open_locked(file, flags, wait=False)
    except BlockingIOError:
        say(f"another `gristmill run` or `make demo` works with {home}; this one waits until it has ended")
        lock = open_locked(file, flags)
    try:
        yield
    finally:
        os.close(lock)


@contextmanager
def database_in_words(home: Path) -> Iterator[None]:
    """Tells in words that Dagster's database has failed, such as on a full disk.

    Args:
        home: DAGSTER_HOME.

    Raises:
        StoreError: the database has failed. What was finished before is kept.
    """
    try:
        yield
    except DBAPIError as error:
        said = " ".join(str(error.orig).split())
        raise StoreError(
            f"Dagster's database failed (DAGSTER_HOME is {home}): {said}; see that its disk has space and that it"
            " answers, and run again: finished shards are kept"
        ) from error
