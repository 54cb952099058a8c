"""The step that merges the fingerprints of a snapshot into hash runs: one part for each bucket."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xxhash

from gristmill.execution.checks import Check
from gristmill.execution.plan import PartitionState, Target, Want
from gristmill.execution.work import Item, raw
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import FINGERPRINTS, HASH_RUNS
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import MIB, Dedupe
from gristmill.stages.dedupe.fingerprint_blocks import HASH_BYTES, HashFile, hash_files, read_index
from gristmill.stages.dedupe.neighbours import neighbours
from gristmill.stages.dedupe.runs.grinder import RunsItem, RunsSpec, bucket_name
from gristmill.threads import thread_pool

_ITEMS = 16
"""Items of a snapshot, at least, if it has as many buckets: they are ground in parallel."""
_THREADS = 8
_TOGETHER = 64
"""Shards whose indexes are read together."""


@dataclass(frozen=True)
class RunsStep:
    """The hash runs of one snapshot.

    Attributes:
        recipe: the dedupe recipe.
        source: name of the source.
        snapshot: key of the snapshot.
        shelves: the packages that hold the recipes.
    """

    recipe: Dedupe
    source: str
    snapshot: str
    shelves: tuple[str, ...]
    stage: str = "dedupe.runs"

    @property
    def fingerprints(self) -> Place:
        """The partition that is read."""
        return place(FINGERPRINTS.at(dedupe=self.recipe.name, source=self.source), self.snapshot)

    @property
    def asset(self) -> str:
        """The address of the runs."""
        return HASH_RUNS.at(dedupe=self.recipe.name, source=self.source)

    @property
    def makes(self) -> tuple[str, ...]:
        """See Step."""
        return (self.asset,)

    @property
    def reads(self) -> tuple[str, ...]:
        """See Step."""
        return (self.fingerprints.asset,)

    @property
    def made_by(self) -> Recipe:
        """The recipe of fingerprints and runs, for ledgers."""
        return self.recipe.fingerprint_recipe

    def code_version(self, asset: str) -> str:  # noqa: ARG002 - makes one asset
        """See Step."""
        return self.made_by.digest

    def checks(self, asset: str) -> Mapping[str, Check]:  # noqa: ARG002 - what is read is checked as it is read
        """See Step."""
        return {}

    def plan(self, store: Store) -> "RunsPlan":
        """See Step."""
        ledger, shards = read_ledger(store, self.fingerprints)
        recipe, table = self.made_by, self.fingerprints.table
        files = hash_files(shards, table, recipe.digest)
        sizes, contents = _bucket_contents(store, files, self.recipe.buckets)
        asset = self.fingerprints.asset
        wants = tuple(
            Want(bucket_name(bucket), (Input(asset, "hashes", content),)) for bucket, content in enumerate(contents)
        )
        target = Target(place(self.asset, self.snapshot), recipe, (ledger.upstream,), wants)
        return RunsPlan(self, target, tuple(files), tuple(sizes), tuple(contents))


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


@dataclass(frozen=True)
class RunsPlan:
    """The plan of one snapshot.

    Attributes:
        step: the step that was planned.
        target: the partition as it should be.
        files: the hashes of all shards.
        sizes: how many hashes each bucket has.
        contents: digest of the hashes of each bucket.
    """

    step: RunsStep
    target: Target
    files: tuple[HashFile, ...]
    sizes: tuple[int, ...]
    contents: tuple[str, ...]

    @property
    def targets(self) -> tuple[Target, ...]:
        """See StepPlan."""
        return (self.target,)

    def spec(self, token: str) -> RunsSpec:
        """See StepPlan."""
        recipe = self.step.recipe
        return RunsSpec(
            place=self.target.place,
            token=token,
            recipe=self.target.recipe.digest,
            fingerprints=self.step.fingerprints.asset,
            contents=self.contents,
            memory=recipe.memory * MIB,
            files=self.files,
        )

    def items(self, todo: Mapping[str, Sequence[Want]], states: Mapping[str, PartitionState]) -> list[Item]:  # noqa: ARG002
        """See StepPlan. Neighbouring buckets are read together, because a request costs more than its bytes.

        An item has the name of its last bucket: if that one is finished, so are the others.
        """
        recipe = self.step.recipe
        weights = {int(want.name): self.sizes[int(want.name)] for want in todo[self.target.place.asset]}
        most = min(recipe.memory * MIB // 4 // HASH_BYTES, -(-sum(self.sizes) // _ITEMS))
        return [
            Item(bucket_name(last - 1), HASH_BYTES * sum(self.sizes[first:last]), raw(RunsItem(first, last)))
            for first, last in neighbours(weights, most)
        ]
