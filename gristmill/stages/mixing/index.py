"""Indexes: the index of a mix names its finished slices, and lists those that are absent."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from gristmill.drift.editions import why_too_small
from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import documents_asset, ledger_folder, mix_index, place
from gristmill.lake.asset_kinds import MIX, kind_of, ledger_of_asset, names_in_asset_address
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.counts import sum_counts
from gristmill.lake.ledger.files import as_json, list_ledgers, read_head
from gristmill.lake.ledger.index_ledger import IndexWriter, index_differences
from gristmill.lake.ledger.model import Ledger as Head
from gristmill.lake.ledger.model import Upstream
from gristmill.lake.ledger.schema import refuse_newer_schema
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.stages.mixing.held_out import check_one_key
from gristmill.stages.mixing.sound_mix import check_mix
from gristmill.text.natural_order import natural_sort_key


class Slice(msgspec.Struct, frozen=True):
    """One finished snapshot of one stream.

    Attributes:
        stream: key of the stream.
        snapshot: key of the snapshot.
        fingerprint: fingerprint of its ledger.
        totals: totals of its ledger, such as `rows`.
    """

    stream: str
    snapshot: str
    fingerprint: str
    totals: dict[str, int]


class Index(msgspec.Struct, frozen=True):
    """The content of a mix or a token cache when its index was written.

    Attributes:
        schema: version of this format: 1.
        asset: address of the index.
        fingerprint: digest over the slices.
        slices: the slices that belong to it.
        absent: `stream/snapshot` of the slices that are not finished yet, though their sources have the snapshot.
        left: `stream/snapshot` of finished slices that do not belong to it, since a newer edition replaces them.
        totals: sums over the slices.
    """

    schema: int
    asset: str
    fingerprint: str
    slices: tuple[Slice, ...]
    absent: tuple[str, ...]
    left: tuple[str, ...]
    totals: dict[str, int]


def read_index(store: Store, asset: str) -> Index | None:
    """The last index of an asset; None if there is none, or if its file is damaged.

    Raises:
        NewerSchema: a newer version of Gristmill wrote it.
    """
    path = index_path(asset)
    tagged = store.read_tagged(path)
    if tagged is None:
        return None
    refuse_newer_schema(tagged[0], path)
    try:
        return msgspec.json.decode(tagged[0], type=Index)
    except NOT_DECODED:
        return None


def index_path(asset: str) -> str:
    """The path of the file that holds an Index.

    >>> index_path("mixes/blend/index")
    'mixes/blend/index/index.json'
    """
    return f"{asset}/index.json"


def stream_of_index(asset: str, stream: str) -> str:
    """The address of a stream that an index closes, such as that of a token cache.

    Args:
        asset: address of the index.
        stream: key of the stream.

    Raises:
        RecipeError: no index has this address.
    """
    kind = kind_of(asset)
    if kind is None or kind.closes is None:
        raise RecipeError(f"{asset}: no index has this address")
    return kind.closes.at(**names_in_asset_address(asset), stream=stream)


def slices_as_inputs(index: Index) -> tuple[Upstream, ...]:
    """The slices of an index, as inputs of what is made from them."""
    return tuple(Upstream(stream_of_index(index.asset, s.stream), s.snapshot, s.fingerprint) for s in index.slices)


def finished_slice_heads(
    store: Store, asset: str, mix: Mix, known: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, Head]]:
    """The heads of the finished slices of each stream of an index, by snapshot.

    A slice is left out if it was made of another source or version than the stream reads now.

    Args:
        store: the lake.
        asset: address of the index.
        mix: recipe of the mix.
        known: the snapshots of each stream's source, by the stream's key.
    """
    found: dict[str, dict[str, Head]] = {}
    for stream in mix.streams:
        heads = finished_slices(store, stream_of_index(asset, stream.key), known[stream.key])
        documents = documents_asset(stream.source, stream.version)
        found[stream.key] = {key: head for key, head in heads.items() if is_made_from_documents(store, head, documents)}
    return found


def is_made_from_documents(store: Store, head: Head, documents: str) -> bool:
    """Whether a slice of a mix, of a token cache or of an export was made of some documents.

    A stream that keeps its name and takes another source has slices of both in its folder.

    Args:
        store: the lake.
        head: the head of the slice.
        documents: address of the documents of the stream's source.

    Raises:
        DataError: the ledger of the mix's slice is wrong.
    """
    for each in head.inputs:
        if kind_of(each.asset) is MIX:
            above = read_head(store, place(each.asset, each.snapshot))
            return above is not None and is_made_from_documents(store, above, documents)
    return any(each.asset == documents for each in head.inputs)


def finished_slices(store: Store, asset: str, snapshots: Sequence[str]) -> dict[str, Head]:
    """The heads of the finished partitions of an asset, by snapshot.

    They may be more than the caller knows of: since it listed the snapshots, raw data of another one may have come, and
    another run may have made it.

    Args:
        store: the lake.
        asset: a stream of a mix, of a token cache or of an export.
        snapshots: keys of the snapshots that the caller knows.
    """
    made = {each.snapshot for each in list_ledgers(store, ledger_folder(asset))}
    heads = {key: read_head(store, place(asset, key)) for key in (*snapshots, *sorted(made - set(snapshots)))}
    found = {key: head for key, head in heads.items() if head is not None}
    return {key: head for key, head in found.items() if key in snapshots or has_documents(store, head)}


def has_documents(store: Store, head: Head) -> bool:
    """Whether all partitions that one was made from are there, down to the documents of the source.

    Args:
        store: the lake.
        head: the head of the partition.

    Raises:
        DataError: a ledger above it is wrong.
    """
    for each in head.inputs:
        kind = kind_of(each.asset)
        if kind is None or not kind.is_partitioned or not kind.ledger:
            continue
        above = read_head(store, place(each.asset, each.snapshot))
        if above is None or not has_documents(store, above):
            return False
    return True


def chosen_snapshots(
    stream: str, ledgers: Mapping[str, Head], source: Source, named: Collection[str]
) -> tuple[list[str], str]:
    """The finished snapshots that belong to the index: all, or only one edition if editions replace each other.

    This is the newest edition that is not too small to replace others, or that the index has already. Snapshots without
    shards do not belong to it: their raw data has vanished.

    Args:
        stream: key of the stream.
        ledgers: the heads of the finished slices of the stream, by snapshot.
        source: the source of the stream.
        named: the fingerprints of the slices that the index in the lake names.

    Returns:
        The snapshots, and the reason why the newest edition is left out; an empty reason if it is not.
    """
    finished = sorted(key for key, ledger in ledgers.items() if ledger.totals.get("shards"))
    if source.snapshots != "replace":
        return finished, ""
    held = ""
    for key in sorted(finished, key=natural_sort_key, reverse=True):
        small = ledgers[key].fingerprint not in named and why_too_small(stream, ledgers, key, source)
        if not small:
            return [key], held
        held = held or small
    return [], held


class Closed(NamedTuple):
    """An index as it would be closed now.

    Attributes:
        content: the index, not yet written.
        held: reasons why the newest editions of streams are not in it.
    """

    content: Index
    held: tuple[str, ...]

    def check(self) -> None:
        """Checks that it has the newest edition of each stream.

        Raises:
            DataError: an edition would replace others of more than twice its size.
        """
        if self.held:
            raise DataError(f"{self.content.asset}: {'; '.join(self.held)}")


def compose_slice_index(
    store: Store,
    asset: str,
    by_stream: Mapping[str, Mapping[str, Head]],
    known: Mapping[str, Sequence[str]],
    sources: Mapping[str, Source],
) -> Closed:
    """The index over slices, not yet written.

    Args:
        store: the lake. Its index of this address may have a small edition already: that is not held back any more.
        asset: address of the index.
        by_stream: the heads of the finished slices of each stream, by snapshot.
        known: the snapshots of each stream's source.
        sources: the source of each stream.
    """
    slices: list[Slice] = []
    absent: list[str] = []
    left: list[str] = []
    held: list[str] = []
    before = read_index(store, asset)
    named = {each.fingerprint for each in before.slices} if before else set[str]()
    for stream, ledgers in by_stream.items():
        chosen, small = chosen_snapshots(stream, ledgers, sources[stream], named)
        slices += [Slice(stream, key, ledgers[key].fingerprint, ledgers[key].totals) for key in chosen]
        absent += [f"{stream}/{key}" for key in sorted(set(known[stream]) - set(ledgers))]
        older = {key for key, ledger in ledgers.items() if ledger.totals.get("shards")} - set(chosen)
        left += [f"{stream}/{key}" for key in sorted(older) if natural_sort_key(key) < natural_sort_key(chosen[-1])]
        held += [small] if small else []
    fingerprint, totals = fingerprint_of_slices(asset, slices), totals_of_slices(slices)
    return Closed(Index(1, asset, fingerprint, tuple(slices), tuple(absent), tuple(left), totals), tuple(held))


def fingerprint_of_slices(asset: str, slices: Sequence[Slice]) -> str:
    """The fingerprint of an index with these slices."""
    return digest_of([asset, [[s.stream, s.snapshot, s.fingerprint] for s in slices]])


def totals_of_slices(slices: Sequence[Slice]) -> dict[str, int]:
    """The sums over slices."""
    return sum_counts(stream_slice.totals for stream_slice in slices)


def write_mix_index(store: Store, mix: Mix, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]) -> Index:
    """Writes the index of a mix, unless the lake has the same index already.

    Args:
        store: the lake.
        mix: the recipe.
        sources: the source of each stream, by the stream's key.
        known: the snapshots of each stream's source, by the stream's key.

    Returns:
        The index.

    Raises:
        DataError: two streams share documents, a stream keeps no row, or a key holds out nothing or nearly everything;
            or, after the index was written, it has no edition that would replace others of more than twice its size.
        Conflict: another run wrote the index meanwhile.
    """
    store.sweep()
    writer = IndexWriter(store, mix_index(mix.name))
    index, _ = closed = current_mix_index(store, mix, sources, known)
    check_mix(store, mix, [(each.stream, each.snapshot) for each in index.slices])
    writer.put(index_path(index.asset), as_json(index))
    writer.close(slices_as_inputs(index))
    closed.check()
    return index


def why_mix_open(
    store: Store, mix: Mix, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The reasons why the index of a mix would be written again; empty if the lake has it. The arguments are those of
    index_mix.
    """
    return open_index_reasons(store, current_mix_index(store, mix, sources, known), {})


def open_index_reasons(
    store: Store,
    closed: Closed,
    files: Mapping[str, bytes | None],
    large: Mapping[str, int | None] = MappingProxyType({}),
) -> tuple[str, ...]:
    """The reasons why an index would be written again; empty if the lake has it, and its files are as its ledger says.

    Args:
        store: the lake.
        closed: the index as it would be closed now.
        files: the content of each other file as it would be written now; None if it follows from the slices alone.
        large: size of each file, by its path, of which only the size is compared; None: only whether it exists.

    Raises:
        DataError: it would not be written again, but lacks the newest edition of a stream.
        NewerSchema: a newer version of Gristmill wrote the index.
    """
    index, held = closed
    if read_index(store, index.asset) is None and store.head(ledger_of_asset(index.asset)) is None:
        return ("never made", *held)
    files = {**files, index_path(index.asset): as_json(index)}
    why = tuple(index_differences(store, index.asset, slices_as_inputs(index), files, large))
    if not why:
        closed.check()
    return (*why, *held)


def current_mix_index(
    store: Store, mix: Mix, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]
) -> Closed:
    """The index of a mix as it would be closed now. The arguments are those of index_mix."""
    streams = finished_slice_heads(store, mix_index(mix.name), mix, known)
    check_one_key({stream: tuple(heads.values()) for stream, heads in streams.items()})
    return compose_slice_index(store, mix_index(mix.name), streams, known, sources)
