"""Audits: checks for the UI that read all bytes again and trust no ledger, one for each blocking check."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from assets.support.keys import address_of, key_of, plain, snapshots_of
from assets.support.report import failures
from gristmill.lake.address import place
from gristmill.lake.store.protocol import Store
from gristmill.verification.audit import audit_ledger
from resources.lake import LakeResource

_SHOWN = 20
"""Number of findings that a result shows; `python -m gristmill verify --all` lists all of them."""


def audit_checks(source: str, checks: Mapping[str, Mapping[str, str]]) -> dg.AssetChecksDefinition:
    """The audits of everything that is made from a source. One op runs any subset of them.

    Args:
        source: name of the source.
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
    @dg.multi_asset_check(name=f"{plain(source)}__audits", specs=specs, can_subset=True, pool="audit")
    def audit(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        if context.run.asset_selection:  # "Materialize" selects every check; audits run only by themselves
            context.log.info("this run makes assets, and runs their blocking checks; audits run only by themselves")
            return
        named = context.run.tags.get("dagster/partition")
        snapshots = (
            [named] if named else sorted(context.instance.get_dynamic_partitions(snapshots_of(source).name or ""))
        )
        results: dict[dg.AssetKey, tuple[list[str], list[str]]] = {}
        for key in sorted(context.selected_asset_check_keys):
            if key.asset_key not in results:
                with failures(lake):
                    results[key.asset_key] = _audit(lake.store(), address_of(key.asset_key), snapshots, context)
            findings, read = results[key.asset_key]
            yield dg.AssetCheckResult(
                passed=not findings and bool(read),
                asset_key=key.asset_key,
                check_name=key.name,
                description=_description(findings, read),
                metadata=_metadata(findings, read),
            )

    return audit


def _audit(
    store: Store, address: str, snapshots: Sequence[str], context: dg.AssetCheckExecutionContext
) -> tuple[list[str], list[str]]:
    """The findings, and the finished snapshots, which were read."""
    findings: list[str] = []
    read: list[str] = []
    for snapshot in snapshots:
        partition = place(address, snapshot)
        if store.head(partition.ledger) is None:
            continue
        context.log.info(f"{address} ({snapshot}): reading all of it")
        findings += [str(finding) for finding in audit_ledger(store, partition.ledger, context.log.info)]
        read.append(snapshot)
    return findings, read


def _description(findings: Sequence[str], read: Sequence[str]) -> str:
    if findings:
        return findings[0]
    return f"every byte of {', '.join(read)} is as its ledger says" if read else "no snapshot is finished"


def _metadata(findings: Sequence[str], read: Sequence[str]) -> dict[str, Any]:
    """The findings as metadata, with an entry for each: Dagster's page does not show Markdown unfolded."""
    lines = {f"finding {n}": line for n, line in enumerate(findings[:_SHOWN], 1)}
    return {"findings": len(findings), "snapshots read": ", ".join(read) or "none"} | lines
