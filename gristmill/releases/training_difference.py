"""What training reads otherwise in two releases: by the trainer's configuration, the data card and the metadatasets."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from gristmill.errors import DataError
from gristmill.lake.ledger.files import ABSENT, change_in_words
from gristmill.lake.ledger.folders.pinned_upload import RELEASES
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store
from gristmill.releases.card_files import CARD
from gristmill.releases.moved import redirect_release_file
from gristmill.releases.pinned import PinnedRelease
from gristmill.stages.export.index import release_folder
from gristmill.stages.token_cache.levanter_config import DATA_YAML

_PLACES = ("cache_catalog", "tokenizer")
"""Fields of the configuration that name places, as `cache_dir` of each component does: by the names of release, mix and
tokenizer. Streams may have these names too."""


class _Card(msgspec.Struct):
    """What a data card says of training; cards whose weights say all have nothing."""

    training: dict[str, Any] = {}


def training_differences(store: Store, before: PinnedRelease, after: PinnedRelease) -> Iterator[str]:
    """Yields a line for each number or option by which training reads two releases otherwise.

    Args:
        store: the lake.
        before: one release.
        after: the other.

    Raises:
        DataError: a file of a release is lost or edited.
    """
    old, new = dict(_training_options(store, before)), dict(_training_options(store, after))
    for name in dict.fromkeys([*old, *new]):
        was, is_ = old.get(name, ABSENT), new.get(name, ABSENT)
        if was != is_:
            yield f"training: {change_in_words(name, was, is_)}"
    for one, other in ((before, after), (after, before)):
        yield from (f"{path}: only in {one.name}" for path in sorted(_exported_names(one) - _exported_names(other)))


def _exported_names(release: PinnedRelease) -> set[str]:
    """What the indexes of exports have for trainers. A name has the digest of what it names."""
    return {folder for path in release.objects if (folder := release_folder(path))}


def _training_options(store: Store, release: PinnedRelease) -> Iterator[tuple[str, object]]:
    """Name and value of each number and option by which training reads a release."""
    for path, data in _release_files(store, release, DATA_YAML):
        config = decode_object(data, dict[str, Any], path, "a trainer's configuration")
        for name in _PLACES:
            config.pop(name, None)
        for component in config.get("components", {}).values():
            component.pop("cache_dir", None)
        yield from _flatten_values(config, "")
    for path, data in _release_files(store, release, CARD):
        card = decode_object(data, _Card, path, "a data card")
        reading = card.training.pop("reading", {})
        streams = reading.pop("streams", ())
        yield from _flatten_values(card.training | {"reading": reading}, "")
        for each in streams:
            yield from _flatten_values(
                {name: each.get(name) for name in ("share", "epochs")}, f"stream {each.get('stream')}."
            )


def _release_files(store: Store, release: PinnedRelease, name: str) -> Iterator[tuple[str, bytes]]:
    """Path and bytes of a file of a release, as in this lake; nothing if the release does not have it."""
    path = f"{RELEASES}{release.name}/{name}"
    if path in release.files:
        tagged = store.read_tagged(path)
        data = redirect_release_file(tagged[0], path, release.files[path], store.url) if tagged else None
        if data is None:
            raise DataError(
                f"{path}: is lost or edited; `gristmill release` with the words of this release writes it again"
            )
        yield path, data


def _flatten_values(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, object]]:
    """Name and value of all that is in a mapping, and in the mappings in it."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten_values(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
