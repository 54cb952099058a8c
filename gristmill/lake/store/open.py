"""Opens a store by its URL. A Lake is a URL with the options of its bucket client."""

from collections.abc import Mapping

import msgspec

from gristmill.extras import check_installed, needs
from gristmill.lake.store.endpoint import Access, absolute_folder, check_lake_url, check_options
from gristmill.lake.store.protocol import Store


def open_store(
    url: str,
    options: Mapping[str, str] | None = None,
    access: Access | None = None,
    *,
    own: str = "",
    foreign: bool = False,
) -> Store:
    """The store at a folder's path or at `s3://bucket/prefix`.

    Args:
        url: root of the lake.
        options: options of the bucket client, such as endpoint and region. Never secrets: those come from the
            environment.
        access: credentials of a bucket that only holds raw data; None: those of the environment, AWS_ACCESS_KEY_ID ...
        own: the folder below a folder's root that has its lock and its unfinished files; empty: the root itself.
        foreign: whether it holds other people's files, which are read through all links. In a lake only raw data are.

    Raises:
        RecipeError: the url is neither a folder nor `s3://`, an option is wrong, or one of them holds a secret; or the
            extra `s3` is not installed.
    """
    _check_store_url(url, options or {})
    if url.startswith("s3://"):
        check_installed(needs("obstore", "boto3"), url)
        from gristmill.lake.store.s3 import BucketStore  # noqa: PLC0415 - a folder lake needs no bucket client

        return BucketStore(url, options or {}, access)
    from gristmill.lake.store.folder import FolderStore  # noqa: PLC0415 - see above

    return FolderStore(url, own, foreign=foreign)


def _check_store_url(url: str, options: Mapping[str, str]) -> None:
    check_lake_url(url, "the lake's address")
    check_options(url, options)


class Lake(msgspec.Struct, frozen=True):
    """The address of a lake. It holds no secrets.

    Attributes:
        url: root of the lake: a folder, or `s3://bucket/prefix`. A relative path is one below the current directory; it
            becomes absolute at once, so that messages and workers name the same folder.
        options: options of the bucket client, such as endpoint and region.

    Raises:
        RecipeError: see open_store.
    """

    url: str
    options: dict[str, str] = {}

    def __post_init__(self) -> None:
        """Checks the address and the options, and makes the path of a folder absolute."""
        _check_store_url(self.url, self.options)
        if "://" not in self.url:
            msgspec.structs.force_setattr(self, "url", absolute_folder(self.url, "the lake's address"))

    def store(self) -> Store:
        """The store of the lake, newly opened."""
        return open_store(self.url, self.options)


class ForeignFolder(Lake, frozen=True):
    """The address of other people's files, which are read through all links."""

    def store(self) -> Store:
        """The store of the files, newly opened."""
        return open_store(self.url, self.options, foreign=True)
