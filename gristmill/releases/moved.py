"""A release in a lake that was copied: its files name the lake that it came from, until they are directed here."""

import json
import re
from collections.abc import Sequence

from gristmill.errors import DataError
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.ledger.index_ledger import content_digest
from gristmill.lake.store.protocol import Store
from gristmill.releases.pinned import PinnedRelease, check_unedited, pinned_path, read_pinned, withdrawn_path
from gristmill.releases.pinned_objects import first_lost_object

_PATH = re.compile(rb'("(?:[^"\\]|\\.)+)/(?:releases|token_caches|exports)/')
"""A JSON string that is a path in a lake, up to the lake's root."""


def lake_named_in_file(data: bytes, path: str, digest: str) -> str:
    """The lake that a file of a release names in place of its own; empty if it is not the file that the release names.

    Args:
        data: the file's bytes.
        path: path of the file.
        digest: its content digest in the release.
    """
    found = _PATH.search(data)
    try:
        root = str(json.loads(found[1] + b'"')) if found else ""
        return root if root and content_digest(data, path, root) == digest else ""
    except (ValueError, DataError):
        return ""


def redirect_release(store: Store, name: str, mix: str, tokenizer: str, exports: Sequence[str]) -> tuple[str, ...]:
    """Directs the files of a release in a copied lake to this lake, so that trainers read it. Nothing else changes.

    Nothing is written if the lake has no such release, if it was made with other words or withdrawn, or if one of its
    files is lost or edited. If a run is killed, the next directs the other files.

    Args:
        store: the lake.
        name: name of the release.
        mix: name of its mix.
        tokenizer: name of its tokenizer.
        exports: names of the exports that belong to it.

    Returns:
        The paths of the files that were directed.

    Raises:
        DataError: the release was edited or is damaged, or this lake lacks an object that it names.
    """
    where = pinned_path(name)
    tagged = store.read_tagged(where)
    if tagged is None or store.head(withdrawn_path(name)) is not None:
        return ()
    check_unedited(tagged[0], where)
    release = read_pinned(store, name)
    if (release.mix, release.tokenizer, _exports_of_release(release)) != (mix, tokenizer, set(exports)):
        return ()
    moved = {}
    for path, digest in sorted(release.files.items()):
        file = store.read_tagged(path)
        here = redirect_release_file(file[0], path, digest, store.url) if file else None
        if file is None or here is None:
            return ()
        if here != file[0]:
            moved[path] = here
    if moved:
        _check_objects(store, release)
    for path, data in moved.items():
        store.put(path, data)
    return tuple(moved)


def redirect_release_file(data: bytes, path: str, digest: str, url: str) -> bytes | None:
    """A file of a release as it is in the lake with this address; None if it is not the file that the release names.

    Args:
        data: the file's bytes.
        path: path of the file.
        digest: its content digest in the release.
        url: address of the lake.
    """
    left = lake_named_in_file(data, path, digest)
    here = data.replace(_json_path_prefix(left), _json_path_prefix(url)) if left else data
    try:
        return here if content_digest(here, path, url) == digest else None
    except DataError:
        return None


def _exports_of_release(release: PinnedRelease) -> set[str]:
    """The names of the exports that belong to a release."""
    return {names["export"] for each in release.ledgers if "export" in (names := names_in_asset_address(each.asset))}


def _json_path_prefix(root: str) -> bytes:
    """How a JSON string begins that is a path in a lake."""
    return json.dumps(f"{root}/").encode()[:-1]


def _check_objects(store: Store, release: PinnedRelease) -> None:
    """Checks that the lake has each object of a release, in its size.

    Raises:
        DataError: it lacks one.
    """
    lost = first_lost_object(store, release)
    if lost:
        raise DataError(
            f"{lost}: {pinned_path(release.name)} names it with {release.objects[lost][1]:,} bytes, and this lake does"
            " not have it so; copy it again from the lake that this one was copied from"
        )
