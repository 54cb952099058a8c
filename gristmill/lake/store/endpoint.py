"""What an address and the options of a lake may hold: never a secret.

Addresses and options are written into plans, ledgers, logs and messages. So credentials come from the environment alone
(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), and a message about a refused value does not quote it.
"""

import re
from collections.abc import Mapping

from gristmill.errors import RecipeError

_SECRET = re.compile(r"secret|access_key|token|password|credential|^sse_customer")
"""Names of client options that hold secrets."""

_PASSWORD = re.compile(r"s3://[^/]*[@:]|(?!s3://).*@", re.DOTALL)
"""The name of a bucket has neither @ nor a colon; the names of objects may have both."""


def check_no_password(address: str, where: str) -> None:
    """Refuses `user:password@` in an address.

    Args:
        address: a URL, or `host:port`.
        where: the setting that holds it, for the message.

    Raises:
        RecipeError: it names a user or a password.
    """
    if _PASSWORD.match(address):
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


def check_endpoint(endpoint: str, where: str) -> None:
    """Checks the endpoint of a bucket; an empty one is Amazon's.

    Args:
        endpoint: such as `http://127.0.0.1:9000`.
        where: the setting that holds it, for the message.

    Raises:
        RecipeError: it holds a password, or is not the URL of a server.
    """
    check_no_password(endpoint, where)
    if endpoint and not re.fullmatch(r"https?://[^/\s?#]+\S*", endpoint):
        raise RecipeError(f"{where} is {endpoint!r}; give http://host:port or https://host")


def check_options(url: str, options: Mapping[str, str]) -> None:
    """Checks the options of a lake, for folders and buckets alike.

    Args:
        url: root of the lake, for messages.
        options: of the bucket client.

    Raises:
        RecipeError: an option is a credential, or holds one, or the endpoint is no URL.
    """
    for name, value in options.items():
        where = f"{url}: option {name}"
        if _SECRET.search(name.lower()):
            raise RecipeError(f"{where}: credentials are taken from the environment alone: AWS_...")
        if "endpoint" in name.lower():
            check_endpoint(value, where)
        elif "://" in value:
            check_no_password(value, where)
