"""The step of conversion: it makes the v0 documents of a raw snapshot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gristmill.errors import DataError
from gristmill.execution.checks import Check, ids_unique
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item, raw
from gristmill.lake.address import documents_asset, place, raw_asset
from gristmill.lake.ledger.model import Input, Recipe, Upstream
from gristmill.lake.ledger.receipts import RawVersion, Receipt, raw_stamps
from gristmill.lake.store.hashing import sha256_of
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.listing import RawListing, by_shard, list_raw
from gristmill.recipes.source import CONVERSION, Source
from gristmill.stages.conversion.grinder import ConversionItem, ConversionSpec, RawEntry


@dataclass(frozen=True)
class ConversionStep:
    """One snapshot of a source, from raw objects to v0 documents.

    Attributes:
        source: the recipe.
        snapshot: key of the snapshot.
        shelves: the packages that hold the recipe.
        options: connection options of the bucket, for a source whose raw data is not in the lake.
        vanished: whether a snapshot without raw objects is made as one without shards; by default it is an error.
        look: whether planning hashes raw objects of which only the ctime is another. A dry run does; a run leaves this
            to its workers, which record the new ctime.
    """

    source: Source
    snapshot: str
    shelves: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    vanished: bool = False
    look: bool = False
    stage: str = "conversion"

    @property
    def makes(self) -> tuple[str, ...]:
        """See Step."""
        return (documents_asset(self.source.name, "v0"),)

    @property
    def reads(self) -> tuple[str, ...]:
        """See Step."""
        return (raw_asset(self.source.name),)

    @property
    def recipe(self) -> Recipe:
        """The recipe of v0: its digest changes when the converter or its parameters do."""
        return Recipe(self.source.name, CONVERSION, self.source.conversion_parameters(), self.source.draft)

    def code_version(self, asset: str) -> str:  # noqa: ARG002 - makes one asset
        """See Step."""
        return self.recipe.digest

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        """See Step."""
        return {"ids_unique": ids_unique}

    def plan(self, store: Store) -> "ConversionPlan":
        """See Step. The digest of a raw object is known if it was read before and has not changed since."""
        raw_store = open_store(self.source.raw, self.options) if self.source.raw else store
        listing = list_raw(self.source, raw_store, self.snapshot)
        (asset,), (made,) = self.reads, self.makes
        if not listing.entries and not self.vanished:
            raise DataError(
                f"{asset}: snapshot {self.snapshot} has no raw objects that the source reads;"
                f" put them under {asset}/{self.snapshot}/: an empty folder may mean that raw data was lost"
            )
        partition = place(made, self.snapshot)
        shards = by_shard(self.source, listing)
        known = _Known(asset, listing, raw_stamps(store, partition), raw_store if self.look else None)
        wants = tuple(known.want(shard, names) for shard, names in shards.items())
        target = Target(partition, self.recipe, (Upstream(asset, self.snapshot, ""),), wants)
        return ConversionPlan(self.source.name, store, listing, shards, target)


@dataclass(frozen=True)
class _Known:
    """What is known of the raw objects of a snapshot without reading them.

    Attributes:
        asset: the raw asset.
        listing: the objects as they are.
        stamps: the objects as they were read, by name.
        reader: the store to hash an object from of which only the ctime is another; None: do not.
    """

    asset: str
    listing: RawListing
    stamps: Mapping[str, RawVersion]
    reader: Store | None

    def want(self, shard: str, names: Sequence[str]) -> Want:
        """The shard that these raw objects make."""
        contents = [self._content(name) for name in names]
        inputs = tuple(Input(self.asset, name, each) for name, each in zip(names, contents, strict=True) if each)
        if len(inputs) == len(names):
            return Want(shard, inputs)
        sizes = [self.stamps[name].size if name in self.stamps else -1 for name in names]
        return Want(shard, None, again=sizes == [self.listing.entries[name].size for name in names])

    def _content(self, name: str) -> str | None:
        """The sha256 of a raw object; None if only reading it tells."""
        entry, stamp = self.listing.entries[name], self.stamps.get(name)
        if stamp is None:
            return None
        if stamp.same(entry):
            return stamp.sha256
        return sha256_of(self.reader, entry.path) if self.reader and stamp.etag == entry.etag else None


@dataclass(frozen=True)
class ConversionPlan:
    """The shards of a conversion, with the raw objects of each.

    Attributes:
        source: name of the recipe.
        store: the lake.
        listing: the raw objects of the snapshot.
        shards: names of the raw objects, by shard.
        target: the documents as they should be.
    """

    source: str
    store: Store
    listing: RawListing
    shards: Mapping[str, list[str]]
    target: Target

    @property
    def targets(self) -> tuple[Target, ...]:
        """See StepPlan."""
        return (self.target,)

    def spec(self, token: str) -> ConversionSpec:
        """See StepPlan."""
        return ConversionSpec(self.source, self.target.place, token, self.target.recipe.digest)

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:
        """See StepPlan."""
        asset = self.target.place.asset
        items: list[Item] = []
        for want in todo[asset]:
            names = self.shards[want.name]
            entries = [self.listing.entries[name] for name in names]
            objects = tuple(RawEntry(name, e.path, e.version) for name, e in zip(names, entries, strict=True))
            body = ConversionItem(objects, self._before(want, states[asset]))
            items.append(Item(want.name, sum(e.size for e in entries), raw(body)))
        return items

    def _before(self, want: Want, state: PartitionState) -> Receipt | None:
        """The finished shard, if its raw objects have the same names and sizes, but other stamps; else None."""
        if not want.again:
            return None
        receipt = state.receipts.get(want.name)
        if receipt is None or receipt.row.recipe != self.target.recipe.digest:
            return None
        if [i.shard for i in receipt.row.inputs] != self.shards[want.name]:
            return None
        return state.trusted(receipt, self.store, self.target.place)
