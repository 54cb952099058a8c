"""Finds the file of a shard: in the lake, or, if it was adopted, where other people keep it.

An adopted shard's row of the ledger's table names its file below a root. An object in the
partition's folder says where the root is; it is not part of a fingerprint. This is the only place that joins the two.
"""

import msgspec

from gristmill.errors import DataError
from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Shard
from gristmill.lake.store.adopted import AdoptedFiles, Root
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store


def root_path(place: Place) -> str:
    """The path of the object that says where the adopted files of a partition are. No shard has such a name."""
    return f"{place.folder}root.json"


def read_root(store: Store, place: Place) -> Root | None:
    """Where the adopted files of a partition are; None if it has none.

    Raises:
        DataError: the object that says so is wrong.
    """
    tagged = store.read_tagged(root_path(place))
    return (
        decode_object(tagged[0], Root, root_path(place), "the address of a root", "adopt it again") if tagged else None
    )


def write_root(store: Store, place: Place, root: Root | None) -> None:
    """Records where the adopted files of a partition are, if that is new. None: the partition has no such files."""
    if root is None:
        return
    data = msgspec.json.encode(root, order="sorted")
    tagged = store.read_tagged(root_path(place))
    if tagged is None or tagged[0] != data:
        store.put(root_path(place), data)


def shard_file(store: Store, place: Place, shard: Shard, *, sized: bool = True) -> tuple[Store, str]:
    """The store and the path of a shard's file.

    Args:
        store: the lake.
        place: the partition.
        shard: the shard's row of the ledger's table.
        sized: whether an adopted file of another size must not be read. An audit reads whatever is there.

    Raises:
        DataError: it is an adopted file, and the lake does not say where its root is.
    """
    if not shard.at:
        return store, place.shard(shard.name)
    root = read_root(store, place)
    if root is None:
        raise DataError(
            f"{root_path(place)}: there is no such object, so the file {shard.at} is not found; adopt it again"
        )
    return AdoptedFiles(root, shard.bytes if sized else None), f"{root.url}/{shard.at}"
