"""Indexes: a mix closed over the ledgers that exist; absent slices are listed."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from gristmill.lake.address import mix_asset, mix_index, place
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.counts import sum_counts
from gristmill.lake.ledger.files import dump, read_head
from gristmill.lake.ledger.model import Ledger as Head
from gristmill.lake.store.protocol import Store, put_unless_same
from gristmill.recipes.mix import Mix
from gristmill.recipes.source import Source


class Slice(msgspec.Struct, frozen=True):
    """One snapshot of one stream as the index takes it."""

    stream: str
    snapshot: str
    fingerprint: str
    totals: dict[str, int]


class Index(msgspec.Struct, frozen=True):
    """What a mix or a token cache consists of, at the time of its index.

    Attributes:
        schema: 1.
        asset: the index's address.
        fingerprint: over the slices.
        slices: what it takes.
        absent: `stream/snapshot` of what its sources have and it has not yet.
        left: finished slices that it leaves out, as another edition replaces them.
        totals: of the slices.
    """

    schema: int
    asset: str
    fingerprint: str
    slices: tuple[Slice, ...]
    absent: tuple[str, ...]
    left: tuple[str, ...]
    totals: dict[str, int]


def read_index(store: Store, asset: str) -> Index | None:
    """The index at an address, as it was last closed; None if there is none, or one of another schema."""
    tagged = store.read_tagged(f"{asset}/index.json")
    try:
        return msgspec.json.decode(tagged[0], type=Index) if tagged else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def newest(snapshots: Sequence[str]) -> str:
    """The last snapshot as people count: 3.9 before 3.11, 2023-12 before 2024-02."""
    return max(snapshots, key=_natural)


def _natural(key: str) -> list[tuple[int, int, str]]:
    parts = re.findall(r"\d+|\D+", key)
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts]


def _finished(store: Store, asset: str, snapshots: Sequence[str]) -> dict[str, Head]:
    heads = {key: read_head(store, place(asset, key)) for key in snapshots}
    return {key: ledger for key, ledger in heads.items() if ledger is not None}


def _chosen(ledgers: Mapping[str, Head], source: Source) -> list[str]:
    """Which finished snapshots count: all, or the newest edition; none without shards: it has vanished."""
    finished = sorted(key for key, ledger in ledgers.items() if ledger.totals.get("shards"))
    return [newest(finished)] if finished and source.snapshots == "replace" else finished


def _close(
    asset: str,
    by_stream: Mapping[str, Mapping[str, Head]],
    known: Mapping[str, Sequence[str]],
    sources: Mapping[str, Source],
) -> Index:
    slices: list[Slice] = []
    absent: list[str] = []
    left: list[str] = []
    for stream, ledgers in by_stream.items():
        chosen = _chosen(ledgers, sources[stream])
        slices += [Slice(stream, key, ledgers[key].fingerprint, ledgers[key].totals) for key in chosen]
        absent += [f"{stream}/{key}" for key in sorted(set(known[stream]) - set(ledgers))]
        finished = {key for key, ledger in ledgers.items() if ledger.totals.get("shards")}
        left += [f"{stream}/{key}" for key in sorted(finished - set(chosen))]
    totals = sum_counts(stream_slice.totals for stream_slice in slices)
    fingerprint = digest_of([asset, [[s.stream, s.snapshot, s.fingerprint] for s in slices]])
    return Index(1, asset, fingerprint, tuple(slices), tuple(absent), tuple(left), totals)


def index_mix(store: Store, mix: Mix, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]) -> Index:
    """Closes a mix over its finished slices.

    Args:
        store: the lake.
        mix: the recipe.
        sources: the source of each stream.
        known: the snapshots of each stream's source.
    """
    store.sweep()
    index = _of_mix(store, mix, sources, known)
    put_unless_same(store, f"{index.asset}/index.json", dump(index))
    return index


def _of_mix(store: Store, mix: Mix, sources: Mapping[str, Source], known: Mapping[str, Sequence[str]]) -> Index:
    streams = {s.key: _finished(store, mix_asset(mix.name, s.key), known[s.key]) for s in mix.streams}
    return _close(mix_index(mix.name), streams, known, sources)
