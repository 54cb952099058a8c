"""The step of conversion: a raw snapshot and its v0 documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gristmill.errors import DataError
from gristmill.execution.commit import Making
from gristmill.execution.plan import Known, Target, Want, raw_stamps
from gristmill.execution.work import Item, raw
from gristmill.lake.address import Place, documents_asset, place, raw_asset
from gristmill.lake.ledger.model import Input, Recipe, Upstream
from gristmill.lake.ledger.receipts import RawStamp, Receipt
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.listing import RawListing, by_shard, list_raw
from gristmill.recipes.source import CONVERSION, Source
from gristmill.stages.conversion.grinder import Body, RawEntry, Spec


@dataclass
class ConversionStep:
    """One snapshot of a source, from raw to v0.

    Attributes:
        source: the recipe.
        snapshot: the key.
        shelves: packages whose shelves hold the recipe.
        options: how the bucket of a source with raw data elsewhere is reached.
        empty_ok: whether a snapshot without raw objects is one without shards (it vanished), and not an error.
    """

    source: Source
    snapshot: str
    shelves: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    empty_ok: bool = False
    stage: str = "conversion"
    _listing: RawListing = field(default_factory=lambda: RawListing({}))
    _shards: dict[str, list[str]] = field(default_factory=dict)
    _store: Store | None = None

    @property
    def _here(self) -> Place:
        return place(documents_asset(self.source.name, "v0"), self.snapshot)

    @property
    def recipe(self) -> Recipe:
        """What changes v0."""
        return Recipe(self.source.name, CONVERSION, self.source.conversion_parameters(), self.source.draft)

    def targets(self, store: Store) -> list[Target]:
        """See Step. A raw object's identity is known when it was read before and looks the same."""
        held = open_store(self.source.raw, self.options) if self.source.raw else store
        self._listing = list_raw(self.source, held, self.snapshot)
        asset = raw_asset(self.source.name)
        self._store, here = store, self._here
        if not self._listing.entries and not self.empty_ok:
            raise DataError(
                f"{asset}: snapshot {self.snapshot} has no raw objects that the source reads;"
                f" put them (back) under {asset}/{self.snapshot}/: an empty folder is taken for a lost one"
            )
        self._shards = by_shard(self.source, self._listing)
        known = raw_stamps(store, here)
        wants = [Want(shard, self._inputs(asset, names, known)) for shard, names in self._shards.items()]
        return [Target(here, self.recipe, (Upstream(asset, self.snapshot, ""),), tuple(wants))]

    def _inputs(self, asset: str, names: Sequence[str], known: Mapping[str, RawStamp]) -> tuple[Input, ...] | None:
        inputs: list[Input] = []
        for name in names:
            entry = self._listing.entries[name]
            stamp = known.get(name)
            if stamp is None or (stamp.size, stamp.etag) != (entry.size, entry.etag):
                return None
            inputs.append(Input(asset, name, stamp.sha256))
        return tuple(inputs)

    def spec(self, makings: Sequence[Making]) -> Spec:
        """See Step."""
        making = makings[0]
        return Spec(self.source.name, making.place, making.token, making.recipe.digest)

    def _before(self, want: Want, known: Known) -> Receipt | None:
        """The finished shard, if all that speaks against it are the stamps of raw objects of the same sizes."""
        if want.inputs is not None or self._store is None:
            return None
        receipt = known.receipts.get(want.name)
        if receipt is None or receipt.row.recipe != self.recipe.digest:
            return None
        names = self._shards[want.name]
        sizes = [known.raw[name].size if name in known.raw else -1 for name in names]
        if [i.shard for i in receipt.row.inputs] != names or sizes != [self._listing.entries[n].size for n in names]:
            return None
        return known.trusted(receipt, self._store, self._here)

    def items(self, todo: Mapping[str, Sequence[Want]], known: Mapping[str, Known]) -> list[Item]:
        """See Step."""
        items: list[Item] = []
        before = next(iter(known.values()))
        for want in next(iter(todo.values())):
            entries = [self._listing.entries[name] for name in self._shards[want.name]]
            objects = tuple(
                RawEntry(name, e.path, e.size, e.etag) for name, e in zip(self._shards[want.name], entries, strict=True)
            )
            items.append(Item(want.name, sum(e.size for e in entries), raw(Body(objects, self._before(want, before)))))
        return items
