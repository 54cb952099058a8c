"""The lake resource: assets and sensors open the lake with it."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dagster as dg

from gristmill.environment import Environment, export_lake_credentials
from gristmill.errors import RecipeError
from gristmill.extras import extra
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
        """The number of seconds until an op is tried again if the lake did not answer; then three times as many."""
        return self.deployment.retry_delay


def lake_resource(environment: Environment, s3: "S3Resource | None" = None) -> LakeResource:
    """The lake of this deployment. The connection to its bucket is that of dagster-aws's S3Resource.

    Args:
        environment: names the lake.
        s3: the connection; None: as the environment says. Its credentials become variables of this process, so that its
            worker processes have them: no plan and no configuration holds a secret.

    Raises:
        RecipeError: the connection has a setting that the lake's client does not take.
    """
    if environment.lake.startswith("s3://"):
        given = (s3 or s3_resource(environment)).process_config_and_initialize()
        _check_taken(given)
        environment = replace(
            environment,
            endpoint=given.endpoint_url or "",
            region=given.region_name or "",
            profile=given.profile_name or "",
        )
        if given.aws_access_key_id:
            keys = given.aws_access_key_id, given.aws_secret_access_key or "", given.aws_session_token or ""
            export_lake_credentials(*keys)
    return LakeResource(deployment=environment)


def s3_resource(environment: Environment) -> "S3Resource":
    """The connection to the bucket, as the environment says. Credentials stay there: each process reads its own."""
    with extra():
        from dagster_aws.s3 import S3Resource  # noqa: PLC0415 - importing it takes a second, and a folder lake does not need it

    return S3Resource(
        endpoint_url=environment.endpoint or None,
        region_name=environment.region or None,
        profile_name=environment.profile or None,
    )


def _check_taken(given: "S3Resource") -> None:
    """Refuses settings that would be ignored in silence."""
    for name, taken in {"use_unsigned_session": (False,), "use_ssl": (True,), "verify": (None, True)}.items():
        if getattr(given, name) not in taken:
            raise RecipeError(
                f"the lake does not take the setting {name} of the S3Resource; it takes endpoint_url, region_name,"
                " profile_name and the credentials"
            )
