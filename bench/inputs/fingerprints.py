"""Fingerprints of numbers instead of texts: as many as a lake can hold, written in seconds, with known duplicates.

Each hash is that of a number. A snapshot has new numbers, which no snapshot before it has, and some that it repeats, of
its own or of earlier ones. So the hashes that dedupe must mark are exactly as many as were repeated.
"""

from dataclasses import dataclass

import numpy as np
import xxhash
from numpy.typing import NDArray

from gristmill.execution.one_asset import OneAssetSpec
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import FINGERPRINTS
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table
from gristmill.lake.ledger.model import Input, Shard, Upstream
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.stages.fingerprints.binary_part import BinaryPart

U64 = NDArray[np.uint64]
SHARD = 4_000_000
"""Hashes of a shard, at most."""


def mixed(numbers: U64, seed: int) -> U64:
    """Numbers spread over 64 bits: SplitMix64 (Steele, Lea and Flood 2014). Different numbers give different ones."""
    found = numbers + np.uint64((seed * 0x9E3779B97F4A7C15) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found ^= found >> np.uint64(shift)
        found *= np.uint64(factor)
    return found ^ (found >> np.uint64(31))


@dataclass(frozen=True)
class Made:
    """What was written: hashes, and how many of them dedupe must mark."""

    hashes: int
    repeated: int


def write_snapshot(
    store: Store, recipe: Dedupe, source: str, snapshot: str, *, first: int, hashes: int, repeated: float = 0.3
) -> Made:
    """Publishes the fingerprints of a snapshot.

    Args:
        store: the lake.
        recipe: the dedupe recipe.
        source: name of the source.
        snapshot: key of the snapshot.
        first: the first number that no snapshot before has: the new numbers of all of them together.
        hashes: how many hashes to write.
        repeated: the share of hashes that repeat a number, half of them one of this snapshot.
    """
    where = place(FINGERPRINTS.at(dedupe=recipe.name, source=source), snapshot)
    again = round(hashes * repeated)
    random = np.random.default_rng([first, hashes])
    rows: list[Shard] = []
    done = 0
    for begin in range(0, hashes, SHARD):
        count = min(SHARD, hashes - begin)
        drawn = again * (begin + count) // hashes - again * begin // hashes
        fresh = count - drawn
        numbers = np.empty(count, np.uint64)
        at = np.sort(random.permutation(count)[:drawn]) if drawn else np.zeros(0, np.int64)
        old = np.zeros(count, bool)
        old[at] = True
        numbers[~old] = np.arange(first + done, first + done + fresh, dtype=np.uint64)
        top = np.where(random.random(drawn) < 0.5, max(first, 1), first + hashes - again)
        numbers[old] = (random.random(drawn) * top).astype(np.uint64)
        done += fresh
        rows.append(_write_shard(store, recipe, where, f"{begin // SHARD:05d}", numbers))
    upstream = Upstream(f"sources/{source}/v0/documents", snapshot, "bench")
    store.put(where.table, pack_table(rows))
    store.put(where.ledger, as_json(compose_ledger(where, recipe.fingerprint_recipe, (upstream,), rows)))
    return Made(hashes, again)


def _write_shard(store: Store, recipe: Dedupe, where: Place, name: str, numbers: U64) -> Shard:
    hi, lo = mixed(numbers, 1), mixed(numbers, 2)
    buckets = recipe.buckets
    bucket = ((hi >> np.uint64(32)) * np.uint64(buckets) >> np.uint64(32)).astype(np.uint16)  # a power of two
    order = np.argsort(bucket, kind="stable").astype("<u4")
    ends = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=buckets))])
    inputs = (Input(f"sources/{name}", name, f"{numbers[0]}"),)
    spec = OneAssetSpec(place=where, token="bench", recipe=recipe.fingerprint_recipe.digest)  # noqa: S106 - a claim
    part = BinaryPart(store, spec, name, inputs)
    file, digests = part.file("hashes"), []
    for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        at = order[begin:end]
        block = hi[at].tobytes() + lo[at].tobytes() + at.tobytes()
        file.write(block)
        digests.append(xxhash.xxh3_128_digest(block))
    part.file("buckets").write(ends.astype("<u8").tobytes() + b"".join(digests))
    part.rows, part.facts = len(numbers), {"hashes": len(numbers)}
    return part.close().row
