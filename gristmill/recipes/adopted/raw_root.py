"""RawRoot: a folder or bucket that is not the lake's, with its own server and credentials; and folders below it."""

import re
from dataclasses import dataclass, replace

from gristmill.errors import RecipeError
from gristmill.lake.store.endpoint import check_endpoint, check_lake_url, check_region
from gristmill.recipes.option_types import check_types


@dataclass(frozen=True, slots=True)
class RawRoot:
    """A folder or bucket with raw snapshots that is not reached as the lake is. It is only read.

    Nothing here is a secret, or part of a fingerprint. What is not given is not taken from the lake either.

    Attributes:
        url: a folder, or `s3://bucket/prefix`.
        anonymous: whether the bucket is read without credentials, as public buckets are.
        endpoint: address of the bucket's server, such as `https://minio.example.org:9000`. None: that of the variable
            `<credentials>_ENDPOINT_URL`, else Amazon's.
        region: region of the bucket. None: that of the variable `<credentials>_REGION`, else that of the lake.
        credentials: beginning of the names of the environment variables with its credentials. `"MINIO"` stands
            for MINIO_AWS_ACCESS_KEY_ID or MINIO_ACCESS_KEY_ID, and likewise SECRET_ACCESS_KEY, SESSION_TOKEN,
            ENDPOINT_URL and REGION. None: those of the lake, AWS_ACCESS_KEY_ID and so on.

    Raises:
        RecipeError: the url, the endpoint or the region is wrong; a folder has options of a bucket; or credentials
            cannot begin such names, or are given for an anonymous bucket.

    >>> RawRoot("s3://corpus/texts", endpoint="http://localhost:9000", credentials="MINIO").url
    's3://corpus/texts'
    """

    url: str
    anonymous: bool = False
    endpoint: str | None = None
    region: str | None = None
    credentials: str | None = None

    def __post_init__(self) -> None:
        """Checks the fields; a message never quotes what may be a secret."""
        check_types(self, "RawRoot", shown=False)
        if not self.url:
            raise RecipeError("RawRoot: the url is empty; give a folder or s3://bucket/prefix")
        check_lake_url(self.url, "RawRoot: url")
        given = (self.anonymous, self.endpoint, self.region, self.credentials)
        if not self.url.startswith("s3://") and any(given):
            raise RecipeError(f"RawRoot({self.url!r}): a folder has no such options; give its path alone")
        check_endpoint(self.endpoint or "", f"RawRoot({self.url!r}): endpoint")
        check_region(self.region or "", f"RawRoot({self.url!r}): region")
        if self.credentials is not None and not re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*", self.credentials):
            raise RecipeError(
                f"RawRoot({self.url!r}): credentials (not shown) must be the beginning of the variables' names, in"
                ' capitals, such as "MINIO" for MINIO_ACCESS_KEY_ID; the values stay in the environment'
            )
        if self.anonymous and self.credentials:
            raise RecipeError(f"RawRoot({self.url!r}): an anonymous bucket needs no credentials; give one of the two")


def raw_root_below(root: str | RawRoot, folder: str) -> str | RawRoot:
    """A folder below a root, with the same options.

    Args:
        root: an address, or a RawRoot.
        folder: its path below the root.

    >>> raw_root_below("/data/dolma/", "documents")
    '/data/dolma/documents'
    """
    if isinstance(root, RawRoot):
        return replace(root, url=f"{root.url.rstrip('/')}/{folder}")
    return f"{root.rstrip('/')}/{folder}"
