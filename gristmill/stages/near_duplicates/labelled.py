"""The records of the documents of a round: the number and the size of their cluster, and how similar they are."""

from collections.abc import Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from gristmill.lake.identity import Pair, canonical_bytes
from gristmill.stages.fingerprints.repeated_unit import LARGEST, RepeatedUnit, most_repeated
from gristmill.stages.near_duplicates.cluster_files import CLUSTER, MEMBER, Records
from gristmill.stages.near_duplicates.grouping import Grouped
from gristmill.stages.near_duplicates.nodes import Nodes, document_of_nodes, rank_of_nodes, shard_of_nodes
from gristmill.stages.near_duplicates.pairs.similarity import Similarity
from gristmill.stages.near_duplicates.pairs.verified import SimilarPairs
from gristmill.stages.near_duplicates.printed_documents import PrintedDocuments

_BITS = 52  # of 64: every number in JSON holds them
_NONE = np.uint64(2**64 - 1)  # above all numbers


def wished_cluster_number(pair: Pair) -> int:
    """The wished number of a cluster, below 2^52: the high bits of XXH3-64 of (source, id) of its first document.

    >>> wished_cluster_number(("wiki", "d1")) < 2**52
    True
    """
    return xxhash.xxh3_64_intdigest(canonical_bytes(pair)) >> 64 - _BITS


def make_numbers_distinct(wished: Nodes, taken: Nodes) -> Nodes:
    """The numbers of clusters, changed so that they differ from each other and from others (n): one that is taken gives
    way to the next above.

    Args:
        wished: numbers that the clusters would have by themselves (n).
        taken: the numbers of other clusters (m).

    >>> make_numbers_distinct(np.array([7, 3, 7, 8], np.uint64), np.array([3], np.uint64)).tolist()
    [7, 4, 8, 9]
    """
    numbers, taken = wished.copy(), np.append(np.unique(taken), _NONE)
    while True:
        again = np.ones(len(numbers), np.bool_)
        again[np.unique(numbers, return_index=True)[1]] = False
        again |= taken[np.searchsorted(taken, numbers)] == numbers
        if not again.any():
            return numbers
        numbers[again] = (numbers[again] + np.uint64(1)) % np.uint64(1 << _BITS)


def new_cluster_records(grouped: Grouped, printed: PrintedDocuments, taken: Nodes) -> Records:
    """The CLUSTER records of a layer (n). The ids of the first documents of new clusters are read.

    Args:
        grouped: the clusters.
        printed: reader of the ids.
        taken: the numbers of all earlier clusters (m).
    """
    records = np.zeros(len(grouped.firsts), CLUSTER)
    records["first"], records["kept"] = grouped.firsts, grouped.kept
    records["size"], records["cluster"] = grouped.sizes, grouped.numbers
    (new,) = np.nonzero(grouped.numbers == 0)
    firsts = grouped.firsts[new]
    wished = np.array([wished_cluster_number(pair) for pair in document_pairs(printed, firsts)], np.uint64)
    records["cluster"][new] = make_numbers_distinct(wished, taken)
    return records


def document_pairs(printed: PrintedDocuments, nodes: Nodes) -> list[Pair]:
    """The (source, id) of documents, ascending."""
    rows = printed.rows(nodes)
    return printed.pairs(nodes, rows)


def member_records(
    nodes: Nodes, clusters: Records, printed: PrintedDocuments, known: SimilarPairs, similarity: Similarity
) -> Records:
    """The MEMBER records of documents.

    Args:
        nodes: documents, ascending (n).
        clusters: the CLUSTER record of each (n).
        printed: finder of their rows.
        known: pairs whose similarity is known.
        similarity: function that computes the others.
    """
    records = np.zeros(len(nodes), MEMBER)
    records["node"] = nodes
    records["row"] = printed.rows(nodes)
    for name in ("first", "kept", "cluster", "size"):
        records[name] = clusters[name]
    apart = records["kept"] != nodes
    records["duplicate"] = apart
    records["similarity"] = 1
    records["similarity"][apart] = _kept_document_similarities(records["kept"][apart], nodes[apart], known, similarity)
    return records


def _kept_document_similarities(
    kept: Nodes, nodes: Nodes, known: SimilarPairs, similarity: Similarity
) -> NDArray[np.float32]:
    found, is_known = known.find(kept, nodes)
    (rest,) = np.nonzero(~is_known)
    found[rest] = similarity.similarities(kept[rest], nodes[rest])
    return found


def sizes_by_power(sizes: Sequence[int]) -> dict[str, int]:
    """A histogram of cluster sizes: how many have 2, 3 to 4, 5 to 8 documents, and so on.

    >>> sizes_by_power([2, 2, 3, 9])
    {'2': 2, '4': 1, '16': 1}
    """
    found: dict[int, int] = {}
    for size in sizes:
        top = 1 << (size - 1).bit_length()
        found[top] = found.get(top, 0) + 1
    return {str(top): found[top] for top in sorted(found)}


def largest_clusters(clusters: Records) -> list[RepeatedUnit]:
    """The largest clusters, with the document that each keeps; of equal ones the lower number first.

    Args:
        clusters: the CLUSTER records of a round (n).
    """
    some = clusters[np.lexsort((clusters["cluster"], -clusters["size"].astype(np.int64)))][:LARGEST]
    kept = some["kept"]
    positions = (shard_of_nodes(kept) << 32) + document_of_nodes(kept)
    columns = (some["cluster"], some["size"], rank_of_nodes(kept), positions)
    return most_repeated(
        [
            RepeatedUnit(f"{number:013x}", size, 0, rank, position)
            for number, size, rank, position in zip(*(each.tolist() for each in columns), strict=True)
        ]
    )
