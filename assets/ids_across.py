"""Ids over all snapshots of a source: a check that a schedule runs, and that blocks nothing."""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.support.keys import key_of, plain_name, snapshots_of
from assets.support.last_reading import repeat_last_result, show_reading
from assets.support.report import check_result, convert_errors
from gristmill.lake.address import documents_asset
from gristmill.recipes.source import Source
from gristmill.verification.ids_across import NAME, check_ids_across_snapshots
from resources.lake import LakeResource


def across_check(source: Source) -> dg.AssetChecksDefinition:
    """The check that an id occurs once in all snapshots of a source whose snapshots accumulate."""
    key = key_of(documents_asset(source.name, source.versions[0]))

    spec = dg.AssetCheckSpec(
        name=NAME,
        asset=key,
        description="Each id occurs once in all snapshots together, as they accumulate. Blocks nothing.",
    )

    @dg.multi_asset_check(name=f"{plain_name(source.name)}__ids_across", specs=[spec], can_subset=True, pool="audit")
    def across(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        if context.run.asset_selection:  # "Materialize" selects every check; this one runs only by itself
            yield repeat_last_result(context.instance, spec.key)
            return
        keys = context.instance.get_dynamic_partitions(snapshots_of(source.name).name or "")
        with convert_errors(lake):
            verdict = check_ids_across_snapshots(lake.store(), documents_asset(source.name, source.versions[0]), keys)
        result = check_result(verdict, key)
        yield result
        show_reading(context.instance, context.run.run_id, spec.key, result)

    return across


def across_schedule(sources: Sequence[Source]) -> dg.ScheduleDefinition:
    """The schedule that runs the checks of these sources every night. A person switches it on in the UI."""
    checks = [dg.AssetCheckKey(key_of(documents_asset(source.name, source.versions[0])), NAME) for source in sources]
    job = dg.define_asset_job(
        "ids_across",
        selection=dg.AssetSelection.checks(*checks),
        description="Compares the ids of all snapshots of each source whose snapshots accumulate",
    )
    return dg.ScheduleDefinition(job=job, cron_schedule="17 3 * * *")
