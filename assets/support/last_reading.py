"""The last reading of a check that runs by itself, repeated in runs that do not read.

"Materialize" plans every check of an asset, and Dagster shows only the last run that planned a check. Such a run reads
nothing, so it reports the last reading once more. Without this, it would erase a failed audit.
"""

from collections.abc import Sequence

import dagster as dg
from dagster._core.storage.asset_check_execution_record import (
    COMPLETED_ASSET_CHECK_EXECUTION_RECORD_STATUSES as COMPLETED,
)

AS_OF = "as of run"
"""Metadata of a repeated result: id of the run that read, or NEVER."""

NEVER = "none"

WRONG = "snapshots wrong"
"""Metadata of an audit: the snapshots with findings."""

READ = "snapshots read"
"""Metadata of an audit: the snapshots that it has read."""


def repeated(instance: dg.DagsterInstance, key: dg.AssetCheckKey) -> dg.AssetCheckResult:
    """The last result of a check, marked with the run that read. If the check never ran, a warning says so."""
    found = last_result(instance, key)
    if found is None:
        return dg.AssetCheckResult(
            passed=False,
            asset_key=key.asset_key,
            check_name=key.name,
            description="never read: press Execute on this check",
            severity=dg.AssetCheckSeverity.WARN,
            metadata={AS_OF: NEVER},
        )
    run, last = found
    fresh = AS_OF not in last.metadata
    return dg.AssetCheckResult(
        passed=last.passed,
        asset_key=key.asset_key,
        check_name=key.name,
        description=f"as of run {run[:8]}, not read again: {last.description}" if fresh else last.description,
        severity=last.severity,
        metadata={**last.metadata, AS_OF: run} if fresh else last.metadata,
    )


def last_result(instance: dg.DagsterInstance, key: dg.AssetCheckKey) -> tuple[str, dg.AssetCheckEvaluation] | None:
    """The newest result of a check, and the id of its run; None if no run has ended with a result."""
    newest = instance.event_log_storage.get_asset_check_execution_history(key, limit=1, status=COMPLETED)
    evaluation = newest[0].evaluation if newest else None
    return (newest[0].run_id, evaluation) if newest and evaluation else None


def show_last(instance: dg.DagsterInstance, run: str, key: dg.AssetCheckKey, result: dg.AssetCheckResult) -> None:
    """Reports the result of a run again, if a run that was planned later has repeated an older one meanwhile.

    Args:
        instance: Dagster's instance.
        run: id of the run that read.
        key: of the check.
        result: its result, which Dagster has recorded already.
    """
    found = last_result(instance, key)
    if found is None or found[0] == run:
        return
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(
            asset_key=key.asset_key,
            check_name=key.name,
            passed=result.passed,
            description=f"as of run {run[:8]}: {result.description}",
            severity=result.severity,
            metadata={**result.metadata, AS_OF: run},
        )
    )


def still_wrong(last: dg.AssetCheckEvaluation | None, read: Sequence[str]) -> list[str]:
    """The snapshots that were wrong at the last audit, and that an audit of `read` alone has not read again."""
    if last is None or last.passed:
        return []
    named = last.metadata.get(WRONG) or last.metadata.get(READ)  # audits of 0.1 do not say which were wrong
    wrong = str(named.value).split(", ") if named else []
    return [snapshot for snapshot in wrong if snapshot != NEVER and snapshot not in read]
