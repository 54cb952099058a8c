"""Where the raw data of a source are, and the store that holds them: the lake, or what the source's `raw` says."""

from collections.abc import Mapping
from pathlib import Path

from gristmill.environment import read_credentials
from gristmill.errors import RecipeError
from gristmill.lake.address import raw_folder
from gristmill.lake.store.adopted import Root
from gristmill.lake.store.endpoint import Access
from gristmill.lake.store.open import Lake, open_store
from gristmill.lake.store.protocol import Store
from gristmill.project import find_project
from gristmill.recipes.source import RawRoot, Source

AMAZON = "us-east-1"
"""The region of a bucket of Amazon's, if nothing names another."""


def raw_address(source: Source) -> str:
    """The root of a source's raw data outside of the lake: an absolute path, or `s3://...`; empty without one.

    `~` is the home folder. A relative path begins at the project's folder; without a project, at the current folder.

    Args:
        source: the recipe.

    Raises:
        RecipeError: it begins with `~`, and the user has no home folder; or the project's table is wrong.
    """
    url = source.raw_url
    if url is None or url.startswith("s3://"):
        return (url or "").rstrip("/")
    try:
        folder = Path(url).expanduser()
    except RuntimeError as error:
        raise RecipeError(f"source {source.name!r}: raw is {url!r}, and this user has no home folder") from error
    project = None if folder.is_absolute() else find_project()
    return str((Path(project.folder) / folder if project else folder).absolute())


def raw_store(lake: Lake, source: Source) -> Store:
    """The store that holds the raw data of a source.

    Args:
        lake: the lake.
        source: the recipe.

    Raises:
        RecipeError: see open_raw.
    """
    return open_raw(source, lake.store(), lake.options)


def open_raw(source: Source, lake: Store, options: Mapping[str, str], address: str = "") -> Store:
    """The store that holds the raw data of a source, for who has opened the lake already.

    Args:
        source: the recipe.
        lake: the lake.
        options: options of the lake. A `raw` that is a mere address is reached with them too; a RawRoot is not.
        address: result of raw_address() in the process that planned, where relative paths may lead elsewhere.

    Raises:
        RecipeError: the raw data would hold the lake, or are made by it; or a variable with credentials is missing.
    """
    address = address or raw_address(source)
    if not address:
        return lake
    reached, access = raw_access(source, options)
    if address.startswith("s3://") and reached.get("endpoint") != options.get("endpoint"):
        return open_store(
            address, reached, access, foreign=True
        )  # the bucket of another server has no part of this lake
    _check_apart(source, address, lake.url)
    return open_store(address, reached, access, foreign=True)


def raw_access(source: Source, options: Mapping[str, str]) -> tuple[Mapping[str, str], Access | None]:
    """The options and credentials for open_store().

    Args:
        source: the recipe.
        options: options of the lake.

    Raises:
        RecipeError: a variable with credentials is missing.
    """
    root = source.raw
    if not isinstance(root, RawRoot) or not root.url.startswith("s3://"):
        return options, None
    given = read_credentials(root.credentials, f"source {source.name!r}: raw") if root.credentials else None
    region = root.region or (given.region if given else "") or options.get("region") or AMAZON
    endpoint = root.endpoint or (given.endpoint if given else "") or f"https://s3.{region}.amazonaws.com"
    # All is given that the client would otherwise take from the environment of the lake.
    reached = {"endpoint": endpoint, "region": region, "virtual_hosted_style_request": "false"}
    if given is None:
        profile = {} if root.anonymous else {"profile": options.get("profile", "")}
        return reached | profile, Access(anonymous=root.anonymous)
    return reached, Access(root.credentials or "", key=given.key, secret=given.secret, token=given.token)


def adopted_root(files: Source, lead: str, options: Mapping[str, str]) -> Root:
    """The root of adopted files, as the lake records it: without secrets.

    Args:
        files: the source whose raw data are the files.
        lead: the path of their folder below the root, with its closing slash; empty if it is the root.
        options: options of the lake.

    Raises:
        RecipeError: a variable with credentials is missing.
    """
    address = raw_address(files)
    url = address.removesuffix(f"/{lead.rstrip('/')}") if lead else address
    if not url.startswith("s3://"):
        return Root(url)
    reached, access = raw_access(files, options)
    credentials = access.variables if access and access.key else ""
    return Root(url, dict(reached), credentials, anonymous=access is not None and access.anonymous)


def _check_apart(source: Source, address: str, lake: str) -> None:
    """Checks that raw data are not what the lake makes: reading one's own output would never end.

    The raw folder of another source in the lake is allowed.
    """
    raw, home = _comparable_address(address), _comparable_address(lake)
    what = f"source {source.name!r}: raw is {address}"
    if home.startswith(raw):
        raise RecipeError(
            f"{what}, which holds the lake {lake}: its files would be read as raw data; name a folder beside the lake"
        )
    parts = raw.removeprefix(home).split("/")
    if raw.startswith(home) and not (parts[0] == "sources" and parts[2:3] == ["raw"]):
        raise RecipeError(
            f"{what}, in the lake {lake}, which may change what is there; put the data under"
            f" {lake}/{raw_folder(source.name)}SNAPSHOT/ and leave raw out, or name a folder outside of the lake"
        )


def _comparable_address(address: str) -> str:
    """An address with a slash at its end, links followed: comparable with others."""
    path = address if address.startswith("s3://") else str(Path(address).resolve())
    return f"{path.rstrip('/')}/"
