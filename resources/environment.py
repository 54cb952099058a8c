"""The environment, read and validated here only."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gristmill.errors import RecipeError
from gristmill.shelf import HOME

CHECKOUT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Environment:
    """What differs between a laptop and production.

    Attributes:
        lake: GRISTMILL_LAKE: a folder or s3://bucket/prefix; by default `lake/` in the checkout.
        shelves: GRISTMILL_SHELVES: packages that hold shelves, besides our own, separated by commas.
        workers: GRISTMILL_WORKERS: worker processes of a run; by default the machine's cores.
        endpoint: AWS_ENDPOINT_URL, for buckets that are not Amazon's.
        region: AWS_REGION or AWS_DEFAULT_REGION.
    """

    lake: str
    shelves: tuple[str, ...]
    workers: int
    endpoint: str
    region: str


def read_environment(variables: Mapping[str, str] | None = None) -> Environment:
    """The environment of this process.

    Raises:
        RecipeError: a variable is set to something impossible.
    """
    given = os.environ if variables is None else variables
    lake = given.get("GRISTMILL_LAKE") or str(CHECKOUT / "lake")
    if "://" in lake and not lake.startswith("s3://"):
        raise RecipeError(f"GRISTMILL_LAKE is {lake!r}; give a folder or s3://bucket/prefix")
    more = [name.strip() for name in given.get("GRISTMILL_SHELVES", "").split(",") if name.strip()]
    workers = given.get("GRISTMILL_WORKERS") or str(os.cpu_count() or 1)
    if not workers.isdigit() or int(workers) < 1:
        raise RecipeError(f"GRISTMILL_WORKERS is {workers!r}; give a number of processes, 1 or more")
    return Environment(
        lake=lake if lake.startswith("s3://") else str(Path(lake).expanduser().absolute()),
        shelves=tuple(dict.fromkeys((HOME, *more))),
        workers=int(workers),
        endpoint=given.get("AWS_ENDPOINT_URL_S3") or given.get("AWS_ENDPOINT_URL") or "",
        region=given.get("AWS_REGION") or given.get("AWS_DEFAULT_REGION") or "",
    )
