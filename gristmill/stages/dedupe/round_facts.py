"""What the parts of verdicts and clusters say of all rounds, put together."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import TypeVar

import msgspec

from gristmill.errors import DataError
from gristmill.execution.runner import LOOK
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import CLUSTERS, VERDICTS
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.store.protocol import Store
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord
from gristmill.stages.fingerprints.order import Order, round_partition_key
from gristmill.stages.fingerprints.repeated_unit import RepeatedUnit, most_repeated


class _Clustered(msgspec.Struct, frozen=True):
    """What a part of clusters says of its round; see gristmill.stages.near_duplicates.grinder."""

    largest: list[RepeatedUnit]


class _Compared(_Clustered, frozen=True):
    """What a part of verdicts says of its bucket; see gristmill.stages.dedupe.verdicts.grinder."""

    matrix: list[tuple[int, int, int]]
    histogram: list[int]


_Facts = TypeVar("_Facts", bound=_Clustered)


def doubtful_result_line(counts: Iterable[Mapping[str, int]]) -> str:
    """A line for people that says that no document is a duplicate; empty if one is, or if there is no document.

    Args:
        counts: counts of the snapshots of a resolution.
    """
    sums = Counter[str]()
    for each in counts:
        sums.update(each)
    if sums["duplicates"] or not sums["documents"]:
        return ""
    return f"nothing was found in {sums['documents']:,} documents of all snapshots; {LOOK}"


def comparison_totals(
    store: Store, dedupe: str, order: Order, *, near: bool
) -> tuple[tuple[tuple[tuple[int, int, int], ...], tuple[int, ...]], list[RepeatedUnit]]:
    """The matrix and the occurrences, added up over the buckets of all rounds; and the largest units of each round."""
    matrix: dict[tuple[int, int], int] = {}
    occurrences: list[int] = []
    largest: list[RepeatedUnit] = []
    for key in map(round_partition_key, range(1, order.round_count + 1)):
        of_round: list[RepeatedUnit] = []
        for facts in _round_part_facts(store, place(VERDICTS.at(dedupe=dedupe), key), _Compared):
            for rank, first, units in facts.matrix:
                matrix[rank, first] = matrix.get((rank, first), 0) + units
            pairs = zip_longest(occurrences, facts.histogram, fillvalue=0)
            occurrences = [before + more for before, more in pairs]
            of_round = most_repeated([*of_round, *facts.largest])
        if near:
            clusters = _round_part_facts(store, place(CLUSTERS.at(dedupe=dedupe), key), _Clustered)
            of_round = most_repeated([_cluster_by_kept_document(unit) for facts in clusters for unit in facts.largest])
        largest += of_round
    return (tuple((*pair, units) for pair, units in sorted(matrix.items())), tuple(occurrences)), largest


def _cluster_by_kept_document(cluster: RepeatedUnit) -> RepeatedUnit:
    """The cluster with the document that it keeps in its key: in older sets two clusters may share a number."""
    return msgspec.structs.replace(cluster, key=f"{cluster.key} {cluster.rank} {cluster.position}")


def _round_part_facts(store: Store, where: Place, kind: type[_Facts]) -> Iterator[_Facts]:
    """What the parts of a round say.

    Raises:
        DataError: a part says something else.
    """
    for row in read_ledger(store, where)[1]:
        try:
            yield msgspec.convert(BinaryPartRecord.decode_from_row(row, where.table).facts, kind)
        except msgspec.ValidationError as error:
            raise DataError(f"{where.table}: part {row.name}: {error}; make this partition again") from error
