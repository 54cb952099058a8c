"""The metadata of a partition: what the run that makes it reports, and what `sync` reports of one that others made."""

from collections.abc import Mapping, Sequence
from typing import Any

from assets.support.facts.column_facts import column_facts
from assets.support.facts.score_facts import score_facts
from assets.support.facts.tables import metadata_table
from assets.support.report import cache_facts, ledger_facts
from gristmill.execution.step import Step
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import TOKEN_CACHE
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.store.protocol import Store
from gristmill.stages.dedupe.labels.step import DedupeLabelsStep
from gristmill.stages.mixing.carrying.step import CarryingStep
from gristmill.stages.tagging.step import TaggingStep

_ROWS = 50
"""Number of shards in the table of a materialization; the ledger has all of them."""


def partition_facts(
    store: Store,
    step: Step,
    place: Place,
    ledger: Ledger,
    shards: Sequence[Shard],
    run: Mapping[str, Any],
    *,
    stored: bool = False,
) -> dict[str, Any]:
    """The metadata of a partition.

    Args:
        store: the lake.
        step: a step that makes the asset.
        place: the partition.
        ledger: head of its ledger.
        shards: rows of the ledger's table.
        run: further metadata about the run that has just made it.
        stored: whether labels are described only if the lake has their statistics; else they are read.
    """
    facts = ledger_facts(store, place, ledger, shards) | dict(run)
    facts["shard table"] = metadata_table(
        [
            {
                "shard": shard.name,
                "rows": shard.rows,
                "bytes": shard.bytes,
                "rows dropped": sum(shard.dropped.values()),
                "sha256": shard.sha256[:16],
            }
            for shard in shards[:_ROWS]
        ]
    )
    if place.kind is TOKEN_CACHE:
        facts |= cache_facts(shards)
    if isinstance(step, TaggingStep | DedupeLabelsStep | CarryingStep):
        scores = score_facts(store, place, shards, step.labels, stored=stored)
        facts = {name: facts[name] for name in ("dagster/row_count", "size")} | scores | facts  # what people look for
    return facts | column_facts(step, place.asset)
