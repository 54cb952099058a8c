"""Environment variables of Gristmill. Only this file reads and validates them."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from gristmill.engines.kinds import ENGINES
from gristmill.errors import RecipeError, known_names
from gristmill.lake.store.credentials import BucketVariables, bucket_variables
from gristmill.lake.store.endpoint import (
    absolute_folder,
    check_endpoint,
    check_lake_url,
    check_no_password,
    check_region,
)
from gristmill.project import FILE, Project, find_project
from gristmill.recipes.shelf import check_outside

CHECKOUT = Path(__file__).resolve().parent.parent
MOST_WORKERS = 256
"""Largest number of worker processes of a run on one machine."""
INTERVAL = 30
"""Seconds between two ticks of a sensor, unless GRISTMILL_INTERVAL says otherwise."""

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
"""The last one is read by the bucket client alone."""

SILENCE = 3600
"""Seconds for which an alert is not repeated, unless GRISTMILL_WEBHOOK_SILENCE says otherwise."""

RETRY_DELAY = 5
"""Seconds between a StoreError in an op and its retry, unless GRISTMILL_RETRY_DELAY says otherwise."""

NO_SHELVES = (
    "no recipes are named: start in a project, which `gristmill init` makes, or name the packages with recipes by"
    " --shelves PACKAGE,... or GRISTMILL_SHELVES (`gristmill` has those of the demo)"
)


@dataclass(frozen=True, slots=True)
class Environment:
    """The settings that differ between a laptop and production.

    Attributes:
        lake: GRISTMILL_LAKE: a folder or s3://bucket/prefix; by default the project's, without a project `./lake`.
        shelves: GRISTMILL_SHELVES: all packages that hold recipes, separated by commas; by default the project's.
        workers: GRISTMILL_WORKERS: worker processes of a run; by default one per core of the machine.
        engine: GRISTMILL_ENGINE: local, inline, dask, ray, or one of a package; the default of runs whose
            configuration names none.
        address: GRISTMILL_ENGINE_ADDRESS: of the Dask scheduler or the Ray head.
        endpoint: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, for buckets that are not Amazon's.
        region: AWS_REGION or AWS_DEFAULT_REGION.
        profile: AWS_PROFILE, if there is no AWS_ACCESS_KEY_ID: a profile of ~/.aws/config with the credentials.
        interval: GRISTMILL_INTERVAL: least number of seconds between two ticks of a sensor.
        retry_delay: GRISTMILL_RETRY_DELAY: seconds between a StoreError in an op and its retry.
        ui_hosts: GRISTMILL_UI_HOSTS: names by which browsers reach the UI, besides the loopback ones, by commas.
        home: DAGSTER_HOME: Dagster's own files; by default `.dagster` in the project, else in the current folder.
        project: folder of the project; empty without one.
        webhook: GRISTMILL_WEBHOOK: http(s) address that takes alerts; empty: nobody is told. It may be a secret.
        webhook_silence: GRISTMILL_WEBHOOK_SILENCE: seconds for which an alert is not repeated.
        health_token: GRISTMILL_HEALTH_TOKEN: lets other machines read the UI's page /healthz; empty: nobody else may.
        code_url: GRISTMILL_CODE_URL: address of the project's folder on a git server, for links to recipes.
        ui_url: GRISTMILL_UI_URL: address of the UI, for the links in alerts.
        more_jobs: GRISTMILL_MORE_JOBS: whether Dagster lists jobs of each stream and of each source's audits, too.
    """

    lake: str
    shelves: tuple[str, ...]
    workers: int
    endpoint: str
    region: str
    engine: str = "local"
    address: str = ""
    interval: int = INTERVAL

    @property
    def options(self) -> dict[str, str]:
        """The options of the client of the lake's bucket, by name."""
        given = {"endpoint": self.endpoint, "region": self.region, "profile": self.profile}
        return {key: value for key, value in given.items() if value}

    profile: str = ""
    retry_delay: float = RETRY_DELAY
    ui_hosts: tuple[str, ...] = ()
    home: str = ""
    project: str = ""
    webhook: str = field(default="", repr=False)
    webhook_silence: int = SILENCE
    health_token: str = field(default="", repr=False)
    code_url: str = ""
    ui_url: str = ""
    more_jobs: bool = False

    def named_shelves(self) -> tuple[str, ...]:
        """The packages that hold recipes, for what cannot work without them.

        Raises:
            RecipeError: no package is named.
        """
        if not self.shelves:
            raise RecipeError(NO_SHELVES)
        return self.shelves


def read_environment(variables: Mapping[str, str] | None = None, folder: Path | None = None) -> Environment:
    """The settings: environment variables, and the project's pyproject.toml for what they leave open.

    Args:
        variables: environment variables by name; by default the environment variables of this process.
        folder: the project is looked for in it and above it; by default the current one.

    Raises:
        RecipeError: the value of a variable or of a key is wrong. The message names it and the valid values.
    """
    given = os.environ if variables is None else variables
    project = find_project(folder)
    lake = _lake_address(given, project)
    for name in _ENDPOINTS:
        check_endpoint(given.get(name) or "", name)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        check_region(given.get(name) or "", name)
    shelves = tuple(dict.fromkeys(_split_names(given, "GRISTMILL_SHELVES"))) or (project.shelves if project else ())
    check_outside(lake, shelves)
    home = given.get("DAGSTER_HOME") or (project.home if project else "")
    check_home(lake, home)
    engine = given.get("GRISTMILL_ENGINE") or "local"
    if engine not in ENGINES.names:
        raise RecipeError(f"GRISTMILL_ENGINE is {engine!r}; {known_names(engine, ENGINES.names)}")
    address = given.get("GRISTMILL_ENGINE_ADDRESS") or ""
    check_no_password(address, "GRISTMILL_ENGINE_ADDRESS")
    if engine != "local":  # it needs no address, and is imported when it is opened
        ENGINES.load(engine).check_address(address, "GRISTMILL_ENGINE_ADDRESS")
    return Environment(
        lake=lake,
        shelves=shelves,
        workers=_worker_count(given),
        endpoint=given.get("AWS_ENDPOINT_URL_S3") or given.get("AWS_ENDPOINT_URL") or "",
        region=given.get("AWS_REGION") or given.get("AWS_DEFAULT_REGION") or "",
        profile="" if given.get("AWS_ACCESS_KEY_ID") else given.get("AWS_PROFILE") or "",
        interval=_to_seconds(given, "GRISTMILL_INTERVAL", INTERVAL, "between two ticks of a sensor"),
        retry_delay=_to_seconds(given, "GRISTMILL_RETRY_DELAY", RETRY_DELAY, "until an op is tried again"),
        engine=engine,
        address=address,
        ui_hosts=_ui_host_names(given),
        home=absolute_folder(home or ".dagster", "DAGSTER_HOME"),
        project=project.folder if project else "",
        webhook=_web_address(given, "GRISTMILL_WEBHOOK"),
        webhook_silence=_to_seconds(given, "GRISTMILL_WEBHOOK_SILENCE", SILENCE, "for which an alert is not repeated"),
        health_token=given.get("GRISTMILL_HEALTH_TOKEN") or "",
        code_url=_web_address(given, "GRISTMILL_CODE_URL").rstrip("/"),
        ui_url=_web_address(given, "GRISTMILL_UI_URL").rstrip("/"),
        more_jobs=_lists_more_jobs(given),
    )


def environment_variables() -> Mapping[str, str]:
    """The variables that configurations of the Dolma toolkit refer to, such as `${oc.env:HOME}`."""
    return os.environ


def read_credentials(prefix: str, where: str, variables: Mapping[str, str] | None = None) -> BucketVariables:
    """Reads the variables of a bucket that is not the lake's, such as MINIO_AWS_ACCESS_KEY_ID or MINIO_ACCESS_KEY_ID.

    Args:
        prefix: beginning of their names, without the underscore.
        where: the setting that names it, for messages.
        variables: environment variables by name; by default the environment variables of this process.

    Returns:
        The values of the bucket's variables.

    Raises:
        RecipeError: the key or the secret is missing, or the endpoint or the region is wrong.
    """
    return bucket_variables(prefix, where, os.environ if variables is None else variables)


def export_lake_credentials(key: str, secret: str, token: str = "") -> None:
    """Makes credentials of the lake's bucket variables of this process. Its worker processes inherit them.

    Args:
        key: id of the access key.
        secret: the secret access key.
        token: the session token; empty without one.
    """
    os.environ |= {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    os.environ.pop("AWS_SESSION_TOKEN", None)  # of other credentials
    if token:
        os.environ["AWS_SESSION_TOKEN"] = token


def _lake_address(given: Mapping[str, str], project: Project | None) -> str:
    """The lake's address, absolute. The project may not be in it."""
    named = given.get("GRISTMILL_LAKE")
    lake = named or (project.lake if project else "lake")
    check_lake_url(lake, "GRISTMILL_LAKE" if named or project is None else f"{project.folder}/{FILE}: lake")
    lake = lake if lake.startswith("s3://") else absolute_folder(lake, "GRISTMILL_LAKE")
    if project:
        project.check_outside(lake)
    return lake


def choose_shelves(shelves: Sequence[str] | None, lake: str = "") -> tuple[str, ...]:
    """The packages that a program names, else those of the environment; a project's can be imported from now on.

    Args:
        shelves: the packages; None: those of GRISTMILL_SHELVES or the project.
        lake: the packages are refused if they are in this folder.

    Raises:
        RecipeError: no package is named, or one is in the lake.
    """
    if shelves is None:
        project = find_project()
        if project:
            project.put_on_path()
        shelves = read_environment().named_shelves()
    if lake:
        check_outside(lake, shelves)
    return tuple(shelves)


def check_home(lake: str, home: str) -> None:
    """Refuses Dagster's settings in a folder lake: they name code that runs.

    Raises:
        RecipeError: Dagster's folder is in the lake.
    """
    if home and "://" not in lake and Path(home).resolve().is_relative_to(Path(lake).resolve()):
        raise RecipeError(
            f"DAGSTER_HOME is {home}, in the lake {lake}; whoever may write data there could run code by its"
            " dagster.yaml. Move it out of the lake"
        )


def _worker_count(given: Mapping[str, str]) -> int:
    """The number of worker processes."""
    workers = given.get("GRISTMILL_WORKERS") or str(min(os.cpu_count() or 1, MOST_WORKERS))
    if not workers.isdigit() or not 1 <= int(workers) <= MOST_WORKERS:
        raise RecipeError(f"GRISTMILL_WORKERS is {workers!r}; give a number of processes, 1 to {MOST_WORKERS}")
    return int(workers)


def _lists_more_jobs(given: Mapping[str, str]) -> bool:
    """Whether further jobs are listed."""
    value = given.get("GRISTMILL_MORE_JOBS") or "0"
    if value not in {"0", "1"}:
        raise RecipeError(f"GRISTMILL_MORE_JOBS is {value!r}; give 1, or 0 for none")
    return value == "1"


def _split_names(given: Mapping[str, str], name: str) -> list[str]:
    """A list that is separated by commas."""
    return [each.strip() for each in given.get(name, "").split(",") if each.strip()]


def _ui_host_names(given: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the UI, as a browser writes them into the header Host."""
    hosts = tuple(host.lower() for host in _split_names(given, "GRISTMILL_UI_HOSTS"))
    for host in hosts:
        if not re.fullmatch(r"([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:[0-9]+)?", host):
            raise RecipeError(
                f"GRISTMILL_UI_HOSTS has {host!r}; give names as browsers show them, such as ui.example.org or"
                " 10.0.0.1:3000, separated by commas"
            )
    return hosts


def _web_address(given: Mapping[str, str], name: str) -> str:
    """An address of the web; the message does not repeat it, since it may hold a secret.

    User and password are refused: they would be looked up as a part of the host's name, or shown in links.
    """
    value = (given.get(name) or "").strip()
    if re.match(r"https?://[^/]*@", value):
        raise RecipeError(f"{name} holds a user or a password before an @; leave them out")
    if not value or (re.fullmatch(r"https?://[A-Za-z0-9._:\[\]-]+(/[!-~]*)?", value) and _is_host(value)):
        return value
    raise RecipeError(f"{name} is no address of the web; give https://... without spaces, in ASCII")


def _is_host(address: str) -> bool:
    """Whether an address names a host, and, if any, a port that can be one."""
    try:
        parts = urlsplit(address)
        return bool((parts.hostname or "").encode("idna")) and parts.port != 0
    except ValueError:
        return False


def _to_seconds(given: Mapping[str, str], name: str, default: int, which: str) -> int:
    """A whole number of seconds, 1 or more."""
    value = given.get(name) or str(default)
    if not value.isdigit() or int(value) < 1:
        raise RecipeError(f"{name} is {value!r}; give the seconds {which}, 1 or more")
    return int(value)
