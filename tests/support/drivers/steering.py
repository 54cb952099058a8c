"""What a person does in the UI while runs are under way, as the UI of Dagster 1.13 sends it."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from live import BACKFILL, REPOSITORY, Live

SAFE, FORCED = "SAFE_TERMINATE", "MARK_AS_CANCELED_IMMEDIATELY"
FROM_UI = [{"key": "dagster/from_ui", "value": "true"}]
SENSORS = """query ($of: RepositorySelector!) { sensorsOrError(repositorySelector: $of) {
    ... on Sensors { results { id name sensorState { status ticks(limit: 1) { status } } } } } }"""
STOP = """mutation ($id: String!) { stopSensor(id: $id) {
    __typename ... on StopSensorMutationResult { instigationState { status } } } }"""
AGAIN = """mutation ($params: ReexecutionParams!) { launchPipelineReexecution(reexecutionParams: $params) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
TERMINATE = """mutation ($ids: [String!]!, $policy: TerminateRunPolicy) {
    terminateRuns(runIds: $ids, terminatePolicy: $policy) { ... on TerminateRunsResult { terminateRunResults {
        __typename ... on TerminateRunFailure { message } ... on PythonError { message } } } } }"""
CANCEL = "mutation ($id: String!) { cancelPartitionBackfill(backfillId: $id) { __typename } }"
BACKFILL_AGAIN = """mutation ($params: ReexecutionParams!) { reexecutePartitionBackfill(reexecutionParams: $params) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
COUNTS = """query ($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill {
    assetBackfillData { assetBackfillStatuses {
        ... on AssetPartitionsStatusCounts {
            assetKey { path } numPartitionsTargeted numPartitionsMaterialized numPartitionsFailed }
        ... on UnpartitionedAssetStatus { assetKey { path } materialized failed } } } } } }"""
TIMES = "query ($id: ID!) { runOrError(runId: $id) { ... on Run { startTime endTime } } }"


def pause(live: Live) -> None:
    """Stops all sensors, when each has had its first tick: before, Dagster's own daemon trips over a sensor stopped.

    Raises:
        AssertionError: a sensor does not stop.
    """

    def sensors() -> list[dict[str, Any]]:
        return list(live.ask(SENSORS, of=REPOSITORY)["sensorsOrError"]["results"])

    def ticks(sensor: Mapping[str, Any]) -> list[str]:
        return [tick["status"] for tick in sensor["sensorState"]["ticks"]]

    live.wait(lambda: all(map(ticks, sensors())), "the first ticks", every=0.2)
    for sensor in sensors():
        said = live.ask(STOP, id=sensor["id"])["stopSensor"]
        assert said.get("instigationState") == {"status": "STOPPED"}, said
    live.wait(lambda: all("STARTED" not in ticks(each) for each in sensors()), "the last ticks", every=0.2)


def job_backfill(live: Live, job: str, partitions: Sequence[str]) -> str:
    """A backfill of a job, from its page; the backfill's id."""
    selector = {"partitionSetName": f"{job}_partition_set", "repositorySelector": REPOSITORY}
    params = {"selector": selector, "partitionNames": list(partitions), "fromFailure": False, "tags": FROM_UI}
    said = live.ask(BACKFILL, params=params)["launchPartitionBackfill"]
    assert said["__typename"] == "LaunchBackfillSuccess", said
    return str(said["backfillId"])


def from_failure(live: Live, run: str) -> str:
    """The button "Re-execute from failure" of a run; the new run's id."""
    params = {"parentRunId": run, "strategy": "FROM_FAILURE", "extraTags": FROM_UI}
    said = live.ask(AGAIN, params=params)["launchPipelineReexecution"]
    assert said["__typename"] == "LaunchRunSuccess", said
    return str(said["run"]["runId"])


def backfill_from_failure(live: Live, backfill: str) -> str:
    """The same button of a backfill; the new backfill's id."""
    params = {"parentRunId": backfill, "strategy": "FROM_FAILURE"}
    said = live.ask(BACKFILL_AGAIN, params=params)["reexecutePartitionBackfill"]
    assert said["__typename"] == "LaunchBackfillSuccess", said
    return str(said["backfillId"])


def terminate(live: Live, run: str, policy: str = SAFE) -> None:
    """The dialog "Terminate run"; FORCED with its box ticked."""
    said = live.ask(TERMINATE, ids=[run], policy=policy)["terminateRuns"]["terminateRunResults"]
    assert [each["__typename"] for each in said] == ["TerminateRunSuccess"], said


def cancel_backfill(live: Live, backfill: str) -> None:
    """The button "Cancel backfill"."""
    assert live.ask(CANCEL, id=backfill)["cancelPartitionBackfill"]["__typename"] == "CancelBackfillSuccess"


def counts(live: Live, backfill: str) -> dict[str, tuple[int, int, int]]:
    """What the backfill's page shows: (targeted, materialized, failed) partitions by asset."""
    data = live.ask(COUNTS, id=backfill)["partitionBackfillOrError"]["assetBackfillData"]
    found = {}
    for each in data["assetBackfillStatuses"]:
        name = "/".join(each["assetKey"]["path"])
        if "numPartitionsTargeted" in each:
            kinds = ("numPartitionsTargeted", "numPartitionsMaterialized", "numPartitionsFailed")
            found[name] = (each[kinds[0]], each[kinds[1]], each[kinds[2]])
        else:
            found[name] = (1, int(each["materialized"]), int(each["failed"]))
    return found


def of_backfill(live: Live, backfill: str) -> list[dict[str, Any]]:
    """The runs of a backfill, oldest first; `tags` as a dictionary."""
    found = live.runs(tags=[{"key": "dagster/backfill", "value": backfill}])
    return [{**run, "tags": {tag["key"]: tag["value"] for tag in run["tags"]}} for run in reversed(found)]


def times(live: Live, run: str) -> tuple[float, float]:
    """Start and end of a run."""
    found = live.ask(TIMES, id=run)["runOrError"]
    return float(found["startTime"]), float(found["endTime"])


def processes(live: Live, holds: Callable[[str], bool]) -> list[int]:
    """The processes of a deployment, orphans included, whose command line is such."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            session = os.getsid(int(entry.name))
        except (OSError, UnicodeDecodeError):
            continue
        if session == live.pid and holds(command):
            found.append(int(entry.name))
    return sorted(found)


def workers(live: Live) -> list[int]:
    """The worker processes of all its runs."""
    return processes(live, lambda command: "gristmill.execution.worker" in command)
