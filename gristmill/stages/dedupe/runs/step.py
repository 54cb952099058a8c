"""The step that merges the fingerprints of a snapshot into hash runs: one part for each bucket."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import xxhash

from gristmill.execution.one_asset import OneAssetStep
from gristmill.execution.plan import Target, Want
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import FINGERPRINTS, HASH_RUNS
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import MIB, Dedupe
from gristmill.stages.dedupe.fingerprint_blocks import HASH_BYTES, HashFile, hash_files, read_index
from gristmill.stages.dedupe.neighbours import NeighboursPlan
from gristmill.stages.dedupe.runs.grinder import RunsSpec, bucket_name
from gristmill.threads import thread_pool

_ITEMS = 16
"""Items of a snapshot, at least, if it has as many buckets: they are ground in parallel."""
_THREADS = 8
_TOGETHER = 64
"""Shards whose indexes are read together."""


@dataclass(frozen=True)
class RunsStep(OneAssetStep):
    """The hash runs of one snapshot.

    Attributes:
        dedupe: the recipe.
        source: name of the source.
        snapshot: key of the snapshot.
        shelves: the packages that hold the recipes.
    """

    dedupe: Dedupe
    source: str
    snapshot: str
    shelves: tuple[str, ...]
    stage: str = "dedupe.runs"

    @property
    def fingerprints(self) -> Place:
        """The partition that is read."""
        return place(FINGERPRINTS.at(dedupe=self.dedupe.name, source=self.source), self.snapshot)

    @property
    def asset(self) -> str:
        """The address of the runs."""
        return HASH_RUNS.at(dedupe=self.dedupe.name, source=self.source)

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.fingerprints.asset,)

    @property
    def recipe(self) -> Recipe:
        """The recipe of fingerprints and runs, for ledgers."""
        return self.dedupe.fingerprint_recipe

    def plan(self, store: Store) -> NeighboursPlan:
        """See Step."""
        ledger, shards = read_ledger(store, self.fingerprints)
        files = hash_files(shards, self.fingerprints.table, self.recipe.digest)
        sizes, contents = _bucket_contents(store, files, self.dedupe.buckets)
        asset = self.fingerprints.asset
        wants = tuple(
            Want(bucket_name(bucket), (Input(asset, "hashes", content),)) for bucket, content in enumerate(contents)
        )
        target = Target(self.made_place, self.recipe, (ledger.upstream,), wants)
        memory = self.dedupe.memory * MIB
        spec = partial(RunsSpec, fingerprints=asset, contents=tuple(contents), memory=memory, files=tuple(files))
        most = min(memory // 4 // HASH_BYTES, -(-sum(sizes) // _ITEMS))
        return NeighboursPlan(target, spec, tuple(sizes), most, HASH_BYTES)


def _bucket_contents(store: Store, files: Sequence[HashFile], buckets: int) -> tuple[list[int], list[str]]:
    """How many hashes each bucket has over all shards, and a digest of them: it covers the order of the shards.

    One small file of each shard is read.
    """
    sizes = np.zeros(buckets, np.int64)
    digests = [xxhash.xxh3_128() for _ in range(buckets)]
    with thread_pool(_THREADS) as threads:
        for begin in range(0, len(files), _TOGETHER):
            some = files[begin : begin + _TOGETHER]
            indexes = list(threads.map(lambda file: read_index(store, file, buckets), some))
            for bucket, digest in enumerate(digests):
                digest.update(b"".join(index.digest(bucket) for index in indexes))
            for index in indexes:
                sizes += np.diff(index.offsets)
    return sizes.tolist(), [digest.hexdigest() for digest in digests]
