"""The step that divides the clusters of a round into the marks of one snapshot's shards."""

from dataclasses import dataclass
from functools import partial

from gristmill.errors import DataError
from gristmill.execution.one_asset import OneAssetStep, ShardPlan, wanted_shards
from gristmill.execution.plan import Target
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import CLUSTERS, FINGERPRINTS, MARKS
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.stages.fingerprints.binary_part import read_part_file
from gristmill.stages.fingerprints.order import Order, round_partition_key
from gristmill.stages.near_duplicates.cluster_files import BLOCK, decode_cluster_records
from gristmill.stages.near_duplicates.marks.grinder import NearMarksItem, NearMarksSpec
from gristmill.stages.near_duplicates.step import near_duplicate_recipe


@dataclass(frozen=True)
class NearMarksStep(OneAssetStep):
    """The marks of near duplicates of one snapshot.

    Attributes:
        dedupe: the recipe; its unit is MinHashUnits.
        order: the order of snapshots.
        source: name of the source.
        snapshot: key of the snapshot.
        shelves: the packages that hold the recipes.
    """

    dedupe: Dedupe
    order: Order
    source: str
    snapshot: str
    shelves: tuple[str, ...]
    stage: str = "near_duplicates.marks"

    @property
    def asset(self) -> str:
        """The address of the marks."""
        return MARKS.at(dedupe=self.dedupe.name, source=self.source)

    @property
    def reads(self) -> tuple[str, ...]:
        name = self.dedupe.name
        return (FINGERPRINTS.at(dedupe=name, source=self.source), CLUSTERS.at(dedupe=name))

    @property
    def recipe(self) -> Recipe:
        """The recipe of the marks, for their ledger."""
        return near_duplicate_recipe(self.dedupe)

    @property
    def snapshot_rank(self) -> int:
        """The rank of the snapshot.

        Raises:
            DataError: the order has no such snapshot.
        """
        for rank, entry in enumerate(self.order.entries):
            if (entry.source, entry.snapshot) == (self.source, self.snapshot):
                return rank
        raise DataError(f"dedupe {self.dedupe.name!r}: {self.source} ({self.snapshot}) is not resolved yet; resolve it")

    def plan(self, store: Store) -> ShardPlan[NearMarksItem]:
        """See Step."""
        rank = self.snapshot_rank
        of_round = place(CLUSTERS.at(dedupe=self.dedupe.name), round_partition_key(self.order.entries[rank].round))
        clusters, parts = read_ledger(store, of_round)
        prints, shards = read_ledger(
            store, place(FINGERPRINTS.at(dedupe=self.dedupe.name, source=self.source), self.snapshot)
        )
        if parts[0].recipe != self.recipe.digest:
            raise DataError(f"{of_round.table}: clusters of another recipe; make the clusters of this round again")
        data = read_part_file(store, parts[0], of_round.table, f"{rank}.index")
        blocks = decode_cluster_records(data, BLOCK, f"{of_round.table}: file {rank}.index")
        shards = sorted(shards, key=lambda shard: shard.name)
        if len(blocks) != len(shards):
            raise DataError(
                f"{of_round.table}: clusters of {len(blocks)} shards, but {prints.asset} ({self.snapshot}) has"
                f" {len(shards)}; make the clusters of this round again"
            )
        bodies: dict[str, NearMarksItem] = {}
        for shard, block in zip(shards, blocks, strict=True):
            digest = block["digest"].decode()
            inputs = (Input(clusters.asset, f"{rank}/{shard.name}", digest), Input(prints.asset, shard.name, shard.ids))
            bodies[shard.name] = NearMarksItem(inputs, int(block["first"]), int(block["count"]), digest)
        target = Target(self.made_place, self.recipe, (prints.upstream, clusters.upstream), wanted_shards(bodies))
        spec = partial(NearMarksSpec, rank=rank, table=of_round.table, clusters=parts[0])
        return ShardPlan(target, spec, bodies, lambda body: 1 + body.count)
