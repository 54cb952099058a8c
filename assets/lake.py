"""The asset `lake`: the whole lake in totals, for who looks in the morning. Nothing is written to the lake."""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import dagster as dg

from assets.support.about import owners_of
from assets.support.arrivals import FOUND
from assets.support.facts.red import Red, red_of
from assets.support.facts.tables import metadata_table
from assets.support.keys import LAKE, key_of
from assets.support.lake_identity import check_lake
from assets.support.report import convert_errors
from assets.support.runs.tags import LAYER
from gristmill.lake.address import raw_asset
from gristmill.pipeline.totals import LakeTotals, lake_totals
from gristmill.recipes.catalogue import Catalogue
from gristmill.reports.sizes import number_and_noun, size_in_words
from resources.lake import LakeResource
from resources.pauses import paused_names

NAMED = 50
"""Largest number of red things that a materialization names."""

WHERE = "the page of the asset: Partitions and Checks, and the failed run"


def lake_asset(catalogue: Catalogue, checks: Mapping[str, Sequence[str]], whole: Sequence[str]) -> dg.AssetsDefinition:
    """The asset.

    Args:
        catalogue: the recipes.
        checks: the names of the blocking checks of each asset that steps make, by address.
        whole: addresses of the assets without partitions.
    """

    @dg.asset(
        key=key_of(LAKE),
        group_name=LAKE,
        description="The whole lake: what it holds, how old the newest data of each source are, what is red and"
        " what is paused. Made each morning from the ledgers, which takes seconds; **Materialize** counts anew.",
        owners=owners_of(catalogue.sources.values()),
        kinds={"totals"},
        tags={LAYER: LAKE},
    )
    def lake_in_totals(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult[None]:
        store, instance = lake.store(), context.instance
        with convert_errors(lake):
            check_lake(instance, store)
            totals = lake_totals(store, catalogue)
        arrived = dict(_arrived(instance, catalogue))
        red = [
            *red_of(instance, dict(catalogue.partitioned_assets()), whole, checks),
            *(Red(raw_asset(name), "", "late") for name in _late(catalogue, arrived)),
            *(Red(path, "", f"its ledger cannot be read: {why}") for path, why in totals.unread.items()),
        ]
        return dg.MaterializeResult(metadata=_facts(totals, arrived, red, paused_names(instance), time.time()))

    return lake_in_totals


def lake_schedule() -> dg.ScheduleDefinition:
    """The schedule that makes it each morning. It is on: no other page says at once whether something is red."""
    job = dg.define_asset_job(
        "lake_totals",
        selection=[key_of(LAKE)],
        description="Counts what the lake holds, and what is red",
        tags={LAYER: LAKE},
    )
    return dg.ScheduleDefinition(job=job, cron_schedule="43 5 * * *", default_status=dg.DefaultScheduleStatus.RUNNING)


class Arrived(NamedTuple):
    """The newest report of a source's raw data.

    Attributes:
        snapshot: its key.
        when: the time of the report, in seconds.
        found: whether the lake had the snapshot before this database of Dagster: the time tells nothing of the data.
    """

    snapshot: str
    when: float
    found: bool

    def __str__(self) -> str:
        at = "before Dagster knew" if self.found else f"{datetime.fromtimestamp(self.when, UTC):%Y-%m-%d %H:%M} UTC"
        return f"{self.snapshot}, {at}"


def _arrived(instance: dg.DagsterInstance, catalogue: Catalogue) -> Iterator[tuple[str, Arrived]]:
    """The newest report of each source's raw data."""
    for name in catalogue.sources:
        event = instance.get_latest_materialization_event(key_of(raw_asset(name)))
        if event is not None and event.asset_materialization is not None:
            report = event.asset_materialization
            found = (report.description or "").startswith(f"{FOUND}:")
            yield name, Arrived(report.partition or "", event.timestamp, found)


def _late(catalogue: Catalogue, arrived: Mapping[str, Arrived]) -> Iterator[str]:
    for source in catalogue.sources.values():
        hours, newest = source.expected_hours, arrived.get(source.name)
        if hours is not None and (newest is None or time.time() - newest.when > hours * 3600):
            yield source.name


def _facts(
    totals: LakeTotals, arrived: Mapping[str, Arrived], red: list[Red], held: frozenset[str], now: float
) -> dict[str, Any]:
    """The metadata: first in words, then the numbers, which Dagster draws over time, then where they come from."""
    rows = sum(each.rows for each in totals.sources.values())
    tokens = sum(each.tokens for each in totals.tokens.values())
    newest = max(((each.when, name) for name, each in arrived.items() if not each.found), default=None)
    facts: dict[str, Any] = {
        "in words": dg.MetadataValue.md(_words(totals, rows, tokens, _came(arrived, newest, now), len(red))),
        "red": len(red),
        "paused": ", ".join(sorted(held)) or "none",
        "what is red": metadata_table(
            [{"asset": each.asset, "what": each.what, "why": each.why} for each in red[:NAMED]]
        ),
        "dagster/row_count": rows,
        "tokens": tokens,
        "size": size_in_words(totals.all.bytes),
        "bytes": totals.all.bytes,
    }
    if newest is not None:
        facts["hours since the newest data"] = round((now - newest[0]) / 3600, 1)
    facts["sources"] = metadata_table(
        [
            {
                "source": name,
                "snapshots": len(each.snapshots),
                "rows": each.rows,
                "size": size_in_words(each.bytes),
                "newest data": str(arrived.get(name, "none has come yet")),
            }
            for name, each in totals.sources.items()
        ]
    )
    facts["token caches"] = metadata_table(
        [
            {"mix": mix, "tokenizer": tokenizer, "rows": each.rows, "tokens": each.tokens}
            for (mix, tokenizer), each in sorted(totals.tokens.items())
        ]
    )
    return facts


def _came(arrived: Mapping[str, Arrived], newest: tuple[float, str] | None, now: float) -> str:
    """When data came or changed last, as a sentence."""
    if newest is not None:
        return f"Data came or changed last {_age(now - newest[0])} ago: {newest[1]}."
    if arrived:
        return "When data came last is not known: the lake had them before this database of Dagster."
    return "No data have come yet."


def _words(totals: LakeTotals, rows: int, tokens: int, came: str, red: int) -> str:
    """What one asks first. Dagster's page shows Markdown unfolded if it has less than 1,000 characters."""
    filled = sum(1 for each in totals.sources.values() if each.snapshots)
    first = f"**{number_and_noun(red, 'thing')} red**: see below, then {WHERE}." if red else "**Nothing is red.**"
    held = (
        f"{number_and_noun(rows, 'document')} of {number_and_noun(filled, 'source')},"
        f" {number_and_noun(tokens, 'token')}, {size_in_words(totals.all.bytes)} with all that was made from them."
    )
    empty = len(totals.sources) - filled
    none = f" {number_and_noun(empty, 'source')} without data." if empty else ""
    return f"{first}\n\n{held}{none} {came}"


def _age(seconds: float) -> str:
    hours = max(seconds, 0) / 3600
    return f"{hours / 24:.0f} days" if hours >= 48 else f"{hours:.1f} hours"
