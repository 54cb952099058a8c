"""Finds what is read: finished partitions, their shards, and the shards of their attribute sets.

All that ledgers can tell is checked here, before the first row is read: that a partition is finished, that no run is at
work on it, and that a set was made from these very shards. Nothing is joined on keys: rows of a set stand in the order
of the documents, and each id is compared while they are read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gristmill.errors import DataError, RecipeError, StoreError, known_names
from gristmill.execution.claim import is_claimed_by_run
from gristmill.lake.address import Place, attributes_asset, place
from gristmill.lake.asset_kind import AssetKind
from gristmill.lake.asset_kinds import DOCUMENTS, kind_of, names_in_asset_address
from gristmill.lake.ledger.adopted import ShardFile, open_shard
from gristmill.lake.ledger.files import find_head_and_table
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.protocol import Store
from gristmill.reading.arguments import check_name


@dataclass(frozen=True)
class ReadPartition:
    """A finished partition, as its ledger describes it.

    Attributes:
        place: its asset and snapshot.
        head: the head of its ledger.
        shards: the rows of the ledger's table, by name.
    """

    place: Place
    head: Ledger
    shards: dict[str, Shard]

    def parent(self) -> Place:
        """The documents that its rows are of: itself, or the dataset version that it was made from."""
        if self.place.kind is DOCUMENTS:
            return self.place
        upstream = next(each for each in self.head.inputs if kind_of(each.asset) is DOCUMENTS)
        return place(upstream.asset, upstream.snapshot)

    def parent_content(self, shard: str) -> str:
        """The content digest of the parent's shard that a shard was made from, or is."""
        if self.place.kind is DOCUMENTS:
            return self.shards[shard].content
        parent = self.parent().asset
        return next((i.content for i in self.shards[shard].inputs if i.asset == parent), "")


@dataclass(frozen=True)
class ReadShard:
    """A shard to be read, and the shards of attribute sets beside it.

    Attributes:
        partition: partition of the shard.
        shard: its row of the ledger's table.
        sets: place and row of the table of each set's shard of the same name, by the set's name.
    """

    partition: ReadPartition
    shard: Shard
    sets: dict[str, tuple[Place, Shard]]

    def file(self, store: Store) -> ShardFile:
        """The shard's file."""
        return open_shard(store, self.partition.place, self.shard)

    @property
    def is_whole(self) -> bool:
        """Whether it has each row that its sets have; the rows of a mix are some of them, in the same order."""
        return self.partition.place.kind is DOCUMENTS


def open_partition(store: Store, where: Place) -> ReadPartition:
    """A partition that is finished, and that no run changes.

    Args:
        store: the lake.
        where: its asset and snapshot.

    Raises:
        DataError: it is not finished, or its ledger is wrong.
        StoreError: a run is at work on it.
    """
    if is_claimed_by_run(store, where.claim_path):
        raise StoreError(
            f"{where.asset}, snapshot {where.snapshot}: is being made, or the run that made it has died; read it when"
            " it is finished, or make it again"
        )
    ledger = find_head_and_table(store, where)
    if ledger is None:
        raise DataError(
            f"{where.asset}, snapshot {where.snapshot}: is not finished; make it, or name the snapshots that are:"
            " snapshots=[...]"
        )
    head, shards = ledger
    return ReadPartition(where, head, {shard.name: shard for shard in shards})


def snapshots_of_asset(store: Store, asset: str) -> list[str]:
    """The snapshots of an asset that have rows in the lake, finished or not; sorted."""
    top = f"{asset}/"
    return sorted(folder.removeprefix(top).rstrip("/") for folder in store.folders(top))


def partitions_of_asset(store: Store, asset: str, snapshots: Sequence[str] | None) -> list[ReadPartition]:
    """The partitions of an asset, in the order of their snapshots.

    Args:
        store: the lake.
        asset: its address.
        snapshots: the keys of those that are read; None: all.

    Raises:
        RecipeError: the lake has no such asset or snapshot; the message lists those that it has.
        DataError: a partition is not finished.
        StoreError: a run is at work on a partition.
    """
    there = known_snapshots(store, asset)
    if snapshots is None:
        return [open_partition(store, place(asset, key)) for key in there]
    for key in snapshots:
        if key not in there:
            raise RecipeError(f"{asset}: there is no snapshot {key!r}; {known_names(key, there)}")
    return [open_partition(store, place(asset, key)) for key in dict.fromkeys(snapshots)]


def known_snapshots(store: Store, asset: str) -> list[str]:
    """The snapshots of an asset that the lake has, as snapshots_of_asset() gives them.

    Raises:
        RecipeError: the lake has no such asset; the message lists those that it has.
    """
    there = snapshots_of_asset(store, asset)
    if not there:
        known = known_names(asset, _assets_of_same_kind(store, asset))
        mend = "" if "did you mean" in known else f"; make it first, if it is on a shelf: `gristmill make - {asset}`"
        raise RecipeError(f"{store.url}: there is no {asset}; {known}{mend}")
    return there


def _assets_of_same_kind(store: Store, asset: str) -> Iterable[str]:
    """The assets of the same kind."""
    kind = kind_of(asset)
    return list_assets(store, kind) if kind else ()


def address_from_fields(name: str, kind: AssetKind, example: str) -> str:
    """The address of an asset that a caller names by its fields, by its address, or by an address above it.

    Args:
        name: such as `wiki/v1`, `sources/wiki/v1` or `sources/wiki/v1/documents`.
        kind: kind of the asset.
        example: text that shows a valid name, for the message.

    Raises:
        RecipeError: the name has another form.

    >>> address_from_fields("wiki/v1", DOCUMENTS, "wiki/v1")
    'sources/wiki/v1/documents'
    """
    check_name("name", name, example)
    for address in (name, f"{name}/documents", f"{DOCUMENTS.top_folder}{name}/documents"):
        if kind_of(address) is kind:
            return address
    raise RecipeError(f"{name!r} names no {kind.name} of a lake: write it as {example!r}")


def shards_to_read(
    store: Store, partitions: Sequence[ReadPartition], sets: Sequence[str], shards: Sequence[str] | None
) -> list[ReadShard]:
    """The shards that are read, in order, each with the shards of the attribute sets beside it.

    Args:
        store: the lake.
        partitions: partitions of documents, or of a mix's streams.
        sets: names of attribute sets.
        shards: names of the shards that are read; None: all.

    Raises:
        RecipeError: no partition has a shard of this name, or the lake has no such set.
        DataError: a set is not finished, or was made from other documents than those in the lake.
        StoreError: a run is at work on a set.
    """
    known = {name for partition in partitions for name in partition.shards}
    for name in shards or ():
        if name not in known:
            raise RecipeError(
                f"{partitions[0].place.asset}: there is no shard {name!r}; {known_names(name, sorted(known))}"
            )
    wanted = known if shards is None else set(shards)
    found: list[ReadShard] = []
    for partition in partitions:
        beside = {name: _attribute_set_beside(store, partition, name) for name in sets}
        for name, shard in sorted(partition.shards.items()):
            if name in wanted:
                found.append(
                    ReadShard(partition, shard, {s: _shard_beside(partition, b, name) for s, b in beside.items()})
                )
    return found


def _attribute_set_beside(store: Store, partition: ReadPartition, name: str) -> ReadPartition:
    parent = partition.parent()
    names = names_in_asset_address(parent.asset)
    where = place(attributes_asset(names["source"], names["version"], name), parent.snapshot)
    if parent.snapshot not in snapshots_of_asset(store, where.asset):
        top = where.asset.removesuffix(name)
        sets = [folder.removeprefix(top).rstrip("/") for folder in store.folders(top)]
        if name not in sets:
            raise RecipeError(
                f"{parent.asset}: there is no attribute set {name!r} beside it; {known_names(name, sets)}"
            )
    return open_partition(store, where)


def _shard_beside(partition: ReadPartition, beside: ReadPartition, name: str) -> tuple[Place, Shard]:
    """The set's shard beside a shard of documents; it must have been made from the same rows."""
    where = beside.place
    shard = beside.shards.get(name)
    made_from = beside.parent_content(name) if shard else ""
    if shard is None or made_from != partition.parent_content(name):
        what = "was made from another version of these documents" if shard else "is missing"
        raise DataError(f"{where.asset}, snapshot {where.snapshot}: shard {name} {what}; make this attribute set again")
    return where, shard
