"""PinnedRelease: what a training run used, by name: ledgers, objects and the trainer's configuration.

It lies in `releases/<name>.json` and is never changed. `gc` keeps every part that it names, and `verify` compares them.
"""

import hashlib

import msgspec

from gristmill.errors import DataError, Unknown, known_names
from gristmill.lake.address import check_name
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.folders.pinned_upload import RELEASES, name_of_release
from gristmill.lake.store.json_object import Integer, decode_object
from gristmill.lake.store.protocol import Store


class PinnedLedger(msgspec.Struct, frozen=True):
    """The ledger of one partition, or of one tokenizer or model, as it was.

    Attributes:
        asset: address of the asset.
        snapshot: key of the snapshot; empty if the asset has none.
        fingerprint: fingerprint of what the ledger describes.
        recipe: name, version and parameters that it was made with.
        totals: totals of a partition, such as `rows`.
        dropped: number of rows that were left out, by reason.
        inputs: `asset`, `snapshot` and `fingerprint` of each input.
    """

    asset: str
    snapshot: str
    fingerprint: str
    recipe: dict[str, msgspec.Raw]
    totals: dict[str, Integer]
    dropped: dict[str, Integer]
    inputs: tuple[tuple[str, str, str], ...]

    @property
    def parameters(self) -> str:
        """The recipe as JSON, for comparisons."""
        return msgspec.json.encode(self.recipe, order="sorted").decode()


class _NamedDigest(msgspec.Struct):
    digest: str = ""


class PinnedRelease(msgspec.Struct, frozen=True, omit_defaults=True):
    """A release.

    Attributes:
        schema: 1.
        name: name of the release.
        mix: name of the mix.
        tokenizer: name of the tokenizer.
        index: fingerprint of the index of the token cache that it was made from.
        slices: (stream, snapshot) of each slice, in the order of the index.
        ledgers: all ledgers from the raw data to the token caches, in the order in which they are made.
        objects: (sha256, size in bytes) of each object of the token caches, exports and tokenizer, by its path.
        files: digest of each file of the release, by its path, with the lake's root taken out: see content_digest.
        digest: sha256 of all the rest, so that an edited release is noticed; empty in releases of older versions.
    """

    schema: int
    name: str
    mix: str
    tokenizer: str
    index: str
    slices: tuple[tuple[str, str], ...]
    ledgers: tuple[PinnedLedger, ...]
    objects: dict[str, tuple[str, Integer]]
    files: dict[str, str]
    digest: str = ""

    @property
    def with_digest(self) -> "PinnedRelease":
        """The same release with its digest."""
        bare = msgspec.structs.replace(self, digest="")
        return msgspec.structs.replace(self, digest=hashlib.sha256(as_json(bare)).hexdigest())

    def pinned_ledger(self, asset: str, snapshot: str) -> PinnedLedger | None:
        """The ledger of a partition; None if the release does not have it."""
        found = (each for each in self.ledgers if (each.asset, each.snapshot) == (asset, snapshot))
        return next(found, None)


def pinned_path(name: str) -> str:
    """The path of a release.

    >>> pinned_path("blend-2024")
    'releases/blend-2024.json'
    """
    return f"{RELEASES}{check_name(name, 'release')}.json"


def withdrawn_path(name: str) -> str:
    """The path of a release that was withdrawn.

    >>> withdrawn_path("blend-2024")
    'withdrawn/releases/blend-2024.json'
    """
    return f"withdrawn/releases/{check_name(name, 'release')}.json"


def release_names(store: Store) -> list[str]:
    """The names of all releases of a lake, sorted."""
    return sorted(name for entry in store.list(RELEASES) if (name := name_of_release(entry.path)) is not None)


def read_pinned(store: Store, name: str) -> PinnedRelease:
    """A release of the lake.

    Args:
        store: the lake.
        name: name of the release.

    Raises:
        Unknown: the lake has no such release.
        DataError: its file is damaged.
    """
    path = pinned_path(name)
    tagged = store.read_tagged(path)
    if tagged is None:
        raise Unknown(f"{path}: the lake has no such release; {known_names(name, release_names(store))}")
    return decode_object(tagged[0], PinnedRelease, path, "a release")


def check_unedited(data: bytes, path: str) -> None:
    """Checks that the file of a release has the digest that it names. A file without a digest is not checked.

    Args:
        data: content of the file: JSON.
        path: path of the file.

    Raises:
        DataError: it was edited.
    """
    if not decode_object(data, _NamedDigest, path, "a release").digest:
        return
    release = decode_object(data, PinnedRelease, path, "a release")
    if release != release.with_digest:
        raise DataError(
            f"{path}: it was edited: it has not the digest that it names, so the parts that it names are unknown;"
            " restore it from a copy"
        )
