"""What the clusters of a round are made from: the tables of fingerprints, hash runs, verdicts and earlier clusters."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from gristmill.errors import DataError, StoreError
from gristmill.lake.address import Place, attributes_asset, documents_asset, place
from gristmill.lake.asset_kinds import CLUSTERS, HASH_RUNS, RESOLUTION, VERDICTS
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import find_head_and_table, read_ledger
from gristmill.lake.ledger.model import Input, Shard, Upstream
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import MinHashUnits
from gristmill.stages.fingerprints.binary_part import check_recipes
from gristmill.stages.fingerprints.compared import compared_families
from gristmill.stages.fingerprints.order import Order, round_partition_key

EDITIONS = 1
"""Version of the way we compare editions. Raising it makes the rounds again that have several editions of a source."""

WHOLE = "all"
"""The one part of a round of clusters."""


@dataclass(frozen=True)
class Table:
    """The table of one partition.

    Attributes:
        place: the partition.
        upstream: table as an input of another partition; None if there is no such partition any more.
        rows: rows of the table, by name of the shard or part, in their order.
    """

    place: Place
    upstream: Upstream | None
    rows: Mapping[str, Shard]

    @classmethod
    def read(cls, store: Store, of: Place, *, may_lack: bool = False) -> "Table":
        """Reads a table.

        Args:
            store: the lake.
            of: the partition.
            may_lack: whether a missing partition is one without rows.

        Returns:
            The table; it has no rows if the object is missing and may be missing.

        Raises:
            DataError: the partition is missing, its ledger is damaged, or a part of a dedupe is of another recipe.
        """
        found = find_head_and_table(store, of) if may_lack else read_ledger(store, of)
        if found is None:
            return cls(of, None, {})
        ledger, rows = found
        if of.kind.top_folder == CLUSTERS.top_folder:  # of others, whatever made the rows, they count
            check_recipes(ledger, rows, of.table)
        return cls(of, ledger.upstream, {row.name: row for row in sorted(rows, key=lambda row: row.name)})

    @property
    def as_input(self) -> Input:
        """The whole table as one input: its content is the digest of names and contents."""
        digest = digest_of([[row.name, row.content] for row in self.rows.values()]) if self.upstream else ""
        return Input(self.place.asset, self.place.snapshot, digest)

    @property
    def names(self) -> Sequence[str]:
        """The names of the shards; the index is the number of a shard in positions."""
        return list(self.rows)

    def row(self, number: int) -> Shard:
        """The row of the shard with a number.

        Raises:
            DataError: there are fewer shards.
        """
        if number >= len(self.rows):
            raise DataError(
                f"{self.place.table}: shard {number:,} is named by hash runs, but there are {len(self.rows):,}; make"
                " the runs of this snapshot again"
            )
        return list(self.rows.values())[number]


@dataclass(frozen=True)
class ClusterInputs:
    """All tables that one round reads.

    Attributes:
        dedupe: the recipe.
        order: the order of snapshots.
        round: the number of the round.
        fingerprints: the tables of the ranks up to this round; the index is the rank.
        runs: the tables of the hash runs of the ranks up to this round; the index is the rank.
        verdicts: the round's table.
        earlier: the tables of the clusters of the rounds before, in their order.
        documents: tables of documents of the ranks up to this round, if texts are compared; else empty.
        scores: the tables of the attribute set that chooses what is kept, of the round's own ranks, by rank.
    """

    dedupe: Dedupe
    order: Order
    round: int
    fingerprints: Sequence[Table]
    runs: Sequence[Table]
    verdicts: Table
    earlier: Sequence[Table]
    documents: Sequence[Table]
    scores: Mapping[int, Table]

    @classmethod
    def read(cls, store: Store, dedupe: Dedupe, order: Order, number: int) -> "ClusterInputs":
        """Reads all tables.

        Returns:
            The tables of the round.

        Raises:
            DataError: a table is missing, the clusters of an earlier round are of other fingerprints, or the scores of
                other documents.
        """
        unit, name = minhash_unit(dedupe), dedupe.name
        ranked = [entry for entry in order.entries if entry.round <= number]
        new = order.ranks_of_round(number)
        prints = [Table.read(store, entry.fingerprints(name), may_lack=True) for entry in ranked]
        runs = [
            Table.read(store, place(HASH_RUNS.at(dedupe=name, source=entry.source), entry.snapshot), may_lack=True)
            for entry in ranked
        ]
        earlier = [
            Table.read(store, place(CLUSTERS.at(dedupe=name), round_partition_key(before)))
            for before in range(1, number)
        ]
        label_set = unit.score.partition("__")[0]
        texts = [
            Table.read(
                store,
                place(documents_asset(entry.source, dedupe.versions[entry.source]), entry.snapshot),
                may_lack=True,
            )
            for entry in (ranked if unit.exact else ())
        ]
        scores = {
            rank: Table.read(store, _score_set_place(dedupe, ranked[rank].source, ranked[rank].snapshot, label_set))
            for rank in (new if unit.keeper == "score" else ())
        }
        verdicts = Table.read(store, place(VERDICTS.at(dedupe=name), round_partition_key(number)))
        found = cls(dedupe, order, number, prints, runs, verdicts, earlier, texts, scores)
        found._check_earlier()
        found._check_scores()
        return found

    def _check_earlier(self) -> None:
        """Checks that the clusters of earlier rounds are of the fingerprints that are there now.

        Raises:
            DataError: they are not.
        """
        known = [table.as_input for table in self.fingerprints]
        for number, table in enumerate(self.earlier, start=1):
            made_from = {(i.asset, i.shard): i.content for row in table.rows.values() for i in row.inputs}
            for rank in self.order.ranks_of_round(number):
                now = known[rank]
                if made_from.get((now.asset, now.shard)) != now.content:
                    raise DataError(
                        f"{table.place.asset} ({table.place.snapshot}): made from other fingerprints than those of"
                        f" {now.asset} ({now.shard}); make this round again first"
                    )

    def _check_scores(self) -> None:
        """Checks that the scores are of the documents that are compared, and not of what these were before.

        Raises:
            DataError: they are not.
        """
        for rank, table in self.scores.items():
            for printed in self.fingerprints[rank].rows.values():
                scored = table.rows[printed.name].inputs if printed.name in table.rows else ()
                documents = {each.asset for each in printed.inputs}
                if any(each.asset in documents and each not in printed.inputs for each in scored):
                    raise DataError(
                        f"{table.place.table}: shard {printed.name} was made from other documents than its"
                        f" fingerprints; make {table.place.asset} of {table.place.snapshot} again"
                    )

    @property
    def new_ranks(self) -> list[int]:
        """The ranks of this round."""
        return self.order.ranks_of_round(self.round)

    @property
    def compared_rank_layers(self) -> list[list[int]]:
        """The ranks of this round that are compared together, one list after another.

        The first has all but older editions; each of these is compared by itself, as if it were a later round.
        """
        runs = enumerate(self.runs)
        empty = {rank for rank, table in runs if not any(row.rows for row in table.rows.values())}
        families = compared_families(self.order, self.round, self.dedupe.scope, empty)
        older = {member.rank for family in families for member in family if not member.keeps}
        first = [rank for rank in self.new_ranks if rank not in older]
        return [each for each in (first, *([rank] for rank in self.new_ranks if rank in older)) if each]

    @property
    def _edition_layer_input(self) -> Iterator[Input]:
        """An input that stands for the layers, where editions of a source could meet: through another source."""
        known = [entry for entry in self.order.entries if entry.round <= self.round]
        several = {entry.source for entry in known if entry.edition and entry.round == self.round}
        times = Counter(entry.source for entry in known)
        if self.dedupe.scope == "group" and len(times) > 1 and any(times[source] > 1 for source in several):
            layers = digest_of([EDITIONS, self.compared_rank_layers])
            yield Input(RESOLUTION.at(dedupe=self.dedupe.name), "editions", layers)

    @property
    def unit(self) -> MinHashUnits:
        """The options of the signatures."""
        return minhash_unit(self.dedupe)

    @property
    def _input_tables(self) -> Iterator[Table]:
        yield from self.fingerprints
        yield from self.runs
        yield self.verdicts
        yield from self.earlier
        yield from self.documents
        yield from self.scores.values()

    @property
    def as_inputs(self) -> tuple[Input, ...]:
        """All that the part is made from: the tables, and what is compared together."""
        return (*(table.as_input for table in self._input_tables), *self._edition_layer_input)

    @property
    def upstream_partitions(self) -> tuple[Upstream, ...]:
        """The partitions."""
        return tuple(table.upstream for table in self._input_tables if table.upstream)

    @property
    def weight(self) -> int:
        """The size of the hash runs and verdicts in bytes."""
        return sum(row.bytes for table in (*self.runs, self.verdicts) for row in table.rows.values())

    def check_same(self, planned: Sequence[Input]) -> None:
        """Checks that the tables are those of the plan.

        Raises:
            StoreError: one was replaced since.
        """
        for now, then in zip_longest(self.as_inputs, planned):
            each = now or then
            if each and now != then:
                raise StoreError(f"{each.asset} ({each.shard}): was made anew while it was being read; try again")


def minhash_unit(dedupe: Dedupe) -> MinHashUnits:
    """The unit of a recipe for near duplicates.

    Raises:
        DataError: the recipe compares other units.
    """
    if not isinstance(dedupe.unit, MinHashUnits):
        raise DataError(f"dedupe {dedupe.name!r}: clusters are made of MinHashUnits only; give unit=MinHashUnits(...)")
    return dedupe.unit


def _score_set_place(dedupe: Dedupe, source: str, snapshot: str, label_set: str) -> Place:
    return place(attributes_asset(source, dedupe.versions[source], label_set), snapshot)
