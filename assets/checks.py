"""Audit twins of the checks: executed from the UI, they read the bytes again and trust no ledger."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from assets.keys import address_of, key_of
from assets.partitions import snapshots_of
from assets.report import failures
from gristmill.lake.address import place
from gristmill.lake.store import Store
from gristmill.stages.auditing import audit_ledger
from resources.lake import LakeResource

_SHOWN = 20
"""Findings that a result shows; `python -m gristmill verify --all` lists all."""


def checks_of(address: str) -> tuple[str, ...]:
    """The blocking checks of an asset, by where it lies: what its commit looks at before it publishes."""
    match address.split("/"):
        case ["sources", _, "v0", "documents"]:
            return ("ids_unique",)
        case ["sources", _, _, "documents"]:
            return ("ids_unique", "ids_stable")
        case ["sources", _, _, "attributes", _]:
            return ("row_alignment",)
        case ["mixes", _, "documents", _]:
            return ("blocklist_respected",)
        case ["token_caches", _, _, _]:
            return ("cache_complete",)
        case _:
            return ()


def audit_checks(name: str, source: str, checks: Mapping[str, Mapping[str, str]]) -> dg.AssetChecksDefinition:
    """The audits of the assets of one step.

    Args:
        name: of the step.
        source: whose snapshots are the partitions.
        checks: for each asset's address, the checks to be audited and what they claim.
    """
    specs = [
        dg.AssetCheckSpec(
            name=f"{check}_audit",
            asset=key_of(address),
            description=f"From the bytes: {words}. Reads everything; trusts nothing.",
            partitions_def=snapshots_of(source),
        )
        for address, claims in checks.items()
        for check, words in claims.items()
    ]

    @dg.multi_asset_check(name=f"{name}__audits", specs=specs, can_subset=True, pool="audit")
    def audit(context: dg.AssetCheckExecutionContext, lake: LakeResource) -> Iterator[dg.AssetCheckResult]:
        if context.run.asset_selection:  # "Materialize" takes every check along; audits are asked for by themselves
            context.log.info("this run makes assets, whose own checks look at them: no audit")
            return
        store = lake.store()
        partition = context.partition_key
        found: dict[dg.AssetKey, list[str]] = {}
        for key in sorted(context.selected_asset_check_keys):
            if key.asset_key not in found:
                with failures():
                    found[key.asset_key] = _audit(store, address_of(key.asset_key), partition, context)
            findings = found[key.asset_key]
            yield dg.AssetCheckResult(
                passed=not findings,
                asset_key=key.asset_key,
                check_name=key.name,
                description=findings[0] if findings else "every byte is as its ledger says",
                metadata=_metadata(findings),
            )

    return audit


def _audit(store: Store, address: str, snapshot: str, context: dg.AssetCheckExecutionContext) -> list[str]:
    context.log.info(f"{address} ({snapshot}): reading all of it")
    found = audit_ledger(store, place(address, snapshot).ledger, context.log.info)
    return [str(finding) for finding in found]


def _metadata(findings: Sequence[str]) -> dict[str, Any]:
    shown = "\n".join(f"- {line}" for line in findings[:_SHOWN])
    return {"findings": len(findings), "first findings": dg.MetadataValue.md(shown or "none")}
