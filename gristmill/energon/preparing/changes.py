"""What has changed in a folder: files that a person has edited, and tars that somebody writes to."""

from collections.abc import Callable, Mapping, Sequence

from gristmill.energon.formats.split import SPLIT_YAML, read_split
from gristmill.energon.preparing.dataset import list_files, meta_path, path_order
from gristmill.energon.preparing.files import read_optional
from gristmill.energon.preparing.flaw import Flaw
from gristmill.energon.preparing.shards import WalkedShard
from gristmill.errors import DataError, RecipeError
from gristmill.lake.store.protocol import Store

Split = Callable[[Sequence[str]], tuple[bytes, list[Flaw]]]
"""Makes the split file of some shards, by the options of a preparation."""


def check_edits(store: Store, texts: Mapping[str, bytes], split: Split | None) -> None:
    """Refuses to replace a file that a person may have edited.

    Args:
        store: store of the dataset.
        texts: content of the files that will be written, by their paths.
        split: split that the same options make. If it is given, the split file is replaced if it is made from the
            shards that it names: then nobody has edited it.

    Raises:
        RecipeError: a file is there with another content.
    """
    for path, data in texts.items():
        there = read_optional(store, path)
        if there is None or there == data or (split and path == meta_path(SPLIT_YAML) and _is_made_by(split, there)):
            continue
        raise RecipeError(
            f"{path}: it is there with another content, and may have been edited; it was kept, and nothing was"
            " written. Leave out the options that make it, or give --force-overwrite to replace it"
        )


def _is_made_by(split: Split, data: bytes) -> bool:
    try:
        found = read_split(data, meta_path(SPLIT_YAML))
    except DataError:
        return False
    shards = {shard for names in found.split_parts.values() for shard in names}
    return split(sorted(shards, key=path_order))[0] == data


def changed_shards(store: Store, shards: Sequence[WalkedShard]) -> list[Flaw]:
    """The shards that somebody has written to since they were walked over. No index is made of half a shard.

    Args:
        store: store of the dataset.
        shards: walked shards.
    """
    etags = {entry.path: entry.etag for entry in list_files(store)}
    what, mend = "it was changed while it was read", "wait until nobody writes to it, then run again"
    return [Flaw(shard.shard, what, mend) for shard in shards if etags.get(shard.shard) != shard.etag]
