"""Audits: checks for the UI that read all bytes again and trust no ledger, one for each blocking check."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import dagster as dg

from assets.support.keys import address_of, key_of, plain, snapshots_of
from assets.support.last_reading import NEVER, READ, WRONG, last_result, repeated, show_last, still_wrong
from assets.support.next_steps import beside_result
from assets.support.report import failures
from gristmill.lake.address import place
from gristmill.recipes.source import Source
from gristmill.verification.audit import audit_ledger
from gristmill.verification.raw import audit_checksums
from resources.lake import LakeResource

_SHOWN = 20
"""Number of findings that a result shows; `python -m gristmill verify --all` lists all of them."""


CHECKSUMS = "checksums_match_audit"
"""The audit that reads raw objects, and no ledger."""


def audit_checks(source: Source, checks: Mapping[str, Mapping[str, str]]) -> dg.AssetChecksDefinition:
    """The audits of everything that is made from a source. One op runs any subset of them.

    Args:
        source: the recipe.
        checks: by the address of an asset, the names of its blocking checks and what each of them claims.
    """
    specs = [
        dg.AssetCheckSpec(
            name=f"{check}_audit",
            asset=key_of(address),
            description=f"Verified from the bytes of all finished snapshots: {words}. It reads every object.",
        )
        for address, claims in checks.items()
        for check, words in claims.items()
    ]

    # Not partitioned, though their assets are: Dagster's pages can execute a check alone only if it has no partitions.
    @dg.multi_asset_check(name=f"{plain(source.name)}__audits", specs=specs, can_subset=True, pool="audit")
    def audit(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        keys = sorted(context.selected_asset_check_keys)
        if context.run.asset_selection:  # "Materialize" selects every check; audits run only by themselves
            yield from (repeated(context.instance, key) for key in keys)
            return
        named = context.run.tags.get("dagster/partition")
        snapshots = (
            [named] if named else sorted(context.instance.get_dynamic_partitions(snapshots_of(source.name).name or ""))
        )
        readings: dict[tuple[dg.AssetKey, bool], _Reading] = {}
        for key in keys:
            of = (key.asset_key, key.name == CHECKSUMS)
            raw = source if key.name == CHECKSUMS else None
            if of not in readings:
                with failures(lake):
                    readings[of] = _audit(lake, address_of(key.asset_key), raw, snapshots, context)
            last = last_result(context.instance, key) if named else None
            result = _result(key, readings[of], last[1] if last else None)
            yield result
            show_last(context.instance, context.run.run_id, key, result)

    return audit


class _Reading(NamedTuple):
    """The findings of an audit, the finished snapshots, which were read, and those of them that have findings."""

    findings: list[str]
    read: list[str]
    wrong: list[str]


def _audit(
    lake: LakeResource,
    address: str,
    raw: Source | None,
    snapshots: Sequence[str],
    context: dg.AssetCheckExecutionContext,
) -> _Reading:
    """Audits the finished snapshots of an asset; or, if a source is given, its raw objects by their checksum files."""
    store = lake.store()
    reading = _Reading([], [], [])
    for snapshot in snapshots:
        partition = place(address, snapshot)
        if store.head(partition.ledger) is None:
            continue
        context.log.info(f"{address} ({snapshot}): reading all of it")
        if raw is None:
            findings = audit_ledger(store, partition.ledger, context.log.info, shelves=lake.packages)
        else:
            findings = list(audit_checksums(lake.lake(), raw, snapshot))
        reading.findings.extend(str(finding) for finding in findings)
        reading.read.append(snapshot)
        if findings:
            reading.wrong.append(snapshot)
    return reading


def _result(key: dg.AssetCheckKey, reading: _Reading, last: dg.AssetCheckEvaluation | None) -> dg.AssetCheckResult:
    """The result of an audit. `last`: the result before, if only one snapshot was asked for; what it found stays."""
    findings, read, wrong = reading
    before = still_wrong(last, read)
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
            "findings": len(findings),
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
