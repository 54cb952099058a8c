"""The texts of the largest clusters of a resolution, read from the documents for one page. Nothing is stored.

A document that a blocklist names is not shown.
"""

from typing import NamedTuple

import msgspec

from gristmill.errors import DataError
from gristmill.lake.address import documents_asset, place
from gristmill.lake.asset_kinds import FINGERPRINTS
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.adopted import ShardFile, open_shard
from gristmill.lake.ledger.files import find_head_and_table
from gristmill.lake.rows.batches import TextRow, decode_rows
from gristmill.lake.rows.blocklists.blocklist import listed_pairs
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.stages.dedupe.largest_clusters import LargestCluster
from gristmill.stages.dedupe.resolution import Resolution
from gristmill.stages.fingerprints.reader import FingerprintPart

EXCERPT = 200
"""Code points of an excerpt."""


class ClusterExcerpt(NamedTuple):
    """One of the largest clusters, and where one of its units is.

    Attributes:
        cluster: the cluster.
        row: the number of the document in its shard, from 0; None if the documents changed after the resolution.
        start: the first code point of the unit in the text.
        end: the code point after it.
        excerpt: its first code points; None if the document is not shown.
    """

    cluster: LargestCluster
    row: int | None = None
    start: int = 0
    end: int = 0
    excerpt: str | None = None


def read_cluster_excerpts(store: Store, recipe: Dedupe, resolution: Resolution) -> list[ClusterExcerpt]:
    """Reads where the largest clusters are, and what they say.

    Args:
        store: the lake.
        recipe: the dedupe recipe.
        resolution: its result.

    Returns:
        One excerpt for each of the largest clusters, in their order.

    Raises:
        DataError: a file is damaged, or a blocklist cannot be read.
    """
    blocked = listed_pairs(store)
    return [_read_cluster_excerpt(store, recipe, resolution, each, blocked) for each in resolution.largest]


def _read_cluster_excerpt(
    store: Store, recipe: Dedupe, resolution: Resolution, cluster: LargestCluster, blocked: set[Pair]
) -> ClusterExcerpt:
    resolved = resolution.find_resolved_snapshot(cluster.source, cluster.snapshot)
    if resolved is None or cluster.source not in recipe.versions:
        return ClusterExcerpt(cluster)
    prints = place(FINGERPRINTS.at(dedupe=recipe.name, source=cluster.source), cluster.snapshot)
    documents = place(documents_asset(cluster.source, recipe.versions[cluster.source]), cluster.snapshot)
    printed, written = find_head_and_table(store, prints), find_head_and_table(store, documents)
    if not printed or not written:
        return ClusterExcerpt(cluster)
    if (printed[0].fingerprint, written[0].fingerprint) != (resolved.fingerprints, resolved.documents):
        return ClusterExcerpt(cluster)
    parts, shards = ({shard.name: shard for shard in table} for table in (printed[1], written[1]))
    if cluster.shard not in parts or cluster.shard not in shards:
        raise DataError(f"{prints.table}: no shard {cluster.shard}, which the resolution names; resolve again")
    spans = FingerprintPart(store, parts[cluster.shard], prints.table).spans()
    place_of = spans.first_document_span if recipe.near else spans.span_of_hash
    row, start, end = place_of(cluster.span, f"{prints.table}: part {cluster.shard}")
    found = _read_document_row(open_shard(store, documents, shards[cluster.shard]), row)
    text = None if found.pair in blocked else found.text[start : min(end, start + EXCERPT)]
    return ClusterExcerpt(cluster, row, start, end, text)


def _read_document_row(file: ShardFile, row: int) -> TextRow:
    first, rows = file.rows_around(row)
    if row - first >= len(rows):
        raise DataError(f"{file.path}: has no row {row}; make this partition again")
    return decode_rows(msgspec.json.Decoder(TextRow), rows[row - first] + b"\n", file.path, row)[0]
