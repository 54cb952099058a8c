"""The audit of raw data: compares raw objects with what the v0 ledgers say that their shards were made from.

It reads every raw object that a ledger names, and writes nothing.
"""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import chain, islice
from shlex import quote

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.execution.finding import AuditedStore, Finding, guard_proof
from gristmill.lake.address import Place, documents_asset, place, raw_asset
from gristmill.lake.asset_kinds import DOCUMENTS, kind_of, names_in_asset_address
from gristmill.lake.ledger.files import find_head_and_table, list_ledgers
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.receipts import raw_stamps
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Entry
from gristmill.raw_data.checksums import compare_checksums
from gristmill.raw_data.listing import RawListing, list_raw, raw_names_by_shard
from gristmill.raw_data.roots import raw_store
from gristmill.raw_data.scan import raw_top, show_path
from gristmill.raw_data.snapshots import CONFIRM, Stray, raw_snapshots
from gristmill.recipes.source import Source
from gristmill.stages.conversion.parts import recorded_part_edges

_CANNOT = "raw data cannot be compared"


def raw_snapshots_to_compare(
    lake: Lake, sources: Mapping[str, Source], prefix: str, tell: Callable[[str, Finding], object]
) -> list[tuple[str, str]]:
    """The raw snapshots to compare: those that have raw objects, or documents in the lake.

    Args:
        lake: the lake.
        sources: the recipes, by name: only they know where raw data lies.
        prefix: beginning of the addresses, as in audited_ledgers().
        tell: function that takes the name of a source, and a finding on raw data that are in none of these snapshots.

    Returns:
        (source, snapshot), sorted.

    Raises:
        RecipeError: the lake has documents of a source that is not among the recipes.
    """
    found: set[tuple[str, str]] = set()
    for partition in list_ledgers(AuditedStore(lake.store())):
        if kind_of(partition.asset) is DOCUMENTS and names_in_asset_address(partition.asset)["version"] == "v0":
            found.add((names_in_asset_address(partition.asset)["source"], partition.snapshot))
    adopted = {source.name for source in sources.values() if source.adopts}  # verify reads their files anyway
    found = {(name, key) for name, key in found if _is_selected_by_prefix(name, prefix) and name not in adopted}
    unknown = sorted({name for name, _ in found} - set(sources))
    if unknown:
        known = ", ".join(sources) or "none"
        raise RecipeError(
            f"--raw: no shelf declares {', '.join(unknown)}, so the raw data of their documents cannot be found;"
            f" name the package with --shelves (declared: {known}), or choose others with --asset"
        )
    for source in sources.values():
        if _is_selected_by_prefix(source.name, prefix) and source.name not in adopted:
            keys, findings = _list_raw_snapshots(lake, source)
            found |= {(source.name, key) for key in keys}
            for finding in findings:
                tell(source.name, finding)
    return sorted(found)


def _is_selected_by_prefix(source: str, prefix: str) -> bool:
    """Whether a prefix selects a source's raw data or its v0 documents."""
    word = prefix.rstrip("/")
    tops = (raw_asset(source), documents_asset(source, "v0"))
    return not word or any(top == word or top.startswith(f"{word}/") for top in tops)


def _list_raw_snapshots(lake: Lake, source: Source) -> tuple[set[str], list[Finding]]:
    """The keys of the snapshots with raw data, and the findings on what is in none."""
    strays: list[Stray] = []
    try:
        keys = raw_snapshots(lake, source, strays.append)
    except (RecipeError, StoreError) as error:
        return set(), [Finding(raw_asset(source.name), None, f"{_CANNOT}: {error}")]
    return keys, [Finding(stray.folder, None, stray.reason) for stray in strays]


def audit_raw(lake: Lake, source: Source, snapshot: str, *, first_only: bool = False) -> list[Finding]:
    """Compares the raw objects of one snapshot with the inputs of the shards that were made from them.

    Args:
        lake: the lake.
        source: the recipe.
        snapshot: key of the snapshot.
        first_only: stop at the first finding.

    Returns:
        The findings, by the names of the objects. Each begins with one of these words:
        `lost`, a ledger names the object, but it does not exist;
        `changed`, it has another size or sha256 than when it was read;
        `new`, no ledger names it.
        What cannot be read is a finding too, in other words.
    """
    comparison = _Comparison(lake, source, snapshot)
    findings = chain(comparison.raw_findings(), audit_checksums(lake, source, snapshot, comparison.hashes))
    whole = guard_proof(lake.store(), raw_asset(source.name), findings)
    return list(islice(whole, 1 if first_only else None))


def audit_checksums(
    lake: Lake, source: Source, snapshot: str, known: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """Compares the raw objects of a snapshot with the checksum files beside them, if its recipe names such files.

    Args:
        lake: the lake.
        source: the recipe.
        snapshot: key of the snapshot.
        known: the sha256 (hex) of objects that were read a moment ago, by name; all others are read.

    Yields:
        What `checksums_match` would refuse, and what cannot be read.
    """
    if source.checksums is None:
        return
    folder = show_path(source, raw_top(source) + source.partition.prefix(snapshot))
    try:
        found = compare_checksums(source, raw_store(lake, source), snapshot, known or {})
    except (DataError, StoreError) as error:
        yield Finding(folder, None, f"checksums cannot be compared: {error}")
        return
    for fault in found.checksum_faults:
        yield Finding(folder, None, fault)


class _Comparison:
    """The raw objects of a snapshot, beside what its v0 documents were made from.

    Attributes:
        hashes: the sha256 (hex) of the objects, or of their parts, that findings() has read.
    """

    def __init__(self, lake: Lake, source: Source, snapshot: str) -> None:
        self._lake, self._source = lake.store(), source
        self._listing = RawListing({})
        self.hashes: dict[str, str] = {}
        self._raw = raw_store(lake, source)
        self._partition: Place = place(documents_asset(source.name, source.versions[0]), snapshot)
        self._lead = raw_top(source) + source.partition.prefix(snapshot)
        self._make = f"run `python -m gristmill make {quote(lake.url)} {source.name} --snapshot {quote(snapshot)}`"

    def raw_findings(self) -> Iterator[Finding]:
        partition = self._partition
        try:
            ledger = find_head_and_table(self._lake, partition)
        except (DataError, StoreError) as error:
            yield Finding(partition.ledger, None, f"{_CANNOT}: {error}", self._make)
            return
        try:
            listing = list_raw(self._source, self._raw, partition.snapshot)
            planned = raw_names_by_shard(
                self._source, listing
            )  # a snapshot that `make` refuses needs another mend than `make`
        except (DataError, StoreError) as error:
            yield Finding(self._raw_path_for_messages(""), None, f"{_CANNOT}: {error}")
            return
        entries = listing.entries
        if ledger is None:
            what = f"new: nothing was made from the {len(entries)} objects of this snapshot"
            yield Finding(self._raw_path_for_messages(""), None, what, self._make)
            return
        read: dict[str, list[tuple[str, str]]] = {}
        for shard in ledger[1]:
            for each in shard.inputs:
                if each.asset == raw_asset(self._source.name):
                    read.setdefault(each.shard, []).append((shard.name, each.content))
        self._listing = listing
        sizes = {name: version.size for name, version in raw_stamps(self._lake, partition).items()}
        if not entries:  # then `make` refuses: the whole snapshot may have been lost
            yield from (self._lost_object_finding(name, read[name][0][0], CONFIRM) for name in sorted(read))
            return
        for name in sorted(read.keys() | entries.keys()):
            yield from self._raw_object_findings(name, entries.get(name), read.get(name, ()), sizes.get(name))
        for shard in ledger[1]:
            yield from self._shard_plan_findings(shard, planned.get(shard.name, []), read)

    def _shard_plan_findings(self, shard: Shard, planned: Sequence[str], read: Container[str]) -> Iterator[Finding]:
        """Findings unless a shard was made from what its recipe plans, in this order. Lost and new objects are told."""
        listed = self._listing
        named = [each.shard for each in shard.inputs if each.asset == raw_asset(self._source.name)]
        there = [name for name in named if name in listed.entries]
        expected = [name for name in planned if name in read]
        if there != expected or not named:
            was, now = _names_in_words(named), _names_in_words(planned)
            what = f"shard {shard.name} was made from {was}, but its recipe makes it from {now}"
            yield Finding(self._partition.table, None, what, self._make)
            return
        edges = recorded_part_edges(shard, self._partition.table)
        same = len(there) == len(named) == 1 and (edges is None or edges.size == listed.entries[named[0]].size)
        if same and (edges.part if edges else None) != listed.parts.get(named[0]):
            what = f"shard {shard.name} was made from another part of {named[0]} than its recipe makes it from"
            yield Finding(self._partition.table, None, what, self._make)

    def _raw_object_findings(
        self, name: str, entry: Entry | None, read: Sequence[tuple[str, str]], size: int | None
    ) -> Iterator[Finding]:
        partition = self._partition
        where = f"{partition.asset} ({partition.snapshot})"
        if not read:
            yield Finding(
                self._raw_path_for_messages(name), None, f"new: no shard of {where} was made from it", self._make
            )
            return
        shard, sha256 = read[0]
        made = f"shard {shard} of {where} was made from it"
        if entry is None:
            yield self._lost_object_finding(name, shard, f"if it is to go, {self._make}")
            return
        restore = f"restore it from a copy; or, if it is to change, {self._make}"
        if size is not None and entry.size != size:
            what = f"changed: it has {entry.size:,} bytes, but had {size:,} when {made}"
            yield Finding(self._raw_path_for_messages(name), None, what, restore)
            return
        try:
            computed = self.hashes[name] = self._listing.sha256(self._raw, name)
        except StoreError as error:
            yield Finding(self._raw_path_for_messages(name), None, f"it cannot be read: {error}")
            return
        for shard, sha256 in read:
            if computed != sha256:
                what = f"changed: its sha256 is {computed}, but shard {shard} of {where} was made from {sha256}"
                yield Finding(self._raw_path_for_messages(name), None, what, restore)

    def _lost_object_finding(self, name: str, shard: str, remove: str) -> Finding:
        made = f"shard {shard} of {self._partition.asset} ({self._partition.snapshot}) was made from it"
        what = f"lost: there is no such object, but {made}"
        return Finding(self._raw_path_for_messages(name), None, what, f"restore it from a copy; or, {remove}")

    def _raw_path_for_messages(self, name: str) -> str:
        """The path of a raw object for messages; with the address of its store if that is not the lake."""
        return show_path(self._source, self._lead + name)


_SHOWN = 3
"""Raw objects that a finding names at most."""


def _names_in_words(names: Sequence[str]) -> str:
    """Names of raw objects for a message."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}" if names else "nothing"
