"""A real Dagster for the tests: web server, daemon and code server on loopback, asked as the UI asks."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from paths import ROOT, python_path

ENDED = {"SUCCESS", "FAILURE", "CANCELED"}

ARRIVED = """query ($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) {
    ... on AssetNode { partitionKeys } } }"""
LAUNCH = """mutation ($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message stack }
    ... on RunConfigValidationInvalid { errors { message } }
    ... on InvalidSubsetError { message } } }"""
RUN = "query ($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
WHY = """query ($id: ID!) { logsForRun(runId: $id) { ... on EventConnection { events {
    ... on MessageEvent { message level stepKey }
    ... on ErrorEvent { error { message errorChain { error { message } } } } } } } }"""
RUNS = """query ($filter: RunsFilter) { runsOrError(filter: $filter, limit: 1000) {
    ... on Runs { results { runId status jobName tags { key value } assetSelection { path } } } } }"""
BACKFILL = """mutation ($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
BACKFILL_STATE = """query ($id: String!) { partitionBackfillOrError(backfillId: $id) {
    ... on PartitionBackfill { status } } }"""
REPOSITORY = {"repositoryLocationName": "gristmill", "repositoryName": "__repository__"}


class Live:
    """What `make ui` starts, over a lake, with shelves of the tests.

    Args:
        folder: for Dagster's own files and the log.
        lake: address of the lake.
        shelves: packages of recipes besides ours.
        yaml: text of dagster.yaml; by default the checkout's.
        environment: further variables (a bucket's, an engine's).
        daemon: whether schedules, sensors, queue and backfills run.
    """

    def __init__(
        self,
        folder: Path,
        lake: str,
        *,
        shelves: Sequence[str] = ("dagshelf",),
        yaml: str | None = None,
        environment: Mapping[str, str] | None = None,
        daemon: bool = True,
    ) -> None:
        self.home = folder / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        text = (ROOT / "dagster.yaml").read_text() if yaml is None else yaml
        (self.home / "dagster.yaml").write_text(text)
        self.log = folder / "dagster.log"
        self.environment = {
            **os.environ,
            "DAGSTER_HOME": str(self.home),
            "GRISTMILL_LAKE": lake,
            "GRISTMILL_SHELVES": ",".join(("gristmill", *shelves)),
            "PYTHONPATH": python_path(),
            **(environment or {}),
        }
        self._daemon = daemon
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.start()

    def start(self) -> None:
        """Starts it, and waits until the web server answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self.command(), "-p", str(self.port)],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.wait(lambda: self.ask("{ version }") is not None, "the web server")

    def command(self) -> list[str]:
        """What is started; the port follows."""
        guarded = ["resources.guarded_webserver", "-w", str(ROOT / "workspace.yaml")]
        return [sys.executable, "-m", *(["gristmill", "ui", "--no-sync"] if self._daemon else guarded)]

    @property
    def pid(self) -> int:
        """Of the first process; the others are its descendants, in its process group."""
        assert self._process is not None
        return self._process.pid

    def ask(self, query: str, **variables: object) -> Any:
        """What GraphQL answers; None while nobody does."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        url = f"http://127.0.0.1:{self.port}/graphql"
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, body, {"Content-Type": "application/json"}), timeout=60
            ) as answer:
                said = json.load(answer)
        except OSError:
            return None
        assert "errors" not in said, said
        return said["data"]

    def wait(self, until: Callable[[], bool], what: str, seconds: float = 900, every: float = 0.5) -> None:
        """Waits until something is so; fails when the process ends, or with the log's end after so many seconds."""
        end = time.monotonic() + seconds
        while not until():
            assert self._process is not None
            assert self._process.poll() is None, self.log.read_text()[-3000:]
            assert time.monotonic() < end, f"{what} did not come:\n{self.log.read_text()[-3000:]}"
            time.sleep(every)

    # runs, as the UI launches them

    def launch(self, job: str, partition: str | None = None, config: Mapping[str, Any] | None = None) -> str:
        """Launches a named job; the run's id."""
        return self._launch({"jobName": job, **REPOSITORY}, partition, config)

    def materialize(self, addresses: Sequence[str], partition: str | None = None) -> str:
        """Launches assets, as "Materialize" does; the run's id."""
        keys = [{"path": address.split("/")} for address in addresses]
        selector = {"jobName": "__ASSET_JOB", **REPOSITORY, "assetSelection": keys}
        return self._launch(selector, partition, None)

    def check(self, address: str, name: str) -> str:
        """Executes a check, as its page does; the run's id."""
        check = {"assetKey": {"path": address.split("/")}, "name": name}
        selector = {"jobName": "__ASSET_JOB", **REPOSITORY, "assetSelection": [], "assetCheckSelection": [check]}
        return self._launch(selector, None, None)

    def _launch(self, selector: Mapping[str, Any], partition: str | None, config: Mapping[str, Any] | None) -> str:
        tags = [{"key": "dagster/partition", "value": partition}] if partition else []
        params = {"selector": selector, "runConfigData": config or {}, "executionMetadata": {"tags": tags}}
        said = self.ask(LAUNCH, params=params)["launchPipelineExecution"]
        assert said["__typename"] == "LaunchRunSuccess", said
        return str(said["run"]["runId"])

    def status(self, run: str) -> str:
        """Of a run."""
        found = self.ask(RUN, id=run)
        return str(found["runOrError"].get("status", "")) if found else ""

    def finish(self, run: str, seconds: float = 900) -> str:
        """Waits for a run's end; its status."""
        self.wait(lambda: self.status(run) in ENDED, f"the end of run {run}", seconds)
        return self.status(run)

    def succeed(self, run: str, seconds: float = 900) -> None:
        """Waits for a run's end, which must be a success: else its log says why it was not."""
        status = self.finish(run, seconds)
        assert status == "SUCCESS", f"run {run}: {status}\n{self.said(run)}"

    def said(self, run: str) -> str:
        """What a run's log says, errors and their causes included."""
        lines = []
        for event in self.ask(WHY, id=run)["logsForRun"]["events"]:
            lines.append(f"{event['level']} {event['stepKey'] or ''} {event['message']}")
            error = event.get("error")
            if error:
                lines += [error["message"], *(link["error"]["message"] for link in error["errorChain"])]
        return "\n".join(lines)

    def runs(self, **filters: object) -> list[dict[str, Any]]:
        """All runs (of a filter as GraphQL's RunsFilter has it), newest first."""
        return list(self.ask(RUNS, filter=filters)["runsOrError"]["results"])

    def backfill(
        self, addresses: Sequence[str], partitions: Sequence[str], config: Mapping[str, Any] | None = None
    ) -> str:
        """Launches a backfill of assets over partitions; its id."""
        keys = [{"path": address.split("/")} for address in addresses]
        params = {"assetSelection": keys, "partitionNames": list(partitions), "runConfigData": config or {}}
        said = self.ask(BACKFILL, params=params)["launchPartitionBackfill"]
        assert said["__typename"] == "LaunchBackfillSuccess", said
        return str(said["backfillId"])

    def backfilled(self, backfill: str, seconds: float = 900) -> str:
        """Waits for a backfill's end; its status."""

        def state() -> str:
            found = self.ask(BACKFILL_STATE, id=backfill)
            return str(found["partitionBackfillOrError"]["status"]) if found else ""

        over = {"COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED"}
        self.wait(lambda: state() in over, f"the end of backfill {backfill}", seconds)
        return state()

    def partitions(self, address: str) -> list[str]:
        """The partition keys of an asset."""
        found = self.ask(ARRIVED, key={"path": address.split("/")})
        return list(found["assetNodeOrError"]["partitionKeys"])

    # the end

    def kill(self) -> None:
        """SIGKILL to all of it at once, runs included that it started."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Ends it and, through it, the daemon, the web server, the code servers; then whatever is left of them."""
        assert self._process is not None
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=60)
        self.kill()
