"""The lake resource: assets and sensors open the lake with it."""

from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from gristmill.environment import RETRY_DELAY, Environment
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store

if TYPE_CHECKING:
    from dagster_aws.s3 import S3Resource


class LakeResource(dg.ConfigurableResource[Any]):
    """The address of the lake, and the packages whose shelves hold the recipes."""

    url: str = Field(description="A folder, or s3://bucket/prefix.")
    shelves: list[str] = Field(default=["gristmill"], description="Packages whose shelves are read.")
    endpoint: str = Field(default="", description="Endpoint of a bucket that is not Amazon's.")
    region: str = Field(default="", description="Region of the bucket.")
    retry_delay: float = Field(
        default=RETRY_DELAY,
        ge=0,
        description="Seconds until an op is tried again if the lake did not answer; then three times as many.",
    )

    def lake(self) -> Lake:
        """The lake, for steps and workers. It has no credentials: each process reads them from its environment."""
        options = {"endpoint": self.endpoint, "region": self.region}
        return Lake(self.url, {key: value for key, value in options.items() if value})

    def store(self) -> Store:
        """The store of the lake."""
        return self.lake().store()

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages whose shelves hold the recipes."""
        return tuple(self.shelves)


def lake_resource(environment: Environment) -> LakeResource:
    """The lake of this deployment. The connection to its bucket is that of dagster-aws's S3Resource."""
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
    """The connection to the bucket."""
    from dagster_aws.s3 import S3Resource  # noqa: PLC0415 - importing it takes a second, and a folder lake does not need it

    return S3Resource(endpoint_url=environment.endpoint or None, region_name=environment.region or None)
