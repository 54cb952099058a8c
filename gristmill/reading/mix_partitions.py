"""The partitions that a mix is read from: the slices that its index names, or those that a caller names."""

from collections.abc import Sequence

from gristmill.errors import DataError, RecipeError, known_names
from gristmill.lake.address import mix_asset, mix_index, place
from gristmill.lake.asset_kinds import MIX, names_in_asset_address
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.protocol import Store
from gristmill.reading.partitions import ReadPartition, open_partition, snapshots_of_asset
from gristmill.stages.mixing.index import read_index


def mix_partitions(
    store: Store, name: str, streams: Sequence[str] | None, snapshots: Sequence[str] | None
) -> list[ReadPartition]:
    """The partitions of a mix, stream by stream, in the order of the index or of the arguments.

    Args:
        store: the lake.
        name: name of the mix.
        streams: keys of the streams; None: all.
        snapshots: keys of the snapshots; None: those that the index names.

    Raises:
        RecipeError: the lake has no such mix, stream or snapshot.
        DataError: the mix has no index, or a slice is not finished, or changed since the index was written.
        StoreError: a run is at work on a slice.
    """
    known = [names_in_asset_address(asset)["stream"] for asset in list_assets(store, MIX, mix=name)]
    if not known:
        mixes = sorted({names_in_asset_address(asset)["mix"] for asset in list_assets(store, MIX)})
        raise RecipeError(f"{store.url}: there is no mix {name!r}; {known_names(name, mixes)}")
    for stream in streams or ():
        if stream not in known:
            raise RecipeError(f"mix {name!r}: there is no stream {stream!r}; {known_names(stream, known)}")
    if snapshots is not None:
        return _partitions_of_mix(store, name, known if streams is None else streams, snapshots)
    index = read_index(store, mix_index(name))
    if index is None:
        raise DataError(f"{mix_index(name)}: does not exist yet, or is damaged; make the mix, or name snapshots=[...]")
    found: list[ReadPartition] = []
    order = {key: number for number, key in enumerate(streams)} if streams is not None else {}
    slices = [each for each in index.slices if streams is None or each.stream in order]
    for each in sorted(slices, key=lambda each: order.get(each.stream, 0)):
        partition = open_partition(store, place(mix_asset(name, each.stream), each.snapshot))
        if partition.head.fingerprint != each.fingerprint:
            raise DataError(
                f"{partition.place.asset}, snapshot {each.snapshot}: was made again after the mix's index was written;"
                " make the mix, or name the snapshots: snapshots=[...]"
            )
        found.append(partition)
    return found


def _partitions_of_mix(
    store: Store, name: str, streams: Sequence[str], snapshots: Sequence[str]
) -> list[ReadPartition]:
    there = {stream: snapshots_of_asset(store, mix_asset(name, stream)) for stream in streams}
    known = sorted({key for keys in there.values() for key in keys})
    for key in snapshots:
        if key not in known:
            raise RecipeError(f"mix {name!r}: there is no snapshot {key!r}; {known_names(key, known)}")
    return [
        open_partition(store, place(mix_asset(name, stream), key))
        for stream in streams
        for key in dict.fromkeys(snapshots)
        if key in there[stream]
    ]
