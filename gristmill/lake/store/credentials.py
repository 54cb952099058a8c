"""The credentials of buckets: those of a profile, and those of variables whose names begin with a word of their own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from gristmill.errors import RecipeError
from gristmill.lake.store.endpoint import Access, check_endpoint, check_region

Keys = Callable[[], Any]
"""Gives the bucket client the credentials of now."""

RENEWED = timedelta(minutes=5)
"""How long the client uses the credentials of a profile before it asks for them again: those of a role change."""


class BucketKeys(NamedTuple):
    """The credentials of a bucket, and what comes with them.

    Attributes:
        keys: function that gives the credentials; None: the client takes those of the environment.
        region: the region of the profile; empty: the profile names no region.
    """

    keys: Keys | None
    region: str = ""


def bucket_keys(profile: str, access: Access | None) -> BucketKeys:
    """The credentials of a bucket.

    Args:
        profile: the name of a profile in `~/.aws/config`, which boto3 reads, because the bucket client cannot; empty:
            no profile.
        access: credentials of a bucket that only holds raw data; they come before those of the profile.

    Raises:
        RecipeError: there is no such profile, or it has no credentials.
    """
    if access and access.key:  # as options, they would be mixed with a session token of the environment
        given = {"access_key_id": access.key, "secret_access_key": access.secret, "token": access.token or None}
        return BucketKeys(lambda: {**given, "expires_at": None})
    if not profile or (access and access.anonymous):
        return BucketKeys(None)
    import boto3  # noqa: PLC0415 - it is dear to import, and few lakes are reached by a profile
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - see above

    where = f"the profile {profile!r}, which AWS_PROFILE or an option names"
    try:
        session = boto3.Session(profile_name=profile)
        found = session.get_credentials()
    except BotoCoreError as error:
        raise RecipeError(f"{where}: {error}") from None
    if found is None:
        raise RecipeError(f"{where}, has no credentials: give it some in ~/.aws/credentials, or log in")

    def keys() -> Any:
        now = found.get_frozen_credentials()
        named = {"access_key_id": now.access_key, "secret_access_key": now.secret_key, "token": now.token}
        return {**named, "expires_at": datetime.now(UTC) + RENEWED}

    return BucketKeys(keys, session.region_name or "")


@dataclass(frozen=True, slots=True)
class BucketVariables:
    """The environment variables of a bucket that is not the lake's. They are kept in memory only.

    Attributes:
        endpoint: address of its server; empty if no variable names one.
        region: region of the bucket; empty if no variable names one.
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
        prefix: beginning of their names, without the underscore.
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
