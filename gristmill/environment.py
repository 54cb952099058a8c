"""Environment variables of Gristmill. Only this file reads and validates them."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gristmill.engines.kinds import ENGINES, EngineKind, check_address
from gristmill.errors import RecipeError
from gristmill.lake.store.endpoint import check_endpoint, check_lake_url, check_region
from gristmill.recipes.shelf import HOME, check_outside

CHECKOUT = Path(__file__).resolve().parent.parent
INTERVAL = 30
"""Seconds between two ticks of a sensor, unless GRISTMILL_INTERVAL says otherwise."""

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
"""The last one is read by the bucket client alone."""

RETRY_DELAY = 5
"""Seconds between a StoreError in an op and its retry, unless GRISTMILL_RETRY_DELAY says otherwise."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The settings that differ between a laptop and production.

    Attributes:
        lake: GRISTMILL_LAKE: a folder or s3://bucket/prefix; by default `lake/` in the checkout.
        shelves: GRISTMILL_SHELVES: packages that hold shelves, besides our own, separated by commas.
        workers: GRISTMILL_WORKERS: worker processes of a run; by default one per core of the machine.
        engine: GRISTMILL_ENGINE: local, inline, dask or ray; the default of runs whose configuration names none.
        address: GRISTMILL_ENGINE_ADDRESS: of the Dask scheduler or the Ray head.
        endpoint: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, for buckets that are not Amazon's.
        region: AWS_REGION or AWS_DEFAULT_REGION.
        interval: GRISTMILL_INTERVAL: least number of seconds between two ticks of a sensor.
        retry_delay: GRISTMILL_RETRY_DELAY: seconds between a StoreError in an op and its retry.
        ui_hosts: GRISTMILL_UI_HOSTS: names by which browsers reach the UI, besides the loopback ones, by commas.
    """

    lake: str
    shelves: tuple[str, ...]
    workers: int
    endpoint: str
    region: str
    engine: EngineKind = "local"
    address: str = ""
    interval: int = INTERVAL

    @property
    def options(self) -> dict[str, str]:
        """How the lake's bucket is reached."""
        return {key: value for key, value in (("endpoint", self.endpoint), ("region", self.region)) if value}

    retry_delay: float = RETRY_DELAY
    ui_hosts: tuple[str, ...] = ()


def read_environment(variables: Mapping[str, str] | None = None) -> Environment:
    """Reads the settings.

    Args:
        variables: by name; by default the environment variables of this process.

    Raises:
        RecipeError: the value of a variable is not valid. The message names the variable and the valid values.
    """
    given = os.environ if variables is None else variables
    lake = given.get("GRISTMILL_LAKE") or str(CHECKOUT / "lake")
    check_lake_url(lake, "GRISTMILL_LAKE")
    lake = lake if lake.startswith("s3://") else str(Path(lake).expanduser().absolute())
    for name in _ENDPOINTS:
        check_endpoint(given.get(name) or "", name)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        check_region(given.get(name) or "", name)
    shelves = tuple(dict.fromkeys((HOME, *_names(given, "GRISTMILL_SHELVES"))))
    check_outside(lake, shelves)
    _check_home(lake, given.get("DAGSTER_HOME") or "")
    workers = given.get("GRISTMILL_WORKERS") or str(os.cpu_count() or 1)
    if not workers.isdigit() or int(workers) < 1:
        raise RecipeError(f"GRISTMILL_WORKERS is {workers!r}; give a number of processes, 1 or more")
    chosen = given.get("GRISTMILL_ENGINE") or "local"
    engine = next((kind for kind in ENGINES if kind == chosen), None)
    if engine is None:
        raise RecipeError(f"GRISTMILL_ENGINE is {chosen!r}; give one of {', '.join(ENGINES)}")
    address = given.get("GRISTMILL_ENGINE_ADDRESS") or ""
    check_address(engine, address, "GRISTMILL_ENGINE_ADDRESS")
    interval = _seconds(given, "GRISTMILL_INTERVAL", INTERVAL, "between two ticks of a sensor")
    retry_delay = _seconds(given, "GRISTMILL_RETRY_DELAY", RETRY_DELAY, "until an op is tried again")
    return Environment(
        lake=lake,
        shelves=shelves,
        workers=int(workers),
        endpoint=given.get("AWS_ENDPOINT_URL_S3") or given.get("AWS_ENDPOINT_URL") or "",
        region=given.get("AWS_REGION") or given.get("AWS_DEFAULT_REGION") or "",
        interval=interval,
        retry_delay=retry_delay,
        engine=engine,
        address=address,
        ui_hosts=_hosts(given),
    )


def _check_home(lake: str, home: str) -> None:
    """Refuses Dagster's settings in a folder lake: they name code that runs."""
    if home and "://" not in lake and Path(home).resolve().is_relative_to(Path(lake).resolve()):
        raise RecipeError(
            f"DAGSTER_HOME is {home}, in the lake {lake}; whoever may write data there could run code by its"
            " dagster.yaml. Move it out of the lake"
        )


def _names(given: Mapping[str, str], name: str) -> list[str]:
    """A list that is separated by commas."""
    return [each.strip() for each in given.get(name, "").split(",") if each.strip()]


def _hosts(given: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the UI, as a browser writes them into the header Host."""
    hosts = tuple(host.lower() for host in _names(given, "GRISTMILL_UI_HOSTS"))
    for host in hosts:
        if not re.fullmatch(r"([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:[0-9]+)?", host):
            raise RecipeError(
                f"GRISTMILL_UI_HOSTS has {host!r}; give names as browsers show them, such as ui.example.org or"
                " 10.0.0.1:3000, separated by commas"
            )
    return hosts


def _seconds(given: Mapping[str, str], name: str, default: int, which: str) -> int:
    """A whole number of seconds, 1 or more."""
    value = given.get(name) or str(default)
    if not value.isdigit() or int(value) < 1:
        raise RecipeError(f"{name} is {value!r}; give the seconds {which}, 1 or more")
    return int(value)
