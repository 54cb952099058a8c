"""Indexes: the index of a mix names its finished slices, and lists those that are absent."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from gristmill.drift.editions import why_too_small
from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import documents_asset, ledger_folder, mix_index, place
from gristmill.lake.asset_kinds import MIX, kind_of, ledger_of_asset, names_of
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.counts import sum_counts
from gristmill.lake.ledger.files import dump, list_ledgers, read_head
from gristmill.lake.ledger.index_ledger import IndexWriter, why_unlike
from gristmill.lake.ledger.model import Ledger as Head
from gristmill.lake.ledger.model import Upstream
from gristmill.lake.ledger.schema import refuse_newer
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source
from gristmill.stages.mixing.held_out import check_one_key
from gristmill.stages.mixing.sound_mix import check_mix
from gristmill.text.natural_order import newest


class Slice(msgspec.Struct, frozen=True):
    """One finished snapshot of one stream.

    Attributes:
        stream: key of the stream.
        snapshot: key of the snapshot.
        fingerprint: of its ledger.
        totals: of its ledger, such as `rows`.
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
    refuse_newer(tagged[0], path)
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


def closed_stream(asset: str, stream: str) -> str:
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
    return kind.closes.at(**names_of(asset), stream=stream)


def inputs_of(index: Index) -> tuple[Upstream, ...]:
    """The slices of an index, as inputs of what is made from them."""
    return tuple(Upstream(closed_stream(index.asset, s.stream), s.snapshot, s.fingerprint) for s in index.slices)


def slices_of(store: Store, asset: str, mix: Mix, known: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Head]]:
    """The heads of the finished slices of each stream of an index, by snapshot.

    Args:
        store: the lake.
        asset: address of the index.
        mix: recipe of the mix.
        known: the snapshots of each stream's source, by the stream's key.
    """
    found: dict[str, dict[str, Head]] = {}
    for stream in mix.streams:
        heads = finished_slices(store, closed_stream(asset, stream.key), known[stream.key])
        documents = documents_asset(stream.source, stream.version)
        found[stream.key] = {
            key: head for key, head in heads.items() if key in known[stream.key] or is_made_of(store, head, documents)
        }
    return found


def is_made_of(store: Store, head: Head, documents: str) -> bool:
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
            return above is not None and is_made_of(store, above, documents)
    return any(each.asset == documents for each in head.inputs)


def finished_slices(store: Store, asset: str, snapshots: Sequence[str]) -> dict[str, Head]:
    """The heads of the finished partitions of an asset, by snapshot.

    They may be more than the caller knows of: since it listed the snapshots, raw data of another one may have come, and
    another run may have made it.

    Args:
        store: the lake.
        asset: a stream of a mix, of a token cache or of an export.
        snapshots: those that the caller knows.
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
        if kind is None or not kind.partitioned or not kind.ledger:
            continue
        above = read_head(store, place(each.asset, each.snapshot))
        if above is None or not has_documents(store, above):
            return False
    return True


def chosen_snapshots(ledgers: Mapping[str, Head], source: Source) -> list[str]:
    """The finished snapshots that belong to the index: all, or only the newest edition if editions replace each other.

    Snapshots without shards do not belong to it: their raw data has vanished.

    Args:
        ledgers: the heads of the finished slices of a stream, by snapshot.
        source: the source of the stream.
    """
    finished = sorted(key for key, ledger in ledgers.items() if ledger.totals.get("shards"))
    return [newest(finished)] if finished and source.snapshots == "replace" else finished


def close_slices(
    asset: str,
    by_stream: Mapping[str, Mapping[str, Head]],
    known: Mapping[str, Sequence[str]],
    sources: Mapping[str, Source],
) -> Index:
    """The index over slices, not yet written.

    Args:
        asset: address of the index.
        by_stream: the heads of the finished slices of each stream, by snapshot.
        known: the snapshots of each stream's source.
        sources: the source of each stream.
    """
    slices: list[Slice] = []
    absent: list[str] = []
    left: list[str] = []
    for stream, ledgers in by_stream.items():
        chosen = chosen_snapshots(ledgers, sources[stream])
        slices += [Slice(stream, key, ledgers[key].fingerprint, ledgers[key].totals) for key in chosen]
        absent += [f"{stream}/{key}" for key in sorted(set(known[stream]) - set(ledgers))]
        finished = {key for key, ledger in ledgers.items() if ledger.totals.get("shards")}
        left += [f"{stream}/{key}" for key in sorted(finished - set(chosen))]
    fingerprint = fingerprint_of_slices(asset, slices)
    return Index(1, asset, fingerprint, tuple(slices), tuple(absent), tuple(left), totals_of_slices(slices))


def closed_slices(
    store: Store,
    asset: str,
    by_stream: Mapping[str, Mapping[str, Head]],
    known: Mapping[str, Sequence[str]],
    sources: Mapping[str, Source],
) -> Index:
    """The index over slices as close_slices() gives it, if it may be written.

    Args:
        store: the lake. Its index of this address may have an edition already: that is not held back any more.
        asset: see close_slices(), as the next three.
        by_stream: the heads of slices.
        known: the keys of snapshots.
        sources: the source of each stream.

    Raises:
        DataError: an edition would replace others of more than twice its size.
    """
    index = close_slices(asset, by_stream, known, sources)
    for each in index.slices:
        source = sources[each.stream]
        if source.snapshots == "replace":
            why = why_too_small(each.stream, by_stream[each.stream], each.snapshot, source)
            if why and not _has(read_index(store, asset), each):
                raise DataError(f"{asset}: not written: {why}")
    return index


def _has(index: Index | None, part: Slice) -> bool:
    named = (part.stream, part.snapshot, part.fingerprint)
    return index is not None and any((s.stream, s.snapshot, s.fingerprint) == named for s in index.slices)


def fingerprint_of_slices(asset: str, slices: Sequence[Slice]) -> str:
    """The fingerprint of an index with these slices."""
    return digest_of([asset, [[s.stream, s.snapshot, s.fingerprint] for s in slices]])


def totals_of_slices(slices: Sequence[Slice]) -> dict[str, int]:
    """The sums over slices."""
    return sum_counts(stream_slice.totals for stream_slice in slices)


def index_mix(store: Store, mix: Mix, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]) -> Index:
    """Writes the index of a mix, unless the lake has the same index already.

    Args:
        store: the lake.
        mix: the recipe.
        sources: the source of each stream, by the stream's key.
        known: the snapshots of each stream's source, by the stream's key.

    Returns:
        The index.

    Raises:
        DataError: two streams share documents, a stream keeps no row, or a key holds out nothing or nearly everything.
        Conflict: another run wrote the index meanwhile.
    """
    store.sweep()
    writer = IndexWriter(store, mix_index(mix.name))
    index = mix_index_of(store, mix, sources, known)
    check_mix(store, mix, [(each.stream, each.snapshot) for each in index.slices])
    writer.put(index_path(index.asset), dump(index))
    writer.close(inputs_of(index))
    return index


def why_mix_open(
    store: Store, mix: Mix, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Why the index of a mix would be written again; empty if the lake has it. The arguments are those of index_mix."""
    index = mix_index_of(store, mix, sources, known)
    return why_open(store, index, {})


def why_open(
    store: Store,
    index: Index,
    files: Mapping[str, bytes | None],
    large: Mapping[str, int | None] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Why an index would be written again; empty if the lake has it, and its files are as its ledger says.

    Args:
        store: the lake.
        index: as it would be closed now.
        files: the content of each other file as it would be written now; None if it follows from the slices alone.
        large: size of each file, by its path, of which only the size is compared; None: only whether it exists.

    Raises:
        NewerSchema: a newer version of Gristmill wrote the index.
    """
    if read_index(store, index.asset) is None and store.head(ledger_of_asset(index.asset)) is None:
        return ("never made",)
    files = {**files, index_path(index.asset): dump(index)}
    return tuple(why_unlike(store, index.asset, inputs_of(index), files, large))


def mix_index_of(store: Store, mix: Mix, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]) -> Index:
    """The index of a mix as it would be closed now. The arguments are those of index_mix."""
    streams = slices_of(store, mix_index(mix.name), mix, known)
    check_one_key({stream: tuple(heads.values()) for stream, heads in streams.items()})
    return closed_slices(store, mix_index(mix.name), streams, known, sources)
