"""The lake: the one place where assets find their store."""

from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from gristmill.environment import RETRY_DELAY, Environment
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store

if TYPE_CHECKING:
    from dagster_aws.s3 import S3Resource


class LakeResource(dg.ConfigurableResource[Any]):
    """Where the lake is, and the packages whose shelves hold the recipes."""

    url: str = Field(description="A folder, or s3://bucket/prefix.")
    shelves: list[str] = Field(default=["gristmill"], description="Packages whose shelves are read.")
    endpoint: str = Field(default="", description="Endpoint of a bucket that is not Amazon's.")
    region: str = Field(default="", description="Region of the bucket.")
    retry_delay: float = Field(
        default=RETRY_DELAY,
        ge=0,
        description="Seconds until an op that the lake did not answer is tried again; then three times as many.",
    )

    def lake(self) -> Lake:
        """The lake as steps and workers take it. Credentials are in the environment of each, and nowhere else."""
        options = {"endpoint": self.endpoint, "region": self.region}
        return Lake(self.url, {key: value for key, value in options.items() if value})

    def store(self) -> Store:
        """The store."""
        return self.lake().store()

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages of shelves."""
        return tuple(self.shelves)


def lake_resource(environment: Environment) -> LakeResource:
    """The lake of this deployment. dagster-aws's S3Resource says how its bucket is reached."""
    endpoint, region = environment.endpoint, environment.region
    if environment.lake.startswith("s3://"):
        client = s3_resource(environment)
        endpoint, region = client.endpoint_url or "", client.region_name or ""
    return LakeResource(
        url=environment.lake,
        shelves=list(environment.shelves),
        endpoint=endpoint,
        region=region,
        retry_delay=environment.retry_delay,
    )


def s3_resource(environment: Environment) -> "S3Resource":
    """How the bucket is reached."""
    from dagster_aws.s3 import S3Resource  # noqa: PLC0415 - costs a second, which a folder lake need not pay

    return S3Resource(endpoint_url=environment.endpoint or None, region_name=environment.region or None)
