"""The audit of raw data: compares raw objects with what the v0 ledgers say that their shards were made from.

It reads every raw object that a ledger names, and writes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from shlex import quote

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.execution.finding import Finding
from gristmill.lake.address import Place, documents_asset, place, raw_asset
from gristmill.lake.asset_kinds import DOCUMENTS, kind_of, names_of
from gristmill.lake.ledger.files import find_ledger, list_ledgers
from gristmill.lake.ledger.receipts import raw_stamps
from gristmill.lake.store.hashing import sha256_of
from gristmill.lake.store.open import Lake, open_store
from gristmill.lake.store.protocol import Entry, Store
from gristmill.raw_data.listing import list_raw
from gristmill.raw_data.scan import present, raw_top, scan_raw
from gristmill.recipes.source import Source


def raw_snapshots(lake: Lake, sources: Mapping[str, Source], prefix: str = "") -> list[tuple[str, str]]:
    """The raw snapshots to compare: those that have raw objects, or documents in the lake.

    Args:
        lake: the lake.
        sources: the recipes, by name: only they know where raw data lies.
        prefix: as in audited_ledgers().

    Returns:
        (source, snapshot), sorted.

    Raises:
        RecipeError: the lake has documents of a source that is not among the recipes, or there is nothing to compare.
    """
    found: set[tuple[str, str]] = set()
    for partition in list_ledgers(lake.store(), DOCUMENTS.top):
        if kind_of(partition.asset) is DOCUMENTS and names_of(partition.asset)["version"] == "v0":
            found.add((names_of(partition.asset)["source"], partition.snapshot))
    found = {(name, key) for name, key in found if _below(name, prefix)}
    unknown = sorted({name for name, _ in found} - set(sources))
    if unknown:
        known = ", ".join(sources) or "none"
        raise RecipeError(
            f"--raw: no shelf declares {', '.join(unknown)}, so the raw data of their documents cannot be found;"
            f" name the package with --shelves (declared: {known}), or choose others with --asset"
        )
    for source in sources.values():
        if _below(source.name, prefix):
            found |= {(source.name, key) for key in present(source, scan_raw(source, _raw_store(lake, source)))}
    if not found:
        raise RecipeError(f"{lake.url}: no raw data{f' below {prefix}' if prefix else ''}, so nothing to compare")
    return sorted(found)


def _below(source: str, prefix: str) -> bool:
    """Whether a prefix selects a source's raw data or its v0 documents."""
    word = prefix.rstrip("/")
    tops = (raw_asset(source), documents_asset(source, "v0"))
    return not word or any(top == word or top.startswith(f"{word}/") for top in tops)


def _raw_store(lake: Lake, source: Source) -> Store:
    return open_store(source.raw, lake.options) if source.raw else lake.store()


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

    Raises:
        StoreError: the lake or the raw data does not answer.
    """
    return list(islice(_Comparison(lake, source, snapshot).findings(), 1 if first_only else None))


class _Comparison:
    """The raw objects of a snapshot, beside what its v0 documents were made from."""

    def __init__(self, lake: Lake, source: Source, snapshot: str) -> None:
        self._lake, self._source = lake.store(), source
        self._raw = _raw_store(lake, source)
        self._partition: Place = place(documents_asset(source.name, "v0"), snapshot)
        self._lead = raw_top(source) + source.partition.prefix(snapshot)
        self._make = f"run `python -m gristmill make {quote(lake.url)} {source.name} --snapshot {quote(snapshot)}`"

    def findings(self) -> Iterator[Finding]:
        partition = self._partition
        try:
            ledger = find_ledger(self._lake, partition)
        except (DataError, StoreError) as error:
            yield Finding(partition.ledger, None, f"raw data cannot be compared: {error}", self._make)
            return
        entries = list_raw(self._source, self._raw, partition.snapshot).entries
        if ledger is None:
            what = f"new: nothing was made from the {len(entries)} objects of this snapshot"
            yield Finding(self._shown(""), None, what, self._make)
            return
        read: dict[str, list[tuple[str, str]]] = {}
        for shard in ledger[1]:
            for each in shard.inputs:
                if each.asset == raw_asset(self._source.name):
                    read.setdefault(each.shard, []).append((shard.name, each.content))
        sizes = {name: version.size for name, version in raw_stamps(self._lake, partition).items()}
        for name in sorted(read.keys() | entries.keys()):
            yield from self._of_object(name, entries.get(name), read.get(name, ()), sizes.get(name))

    def _of_object(
        self, name: str, entry: Entry | None, read: Sequence[tuple[str, str]], size: int | None
    ) -> Iterator[Finding]:
        partition = self._partition
        where = f"{partition.asset} ({partition.snapshot})"
        if not read:
            yield Finding(self._shown(name), None, f"new: no shard of {where} was made from it", self._make)
            return
        shard, sha256 = read[0]
        made = f"shard {shard} of {where} was made from it"
        restore = f"restore it from a copy; or, if it is to go, {self._make}"
        if entry is None:
            yield Finding(self._shown(name), None, f"lost: there is no such object, but {made}", restore)
            return
        restore = f"restore it from a copy; or, if it is to change, {self._make}"
        if size is not None and entry.size != size:
            what = f"changed: it has {entry.size:,} bytes, but had {size:,} when {made}"
            yield Finding(self._shown(name), None, what, restore)
            return
        computed = sha256_of(self._raw, entry.path)
        for shard, sha256 in read:
            if computed != sha256:
                what = f"changed: its sha256 is {computed}, but shard {shard} of {where} was made from {sha256}"
                yield Finding(self._shown(name), None, what, restore)

    def _shown(self, name: str) -> str:
        """The path of a raw object for messages; with the address of its store if that is not the lake."""
        path = self._lead + name
        return f"{self._raw.url}/{path}" if self._source.raw else path
