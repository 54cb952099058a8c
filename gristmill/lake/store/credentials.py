"""The credentials of a bucket that is not the lake's, from variables whose names begin with a word of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gristmill.errors import RecipeError
from gristmill.lake.store.endpoint import check_endpoint, check_region


@dataclass(frozen=True, slots=True)
class BucketVariables:
    """The environment variables of a bucket that is not the lake's. They are kept in memory only.

    Attributes:
        endpoint: of its server; empty if no variable names one.
        region: of the bucket; empty if no variable names one.
        key: id of the access key.
        secret: the secret access key.
        token: the session token; empty without one.
    """

    endpoint: str
    region: str
    key: str = field(repr=False)
    secret: str = field(repr=False)
    token: str = field(repr=False)


def bucket_variables(prefix: str, where: str, given: Mapping[str, str]) -> BucketVariables:
    """The variables of a bucket that is not the lake's, such as MINIO_AWS_ACCESS_KEY_ID or MINIO_ACCESS_KEY_ID.

    Args:
        prefix: how their names begin, without the underscore.
        where: the setting that names it, for messages.
        given: the variables, by name.

    Raises:
        RecipeError: the key or the secret is missing, or the endpoint or the region is wrong.
    """

    def value(name: str) -> str:
        return given.get(f"{prefix}_AWS_{name}") or given.get(f"{prefix}_{name}") or ""

    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        if not value(name):
            raise RecipeError(
                f"{where} has credentials={prefix!r}, but neither {prefix}_AWS_{name} nor {prefix}_{name} is in the"
                " environment of this process; set it for the command, for Dagster's processes, and for workers"
                " on other machines"
            )
    check_endpoint(value("ENDPOINT_URL"), f"{prefix}_ENDPOINT_URL")
    check_region(value("REGION"), f"{prefix}_REGION")
    keys = value("ACCESS_KEY_ID"), value("SECRET_ACCESS_KEY"), value("SESSION_TOKEN")
    return BucketVariables(value("ENDPOINT_URL"), value("REGION"), *keys)
