"""Duplicates: the fingerprints of each snapshot, one resolution over all of them, and the attribute sets."""

import time
from collections.abc import Iterator
from dataclasses import replace

import dagster as dg

from assets.support.about import owners_of
from assets.support.automation import when_below_changed
from assets.support.facts.resolution_facts import resolution_facts
from assets.support.keys import group_of, key_of, plain_name
from assets.support.lake_identity import check_lake
from assets.support.report import convert_errors
from assets.support.runs.tags import asset_tags, tag_run
from assets.support.step_ops import Asked, Output, StepAssets
from gristmill.execution.step import Step
from gristmill.lake.asset_kinds import ledger_of_asset
from gristmill.lake.ledger.index_ledger import read_index_ledger
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.source import Source
from gristmill.stages.dedupe.labels.step import DedupeLabelsStep
from gristmill.stages.dedupe.resolution import read_assets, resolve_duplicates
from gristmill.stages.dedupe.round_facts import doubtful_result_line
from gristmill.stages.fingerprints.step import FingerprintStep
from resources.engine import RunEngine
from resources.lake import LakeResource

_CHECK = "Warns if nothing is marked: no unit occurred before, or no two documents have the same key."


def dedupe_assets(catalogue: Catalogue, source: Source, version: str) -> list[StepAssets]:
    """The fingerprints of a dataset version and its sets, for each dedupe recipe that compares it."""
    made: list[StepAssets] = []
    for dedupe in catalogue.dedupes_of_version(source, version):
        made += [_fingerprints(dedupe, source), _labels(dedupe, source)]
    return made


def _words(dedupe: Dedupe) -> str:
    return dedupe.description or dedupe.name


def _fingerprints(dedupe: Dedupe, source: Source) -> StepAssets:
    every = FingerprintStep(dedupe, source.name, "", ())

    def step(asked: Asked) -> Step:
        return replace(every, snapshot=asked.snapshot, shelves=asked.lake.packages)

    output = Output(
        address=every.makes[0],
        step=every,
        description=f"Fingerprints for {_words(dedupe)}",
        kinds=frozenset({"fingerprints"}),
        owners=source.owners,
    )
    return StepAssets(name=plain_name(output.address), source=source.name, outputs=[output], step=step, pool="tag")


def _labels(dedupe: Dedupe, source: Source) -> StepAssets:
    every = DedupeLabelsStep(dedupe, source.name, "", ())

    def step(asked: Asked) -> Step:
        return replace(every, snapshot=asked.snapshot, shelves=asked.lake.packages)

    output = Output(
        address=every.asset,
        step=every,
        description=f"{_words(dedupe)}. Made from {dedupe.asset}, whose sensor requests it.",
        kinds=frozenset({"jsonl", every.version}),
        owners=source.owners,
        automated=False,  # each resolution would request all snapshots; the sensor requests those whose marks changed
    )
    return StepAssets(name=plain_name(output.address), source=source.name, outputs=[output], step=step, pool="tag")


def _warning(check: dg.AssetCheckKey, doubtful: str) -> dg.AssetCheckResult:
    """The result of a check that never blocks: a warning, if there is a doubt."""
    return dg.AssetCheckResult(
        passed=not doubtful,
        asset_key=check.asset_key,
        check_name=check.name,
        description=doubtful or "something is marked, or no document was compared",
        severity=dg.AssetCheckSeverity.WARN,
    )


def resolution_asset(catalogue: Catalogue, dedupe: Dedupe) -> dg.AssetsDefinition:
    """The asset of a resolution."""
    address = dedupe.asset
    check = dg.AssetCheckKey(key_of(address), "duplicates_found")

    @dg.asset(
        key=key_of(address),
        deps=[key_of(each) for each in read_assets(dedupe)],
        group_name=group_of(address),
        description=f"{_words(dedupe)}: compares the fingerprints of all snapshots, and marks what occurred before",
        kinds={"fingerprints"},
        owners=owners_of(catalogue.sources[source] for source in dedupe.versions),
        tags=asset_tags(address),
        code_version=dedupe.recipe.digest[:16],
        automation_condition=when_below_changed(dedupe.name),
        pool="tag",
        check_specs=[dg.AssetCheckSpec(check.name, asset=check.asset_key, description=_CHECK)],
    )
    def resolution(
        context: dg.AssetExecutionContext, lake: LakeResource, engine: dg.ResourceParam[RunEngine]
    ) -> Iterator[dg.MaterializeResult[None]]:
        store = lake.store()
        tag_run(context.op_execution_context, {})
        with convert_errors(lake):
            check_lake(context.instance, store)
            token = f"{context.run.run_id}-{time.time_ns():x}"  # no two attempts have the same token
            editions = catalogue.edition_sources_of_dedupe(dedupe)
            result = resolve_duplicates(
                lake.lake(),
                dedupe,
                editions,
                lake.packages,
                engine.engine(),
                token,
                context.log.info,
                force=engine.force,
            )
            ledger = read_index_ledger(store, ledger_of_asset(address))
        doubtful = doubtful_result_line(each.counts for each in result.snapshots)
        if doubtful:
            context.log.warning(f"{address}: {doubtful}")
        version = dg.DataVersion(ledger.fingerprint) if ledger else None
        is_asked = check in context.op_execution_context.selected_asset_check_keys
        checked = [_warning(check, doubtful)] if is_asked else []
        facts = resolution_facts(store, dedupe, result)
        yield dg.MaterializeResult(metadata=facts, data_version=version, check_results=checked)

    return resolution
