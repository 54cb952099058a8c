"""Audits: checks for the UI that read all bytes again and trust no ledger, one for each blocking check."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import dagster as dg

from assets.support.keys import address_of, choice_of, key_of, plain_name, snapshots_of
from assets.support.last_reading import (
    FINDINGS,
    NEVER,
    READ,
    WRONG,
    last_reading,
    repeat_last_result,
    show_reading,
    still_wrong,
)
from assets.support.next_steps import beside_result, failure_metadata
from assets.support.report import convert_errors
from assets.support.runs.tags import LAYER, SOURCE
from gristmill.execution.finding import check_answers
from gristmill.execution.work import Say
from gristmill.lake.address import place
from gristmill.recipes.source import Source
from gristmill.reports.sizes import number_and_noun
from gristmill.verification.audit import audit_ledger
from gristmill.verification.raw import audit_checksums
from resources.lake import LakeResource

_SHOWN = 20
"""Number of findings that a result shows; `python -m gristmill verify --all` lists all of them."""


AUDITS = "audits"
"""The job that executes the audits of all sources."""

CHECKSUMS = "checksums_match_audit"
"""The audit that reads raw objects, and no ledger."""


def audit_checks(source: Source, checks: Mapping[str, Mapping[str, str]]) -> dg.AssetChecksDefinition:
    """The audits of everything that is made from a source. One op runs any subset of them.

    Args:
        source: the recipe.
        checks: names of blocking checks, each with its claim, by the address of their asset.
    """
    specs = [
        dg.AssetCheckSpec(
            name=f"{check}_audit",
            asset=key_of(address),
            description=f"{check}, read from every byte",
        )
        for address, claims in checks.items()
        for check in claims
    ]

    # Not partitioned, though their assets are: Dagster's pages can execute a check alone only if it has no partitions.
    @dg.multi_asset_check(name=f"{plain_name(source.name)}__audits", specs=specs, can_subset=True, pool="audit")
    def audit(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        keys = sorted(context.selected_asset_check_keys)
        if context.run.asset_selection:  # "Materialize" selects every check; audits run only by themselves
            yield from (repeat_last_result(context.instance, key) for key in keys)
            return
        for key, result in _results(context, lake, source, keys):
            yield result
            show_reading(context.instance, context.run.run_id, key, result)

    return audit


def audit_jobs(
    sources: Mapping[str, Source],
    audits: Mapping[str, dg.AssetChecksDefinition],
    bound: Mapping[str, Any],
    *,
    more: bool = False,
) -> Iterator[dg.JobDefinition]:
    """The job `audits` that does the audits of all sources, or of those that its configuration names.

    They are jobs of one op, which records results of checks. Jobs of checks would take 25 ms each of every load.

    Args:
        sources: the recipes.
        audits: the audits, by source.
        bound: resources, executor and loggers of the deployment, as GraphDefinition.to_job() takes them.
        more: whether each source has such a job, too.
    """
    of_job = {f"{plain_name(source)}_audits": [source] for source in audits if more} | {AUDITS: [*audits]}
    words = "Names of sources; without them, all that the job audits"
    schema = {"sources": dg.Field([choice_of("Source", audits)], is_required=False, description=words)}

    @dg.op(description="Reads every byte of all finished snapshots.", pool="audit", config_schema=schema)
    def audit_all(context: dg.OpExecutionContext, lake: LakeResource) -> None:
        unread: dict[str, BaseException] = {}
        for source in context.op_config.get("sources") or of_job[context.job_name]:
            for key, result in _results(context, lake, sources[source], sorted(audits[source].check_keys), unread):
                if result.metadata[READ].value == NEVER:  # nothing of it is made yet: that is no finding
                    continue
                if not result.passed:
                    context.log.error(f"{address_of(key.asset_key)}: {key.name}: {result.description}")
                context.log_event(_evaluation(key, result))  # type: ignore[arg-type]  # it takes evaluations too
                show_reading(context.instance, context.run.run_id, key, result)
        if unread:  # not tried again: that would read everything else again, too
            first = next(iter(unread.values()))
            raise dg.Failure(
                description=f"{number_and_noun(len(unread), 'asset')} could not be read to the end, all others were:"
                f" {first}",
                metadata={**failure_metadata(first), **{asset: str(error) for asset, error in unread.items()}},
                allow_retries=False,
            )

    for name, named in of_job.items():
        source = named[0] if name != AUDITS else ""
        yield dg.GraphDefinition(
            name=name,
            description=f"All audits of {source or 'all sources'}: reads every byte, and compares it with the ledgers",
            node_defs=[audit_all],
        ).to_job(tags={LAYER: "audits", **({SOURCE: source} if source else {})}, **bound)


def _evaluation(key: dg.AssetCheckKey, result: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=key.asset_key,
        check_name=key.name,
        passed=result.passed,
        metadata=result.metadata,
        description=result.description,
        severity=result.severity,
        blocking=False,
    )


def audit_schedule() -> dg.ScheduleDefinition:
    """The schedule that executes all audits every week. A person switches it on in the UI."""
    return dg.ScheduleDefinition(job_name=AUDITS, cron_schedule="23 4 * * 0")


class _Reading(NamedTuple):
    """The findings of an audit, the finished snapshots, which were read, and those of them that have findings."""

    findings: list[str]
    read: list[str]
    wrong: list[str]


def _results(
    context: dg.OpExecutionContext | dg.AssetCheckExecutionContext,
    lake: LakeResource,
    source: Source,
    keys: Sequence[dg.AssetCheckKey],
    unread: dict[str, BaseException] | None = None,
) -> Iterator[tuple[dg.AssetCheckKey, dg.AssetCheckResult]]:
    """The results of audits, each as soon as it is there. Audits of the same bytes read them once.

    Args:
        context: of the run.
        lake: the lake.
        source: the recipe.
        keys: the audits.
        unread: receives why an asset could not be read, by its address. Its audits then have no result. None: the
            first such asset fails the op.
    """
    named = context.run.tags.get("dagster/partition")
    snapshots = (
        [named] if named else sorted(context.instance.get_dynamic_partitions(snapshots_of(source.name).name or ""))
    )
    readings: dict[tuple[dg.AssetKey, bool], _Reading | None] = {}
    for key in keys:
        of = (key.asset_key, key.name == CHECKSUMS)
        raw = source if key.name == CHECKSUMS else None
        if of not in readings:
            try:
                with convert_errors(lake):
                    readings[of] = _audit(lake, address_of(key.asset_key), raw, snapshots, context.log.info)
            except (dg.Failure, dg.RetryRequested) as error:
                if unread is None:
                    raise
                readings[of] = None
                cause = unread[address_of(key.asset_key)] = error.__cause__ or error
                words = f"{address_of(key.asset_key)}: not read to the end: {cause}"
                context.log.error(words)  # noqa: TRY400 - a stack trace tells a person nothing here
        reading = readings[of]
        if reading is not None:
            last = last_reading(context.instance, key) if named else None
            yield key, _result(key, reading, still_wrong(last, reading.read))


def _audit(
    lake: LakeResource,
    address: str,
    raw: Source | None,
    snapshots: Sequence[str],
    say: Say,
) -> _Reading:
    """Audits the finished snapshots of an asset; or, if a source is given, its raw objects by their checksum files."""
    store = lake.store()
    reading = _Reading([], [], [])
    for snapshot in snapshots:
        partition = place(address, snapshot)
        if store.head(partition.ledger) is None:
            check_answers(store)
            continue
        say(f"{address} ({snapshot}): reading all of it")
        if raw is None:
            findings = audit_ledger(store, partition.ledger, say, shelves=lake.packages)
        else:
            findings = list(audit_checksums(lake.lake(), raw, snapshot))
        reading.findings.extend(str(finding) for finding in findings)
        reading.read.append(snapshot)
        if findings:
            reading.wrong.append(snapshot)
    return reading


def _result(key: dg.AssetCheckKey, reading: _Reading, before: Sequence[str]) -> dg.AssetCheckResult:
    """The result of an audit. `before`: other snapshots that were wrong when they were last read: that stays."""
    findings, read, wrong = reading
    description = _description(key, findings, read)
    if before:
        description += f"; {', '.join(before)} had findings in an earlier audit, and was not read again"
    passed = not findings and bool(read) and not before
    return dg.AssetCheckResult(
        passed=passed,
        asset_key=key.asset_key,
        check_name=key.name,
        description=description,
        metadata={
            **beside_result(key.name, passed=passed or not read),
            FINDINGS: len(findings),
            READ: ", ".join(read) or NEVER,
            WRONG: ", ".join([*wrong, *before]) or NEVER,
            # An entry for each finding: Dagster's page does not show Markdown unfolded.
            **{f"finding {n}": line for n, line in enumerate(findings[:_SHOWN], 1)},
        },
    )


def _description(key: dg.AssetCheckKey, findings: Sequence[str], read: Sequence[str]) -> str:
    if findings:
        return findings[0]
    if read and key.name == CHECKSUMS:
        return f"every raw object of {', '.join(read)} has the hashes that the checksum files name"
    return f"every byte of {', '.join(read)} is as its ledger says" if read else "no snapshot is finished"
