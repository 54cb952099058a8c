"""The last reading of a check that runs by itself: Dagster shows it until another run reads.

Dagster shows the newest result of a check, and only if it names the newest materialization of the asset. So each run
that makes the asset, and each that plans the check and does not come to it, would erase a failed audit. Therefore the
last reading is reported again, marked with the run that read.
"""

import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

import dagster as dg

from assets.support.keys import key_of
from gristmill.verification.ids_across import NAME as IDS_ACROSS

AS_OF = "as of run"
"""Metadata of a repeated result: id of the run that read, or NEVER."""

READ_AT = "read at"
"""Metadata of a repeated result: when that run has read."""

NEVER = "none"

WRONG = "snapshots wrong"
"""Metadata of an audit: the snapshots with findings."""

READ = "snapshots read"
"""Metadata of an audit: the snapshots that it has read."""

FINDINGS = "findings"
"""Metadata of an audit: the number of its own findings."""

_NEWEST = 5
"""Number of results among which the last reading is looked for: runs that end together report in any order."""

_PAGE = 20
"""Number of records that are read at once: runs that were canceled leave many without a result."""

_COMPLETED = frozenset({"SUCCEEDED", "FAILED"})
"""The states of a record with a result."""

_TRIES = 5
"""How often a reading is reported again, because another run has made the asset or reported meanwhile."""


class LastReading(NamedTuple):
    """What a run has read.

    Attributes:
        run: id of the run.
        at: time when its result was recorded, in seconds.
        result: its result, or what repeats it.
    """

    run: str
    at: float
    result: dg.AssetCheckResult | dg.AssetCheckEvaluation

    @property
    def words(self) -> str:
        """The words of a repetition: which run has read, and the description of its result."""
        words, lead = self.result.description or "", f"as of run {self.run[:8]}, not read again: "
        return words if words.startswith(lead) else lead + words


def readings_of(address: str, checks: Collection[str]) -> list[dg.AssetCheckKey]:
    """The checks of an asset that run by themselves; some of them may not exist.

    Args:
        address: address of the asset.
        checks: names of its blocking checks.
    """
    return [dg.AssetCheckKey(key_of(address), name) for name in (*(f"{check}_audit" for check in checks), IDS_ACROSS)]


def last_reading(instance: dg.DagsterInstance, key: dg.AssetCheckKey) -> LastReading | None:
    """The last reading of a check; None if no run has read."""
    newest = islice(_completed(instance, key), _NEWEST)
    found = [reading for reading in map(_reading, newest) if reading is not None]
    return max(found, key=lambda each: each.at, default=None)


def _completed(instance: dg.DagsterInstance, key: dg.AssetCheckKey) -> Iterator[Any]:
    """The recorded results of a check, the newest first, without those that were planned and not done."""
    before = None
    while page := instance.event_log_storage.get_asset_check_execution_history(key, limit=_PAGE, cursor=before):
        yield from (record for record in page if record.status.value in _COMPLETED)
        before = page[-1].id


def _reading(record: Any) -> LastReading | None:
    """The reading that a recorded result tells or repeats; None if it says that there was none."""
    if record.event is None or not isinstance(record.evaluation, dg.AssetCheckEvaluation):  # planned
        return None
    said = record.evaluation.metadata
    run = str(said[AS_OF].value) if AS_OF in said else record.run_id
    at = said[READ_AT].value if READ_AT in said else record.event.timestamp
    return None if run == NEVER else LastReading(run, float(str(at)), record.evaluation)


def repeat_last_result(instance: dg.DagsterInstance, key: dg.AssetCheckKey) -> dg.AssetCheckResult:
    """The last result of a check, marked with the run that read. If the check never ran, a warning says so."""
    return dg.AssetCheckResult(asset_key=key.asset_key, check_name=key.name, **_again(last_reading(instance, key)))


def _again(last: LastReading | None, *, fresh: bool = False) -> dict[str, Any]:
    """The arguments of a result that repeats a reading; of a fresh one with its own words."""
    if last is None:
        words, warning = "never read: press Execute on this check", dg.AssetCheckSeverity.WARN
        return {"passed": False, "description": words, "severity": warning, "metadata": {AS_OF: NEVER}}
    mark = {AS_OF: last.run, READ_AT: dg.MetadataValue.timestamp(last.at)}
    return {
        "passed": last.result.passed,
        "description": last.result.description if fresh else last.words,
        "severity": last.result.severity,
        "metadata": {**(last.result.metadata or {}), **mark},
    }


def keep_shown(instance: dg.DagsterInstance, keys: Collection[dg.AssetCheckKey], warn: Callable[[str], object]) -> None:
    """Makes Dagster show the last readings of checks, where it does not. Checks that nobody asked for are left out.

    Args:
        instance: Dagster's instance.
        keys: keys of the checks.
        warn: function that takes what went wrong: what is shown must not fail what is made.
    """
    try:
        for key in instance.event_log_storage.get_latest_asset_check_execution_by_key(list(keys)):
            _show(instance, key)
    except Exception as error:  # noqa: BLE001 - records that cannot be read, or a database that is away
        first = next(iter(keys)).to_user_string()
        warn(f"last readings of {first} and others are not shown again: {type(error).__name__}: {error}")


def show_reading(instance: dg.DagsterInstance, run: str, key: dg.AssetCheckKey, result: dg.AssetCheckResult) -> None:
    """Makes Dagster show a reading that has just ended, if it does not.

    A run that was planned later may have repeated an older reading. If the reading is of one snapshot, Dagster relates
    it to the materialization of this snapshot, which may not be the newest of the asset.

    Args:
        instance: Dagster's instance.
        run: id of the run that read.
        key: key of the check.
        result: its result, which Dagster has recorded already.
    """
    _show(instance, key, LastReading(run, time.time(), result))


def _show(instance: dg.DagsterInstance, key: dg.AssetCheckKey, ended: LastReading | None = None) -> None:
    for _ in range(_TRIES):
        last = max(filter(None, (last_reading(instance, key), ended)), key=lambda each: each.at, default=None)
        newest = instance.event_log_storage.get_latest_asset_check_execution_by_key([key]).get(key)
        target = _target(instance, key.asset_key)
        if newest is not None and (_is_shown(newest, last, target) or (last is None and _is_going(instance, newest))):
            return
        _report(instance, key, target, _again(last, fresh=last is ended))


def _report(instance: dg.DagsterInstance, key: dg.AssetCheckKey, target: Any, again: dict[str, Any]) -> None:
    name, asset = key.name, key.asset_key
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(asset_key=asset, check_name=name, target_materialization_data=target, **again)
    )


def _is_shown(newest: Any, last: LastReading | None, target: Any) -> bool:
    """Whether Dagster shows a reading: it has the newest result, and names the newest materialization."""
    if not isinstance(newest.evaluation, dg.AssetCheckEvaluation):
        return False
    found, named = _reading(newest), newest.evaluation.target_materialization_data
    same = found is last or (found is not None and last is not None and found.run == last.run)
    return same and (target is None or (named is not None and named.storage_id == target.storage_id))


def _is_going(instance: dg.DagsterInstance, newest: Any) -> bool:
    """Whether the run that has planned a check may still come to it."""
    run = instance.get_run_by_id(newest.run_id)
    return run is not None and not run.is_finished


def _target(instance: dg.DagsterInstance, key: dg.AssetKey) -> Any:
    """The newest materialization of an asset, as results of checks name it; None without one.

    Dagster does not export the class. It is read in the form that Dagster stores with each result, and therefore keeps.
    """
    record = next(iter(instance.get_asset_records([key])), None)
    newest = record.asset_entry.last_materialization_record if record else None
    if newest is None:
        return None
    named = {"storage_id": newest.storage_id, "run_id": newest.run_id, "timestamp": newest.timestamp}
    return dg.deserialize_value(json.dumps({"__class__": "AssetCheckEvaluationTargetMaterializationData", **named}))


@contextmanager
def kept_readings(instance: dg.DagsterInstance, keys: Collection[dg.AssetCheckKey]) -> Iterator[None]:
    """Keeps the last readings of checks, while the records of their asset are wiped."""
    last = {key: reading for key in keys if (reading := last_reading(instance, key)) is not None}
    yield
    for key, reading in last.items():
        _report(instance, key, None, _again(reading))


def is_news(result: dg.AssetCheckEvaluation) -> bool:
    """Whether a result tells what its run has read: not if it repeats a reading, or only says what stays wrong."""
    own, wrong = result.metadata.get(FINDINGS), result.metadata.get(WRONG)
    only_stays = own is not None and own.value == 0 and wrong is not None and wrong.value != NEVER
    return AS_OF not in result.metadata and not only_stays


def still_wrong(last: LastReading | None, read: Sequence[str]) -> list[str]:
    """The snapshots that were wrong at the last audit, and that an audit of `read` alone has not read again."""
    if last is None or last.result.passed:
        return []
    metadata = last.result.metadata or {}
    named = metadata.get(WRONG) or metadata.get(READ)  # audits of 0.1 do not say which were wrong
    wrong = str(named.value).split(", ") if named else []
    return [snapshot for snapshot in wrong if snapshot != NEVER and snapshot not in read]
