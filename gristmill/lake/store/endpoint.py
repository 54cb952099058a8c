"""What an address and the options of a lake may hold: never a secret.

Addresses and options are written into plans, ledgers, logs and messages. So credentials come from the environment alone
(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), and a message about a refused value does not quote it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from gristmill.errors import RecipeError


@dataclass(frozen=True, slots=True)
class Access:
    """How a bucket is asked that is not asked as the environment of the lake says. It lives in memory only.

    Attributes:
        variables: beginning of the names of the environment variables with its credentials, for messages.
        anonymous: whether requests are not signed.
        key: id of the access key; empty: that of the lake.
        secret: the secret access key.
        token: the session token; empty without one.
    """

    variables: str = "AWS"
    anonymous: bool = False
    key: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    @property
    def mend(self) -> str:
        """The mend, for people, if the bucket refuses these credentials."""
        if self.anonymous:
            return "it may not be read without credentials: give its RawRoot credentials instead of anonymous=True"
        return (
            f"give the environment of each process a {self.variables}_ACCESS_KEY_ID and"
            f" {self.variables}_SECRET_ACCESS_KEY (a role's: {self.variables}_SESSION_TOKEN too) that may list and read"
        )


_SECRET = re.compile(r"secret|access_key|token|password|credential|^sse_customer")
"""Names of client options that hold secrets."""

_PASSWORD = re.compile(r"s3://[^/]*[@:]|(?!s3://).*@", re.DOTALL)
"""The name of a bucket has neither @ nor a colon; the names of objects may have both."""

_SERVER = r"([\w.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/[\w./~=-]*)?"
"""Host, port and path. A user, a query, a fragment or an escape may hold a secret; some make the client panic."""

_ENDPOINT = re.compile("https?://" + _SERVER, re.ASCII)
_PROXY = re.compile("((https?|socks[45]h?)://)?" + _SERVER, re.ASCII)
_REGION = re.compile(r"[\w-]+", re.ASCII)


def check_no_password(address: str, where: str) -> None:
    """Refuses `user:password@` in an address, also in per-cent escapes.

    Args:
        address: a URL, or `host:port`.
        where: the setting that holds it, for the message.

    Raises:
        RecipeError: it names a user or a password.
    """
    if _PASSWORD.match(address) or _PASSWORD.match(unquote(address)):
        raise RecipeError(
            f"{where} holds a user or a password (not shown); write the address without them, and give credentials by"
            " the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )


def check_lake_url(url: str, where: str) -> None:
    """Checks the form of a lake's address; the path of a folder may contain any character.

    Args:
        url: root of the lake.
        where: the setting that holds it, for the message.

    Raises:
        RecipeError: it is neither a folder nor `s3://`, or it holds a password.
    """
    if "://" not in url:
        return
    check_no_password(url, where)
    if not url.startswith("s3://"):
        raise RecipeError(f"{where} is {url!r}; give a folder or s3://bucket/prefix")


def absolute_path(path: Path) -> Path:
    """The absolute path of a file or folder, without `..`: the folder that it was typed in may go.

    Links stay, unless the path has a `..`, which leads to the folder above the target of a link.

    >>> absolute_path(Path("/data/project/../lake"))
    PosixPath('/data/lake')
    """
    whole = path.absolute()
    return whole.resolve() if ".." in whole.parts else whole


def absolute_folder(path: str, what: str) -> str:
    """The absolute path of a folder.

    Args:
        path: relative, absolute, or one that begins with `~`.
        what: name of the setting that gives the path, for the message.

    Raises:
        RecipeError: it begins with the `~` of nobody.
    """
    try:
        return str(absolute_path(Path(path).expanduser()))
    except RuntimeError as error:
        raise RecipeError(f"{what} is {path!r}: {error}; write the folder's path") from error


def check_endpoint(endpoint: str, where: str) -> None:
    """Checks the endpoint of a bucket; an empty one is Amazon's.

    Args:
        endpoint: such as `http://127.0.0.1:9000`.
        where: the setting that holds it, for the message.

    Raises:
        RecipeError: it holds a password, or is not the URL of a server.
    """
    check_no_password(endpoint, where)
    if endpoint and not _ENDPOINT.fullmatch(endpoint):
        raise RecipeError(f"{where} is no address of a server (not shown); give http://host:port or https://host")


def check_region(region: str, where: str) -> None:
    """Checks the region of a bucket; an empty one is the client's default.

    Args:
        region: such as `eu-north-1`.
        where: the setting that holds it, for the message.

    Raises:
        RecipeError: it is not a name of letters, digits and hyphens.
    """
    if region and not _REGION.fullmatch(region):
        raise RecipeError(f"{where} is no name of a region (not shown); give one such as eu-north-1")


def check_options(url: str, options: Mapping[str, str]) -> None:
    """Checks the options of a lake, for folders and buckets alike.

    Args:
        url: root of the lake, for messages.
        options: options of the bucket client.

    Raises:
        RecipeError: an option is a credential, or holds one, or its value is no address or region where it must be.
    """
    for name, value in options.items():
        where = f"{url}: option {name}"
        if _SECRET.search(name.lower()):
            raise RecipeError(f"{where}: credentials are taken from the environment alone: AWS_...")
        if "endpoint" in name.lower():
            check_endpoint(value, where)
        elif "region" in name.lower():
            check_region(value, where)
        else:
            check_no_password(value, where)
        if "proxy_url" in name.lower() and not _PROXY.fullmatch(value):
            raise RecipeError(f"{where} is no address of a server (not shown); give http://host:port")
