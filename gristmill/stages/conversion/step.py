"""The step of conversion: it makes the v0 documents of a raw snapshot."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from gristmill.errors import DataError, StoreError
from gristmill.execution.checks import Check, Verdict, check_unique_ids
from gristmill.execution.one_asset import OneAssetPlan, OneAssetStep
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item, encode_raw
from gristmill.lake.address import Place, documents_asset, raw_asset
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe, Shard, Upstream
from gristmill.lake.ledger.receipts import RawVersion, Receipt, raw_stamps
from gristmill.lake.store.protocol import Store
from gristmill.raw_data.checksums import (
    NamedHash,
    compare_checksums,
    digest_of_files,
    missing_checksum_fault,
    named_hashes,
)
from gristmill.raw_data.erasures import cut_objects, removed_objects
from gristmill.raw_data.listing import RawListing, check_targets, list_raw, raw_names_by_shard
from gristmill.raw_data.roots import open_raw, raw_address
from gristmill.raw_data.scan import raw_top, show_path
from gristmill.raw_data.shard_names import names_equal_on_disk, one_on_disk
from gristmill.raw_data.snapshots import CONFIRM
from gristmill.recipes.code.digest import code_of
from gristmill.recipes.source import CONVERSION, Source, Split
from gristmill.stages.conversion.grinder import ConversionItem, ConversionSpec, RawEntry
from gristmill.stages.conversion.links import Links
from gristmill.stages.conversion.named_source import check_named
from gristmill.stages.conversion.parts import check_parts_meet

LOOK = 1 << 30
"""Most bytes of raw objects that planning hashes because their ctime is another; more are left to workers."""


@dataclass(frozen=True)
class ConversionStep(OneAssetStep):
    """One snapshot of a source, from raw objects to v0 documents.

    Attributes:
        source: the recipe.
        snapshot: key of the snapshot.
        shelves: the packages that hold the recipe.
        options: connection options of the bucket, for a source whose raw data is not in the lake.
        vanished: whether a snapshot without raw objects is made as one without shards; by default it is an error.
    """

    source: Source
    snapshot: str
    shelves: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    vanished: bool = False
    stage: str = "conversion"

    @property
    def asset(self) -> str:
        """The address of the documents."""
        return documents_asset(self.source.name, "v0")

    @property
    def reads(self) -> tuple[str, ...]:
        return (raw_asset(self.source.name),)

    @property
    def recipe(self) -> Recipe:
        """The recipe of v0: its digest changes when the converter or its parameters do."""
        return Recipe(self.source.name, CONVERSION, self.source.conversion_parameters(), self.source.draft)

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - makes one asset
        own: dict[str, Check] = {} if self.source.checksums is None else {"checksums_match": self._checksums_match}
        if isinstance(self.source.shards, Split):
            own["parts_meet"] = check_parts_meet
        return {"ids_unique": check_unique_ids, **own}

    def _checksums_match(self, store: Store, partition: Place, shards: Sequence[Shard]) -> Verdict:
        """Checks the raw objects that were read against the checksum files beside them."""
        name, (asset,) = "checksums_match", self.reads
        known = {each.shard: each.content for shard in shards for each in shard.inputs if each.asset == asset}
        raw_store = open_raw(self.source, store, self.options)
        found = compare_checksums(self.source, raw_store, partition.snapshot, known)
        facts: dict[str, int | float | str] = {
            "checksum files": len(found.files),
            "compared": len(found.compared),
            "wrong": len(found.wrong),
            "without object": len(found.absent),
            "without checksum": len(found.unlisted) + len(found.apart),
            "not read": len(found.unread),
        }
        faults = found.checksum_faults
        return Verdict(name, passed=not faults, description="; ".join(faults) or found.summary_in_words, metadata=facts)

    def plan(self, store: Store) -> "ConversionPlan":
        """See Step. The digest of a raw object is known if it was read before and has not changed since.

        Raises:
            RecipeError: the reader gives documents another source than the name of the recipe: see check_named().
            DataError: the snapshot has no raw objects, and no erasure removed them; or no checksum file, though the
                recipe names them; or two of their shards have one name on some disks.
        """
        check_named(store, self.source)
        raw_store = open_raw(self.source, store, self.options)
        listing = list_raw(self.source, raw_store, self.snapshot)
        (asset,), partition = self.reads, self.made_place
        stamps = raw_stamps(store, partition)
        check_targets(self.source, raw_store, self.snapshot, stamps.keys() - listing.entries.keys())
        top = raw_top(self.source) + self.source.partition.prefix(self.snapshot)
        if not (listing.entries or self.vanished or _is_erased(store, partition, top)):
            raise DataError(
                f"{asset}: snapshot {self.snapshot} has no raw objects that the source reads; put them under"
                f" {show_path(self.source, top)}: an empty folder may mean that raw data was lost; {CONFIRM}"
            )
        if listing.entries and self.source.checksums is not None and not listing.checksums:
            raise DataError(missing_checksum_fault(self.source.checksums))
        shards = raw_names_by_shard(self.source, listing)
        _check_twins(self.source, listing, shards, stamps)
        links = Links(
            self.source.reader, raw_store.url, listing.entries, stamps, partial(_left_out_counts, store, partition)
        )
        known = _Known(asset, listing, stamps, raw_store, links)
        wants = tuple(known.wanted_shard(shard, names) for shard, names in shards.items())
        checked = digest_of_files(self.source, raw_store, listing.checksums)
        hashes = partial(named_hashes, self.source, raw_store, listing.checksums)
        upstream = (Upstream(asset, self.snapshot, ""),)
        target = Target(partition, self.recipe, upstream, wants, code_of(self.source), checked=checked)
        root = raw_address(self.source)
        spec = partial(
            ConversionSpec,
            source=self.source.name,
            made_by=digest_of(self.source.reading_parameters()),
            raw=root,
            code=target.code.digest,
        )
        cut = dict if root else partial(cut_objects, store)
        return ConversionPlan(target, spec, store, listing, shards, hashes, cut)


def _is_erased(store: Store, partition: Place, top: str) -> bool:
    """Whether erasures have removed all raw objects of which a snapshot was made: nothing of it is lost."""
    read = {f"{top}{name}" for name in raw_stamps(store, partition)}
    return bool(read) and read <= removed_objects(store)


def _left_out_counts(store: Store, partition: Place) -> dict[str, dict[str, int]]:
    """The counts of left-out rows of each finished shard."""
    try:
        return {row.name: row.dropped for row in read_ledger(store, partition)[1]}
    except (DataError, StoreError):  # nothing is finished, or its shards are made again
        return {}


def _check_twins(
    source: Source, listing: RawListing, shards: Mapping[str, Sequence[str]], made: Collection[str]
) -> None:
    """Refuses a shard whose name is another's on some disks. Two that were made already stay.

    Args:
        source: the recipe.
        listing: the raw objects.
        shards: the names of the raw objects of each shard.
        made: names of the raw objects that were converted.

    Raises:
        DataError: there is such a shard; the message names a raw object of both.
    """
    for shard, other in names_equal_on_disk(shards).items():
        names = (shards[other][0], shards[shard][0])
        if not all(name in made for name in names):
            first, second = (show_path(source, listing.entries[name].path) for name in names)
            raise DataError(one_on_disk(first, second))


class _Known:
    """What is known of the raw objects of a snapshot: the sha256 of those that are as they were read.

    Args:
        asset: the raw asset.
        listing: the objects as they are.
        stamps: the objects as they were read, by name.
        store: holds the objects. Those of which only the ctime is another are hashed, if they are not more than LOOK.
        links: tells which are links, and were none, or the other way.
    """

    def __init__(
        self, asset: str, listing: RawListing, stamps: Mapping[str, RawVersion], store: Store, links: Links
    ) -> None:
        self._asset, self._entries, self._stamps, self._store = asset, listing.entries, stamps, store
        self._listing, self._links = listing, links
        doubtful = (
            listing.size(n)
            for n, e in self._entries.items()
            if (s := stamps.get(n)) and s.etag == e.etag and not s.same(e)
        )
        self._look = sum(doubtful) <= LOOK

    def wanted_shard(self, shard: str, names: Sequence[str]) -> Want:
        """The shard that these raw objects make."""
        if self._links.has_changed(shard, names):
            return Want(shard, None)
        contents = {name: self._known_raw_sha256(name) for name in names}
        inputs = tuple(Input(self._asset, name, sha256) for name, sha256 in contents.items() if sha256)
        if len(inputs) < len(names):
            sizes = [self._stamps[name].size if name in self._stamps else -1 for name in names]
            again = sizes == [self._entries[name].size for name in names] and names[0] not in self._listing.parts
            return Want(shard, None, again=again)
        versions = {i.shard: (self._entries[i.shard].version, i.content, self._stamps[i.shard].link) for i in inputs}
        stamps = {name: RawVersion.from_version(*each) for name, each in versions.items()}
        return Want(shard, inputs, raw={name: each for name, each in stamps.items() if each != self._stamps[name]})

    def _known_raw_sha256(self, name: str) -> str | None:
        """The sha256 of a raw object; None if only reading it tells."""
        entry, stamp = self._entries[name], self._stamps.get(name)
        if stamp is None:
            return None
        if stamp.same(entry):
            return stamp.sha256
        look = (
            self._look and stamp.etag == entry.etag and name not in self._listing.parts
        )  # a part reads beyond its end
        return self._listing.sha256(self._store, name) if look else None


@dataclass(frozen=True)
class ConversionPlan(OneAssetPlan):
    """The shards of a conversion, with the raw objects of each.

    Attributes:
        store: the lake.
        listing: the raw objects of the snapshot.
        shards: names of the raw objects, by shard.
        hashes: function that reads the checksum files; see named_hashes.
        cut: function that reads what erasures have left of the raw objects; see cut_objects.
    """

    store: Store
    listing: RawListing
    shards: Mapping[str, list[str]]
    hashes: Callable[[], Mapping[str, tuple[NamedHash, ...]]]
    cut: Callable[[], Mapping[str, Sequence[str]]]

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:
        """See StepPlan."""
        asset = self.target.place.asset
        items: list[Item] = []
        hashes = self.hashes() if todo[asset] else {}
        cut = self.cut() if todo[asset] else {}
        for want in todo[asset]:
            names = self.shards[want.name]
            entries = [self.listing.entries[name] for name in names]
            parts = self.listing.parts
            objects = tuple(
                RawEntry(name, e.path, e.version, parts.get(name), hashes.get(name, ()))
                for name, e in zip(names, entries, strict=True)
            )
            left = tuple(sha256 for each in objects for sha256 in cut.get(each.path, ()))
            body = ConversionItem(objects, self._restamped_shard(want, states[asset]), left)
            items.append(Item(want.name, sum(map(self.listing.size, names)), encode_raw(body)))
        return items

    def _restamped_shard(self, want: Want, state: PartitionState) -> Receipt | None:
        """The finished shard, if its raw objects have the same names and sizes, but other stamps; else None."""
        if not want.again:
            return None
        receipt = state.receipts.get(want.name)
        if receipt is None or receipt.row.recipe != self.target.recipe.digest:
            return None
        if not self.target.code.may_keep_shard(receipt.code, state.codes):
            return None
        if [i.shard for i in receipt.row.inputs] != self.shards[want.name]:
            return None
        return state.trusted_receipt(receipt, self.store, self.target.place)
