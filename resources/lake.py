"""The lake resource: assets and sensors open the lake with it."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dagster as dg

from gristmill.environment import Environment
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store

if TYPE_CHECKING:
    from dagster_aws.s3 import S3Resource


class LakeResource(dg.ConfigurableResource[Any]):
    """The lake of a deployment, and the packages whose shelves hold the recipes.

    Both come from the environment of the process. They are no run configuration: whoever may launch a run could name a
    package of his own, and its code would run.

    Attributes:
        deployment: settings of the environment. To Dagster it is a dependency, which a run cannot configure.
    """

    deployment: dg.ResourceDependency[Environment]

    def lake(self) -> Lake:
        """The lake, for steps and workers. It has no credentials: each process reads them from its environment."""
        return Lake(self.deployment.lake, self.deployment.options)

    def store(self) -> Store:
        """The store of the lake."""
        return self.lake().store()

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages whose shelves hold the recipes."""
        return self.deployment.shelves

    @property
    def retry_delay(self) -> float:
        """Seconds until an op is tried again if the lake did not answer; then three times as many."""
        return self.deployment.retry_delay


def lake_resource(environment: Environment) -> LakeResource:
    """The lake of this deployment. The connection to its bucket is that of dagster-aws's S3Resource."""
    if environment.lake.startswith("s3://"):
        client = s3_resource(environment)
        environment = replace(environment, endpoint=client.endpoint_url or "", region=client.region_name or "")
    return LakeResource(deployment=environment)


def s3_resource(environment: Environment) -> "S3Resource":
    """The connection to the bucket."""
    from dagster_aws.s3 import S3Resource  # noqa: PLC0415 - importing it takes a second, and a folder lake does not need it

    return S3Resource(endpoint_url=environment.endpoint or None, region_name=environment.region or None)
