"""Dagster's web server and daemon for a script: on a free port of this machine, asked as the UI asks."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gristmill.environment import CHECKOUT
from scripts.progress import stop

_REPOSITORY = {"repositoryLocationName": "gristmill", "repositoryName": "__repository__"}
_LAUNCH = """mutation ($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
    ... on InvalidSubsetError { message } } }"""
_STATUS = "query ($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
_BACKFILL = """mutation ($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
    __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
_RUNS = """query ($filter: RunsFilter!) { runsOrError(filter: $filter) {
    ... on Runs { results { runId } } } }"""
_ENDED = {"SUCCESS", "FAILURE", "CANCELED"}


class Server:
    """What `make ui` starts.

    Args:
        log: takes what it prints.
        folder: where it is started: the checkout or a project.
        variables: environment variables besides those of this process, whose lake and DAGSTER_HOME hold by default.
    """

    def __init__(self, log: Path, folder: Path = CHECKOUT, variables: Mapping[str, str] | None = None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with log.open("wb") as sink:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gristmill", "ui", "--no-sync", "-p", self.url.rpartition(":")[2]],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(CHECKOUT), **(variables or {})},
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.wait(lambda: self.ask("{ version }") is not None, f"no answer from {self.url}; see {log}")

    def wait(self, until: Any, otherwise: str, seconds: float = 180) -> None:
        """Waits until something is so; stops the script when it does not come."""
        end = time.monotonic() + seconds
        while not until():
            if time.monotonic() > end or self._process.poll() is not None:
                stop(otherwise)
            time.sleep(0.5)

    def ask(self, query: str, **variables: object) -> Any:
        """What GraphQL answers; None while nobody does."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})  # noqa: S310 - our own server
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - see above
                said = json.load(answer)
        except OSError:
            return None
        return said.get("data")

    def check(self, address: str, name: str) -> None:
        """Executes a check, as its page does, and waits for the end."""
        key = {"path": address.split("/")}
        self.launch("__ASSET_JOB", {"assetSelection": [], "assetCheckSelection": [{"assetKey": key, "name": name}]})

    def launch(
        self,
        job: str,
        selection: Mapping[str, object] | None = None,
        config: Mapping[str, object] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> str:
        """Launches a run, as the launchpad does, and waits for its end; its id.

        Args:
            job: name of the job.
            selection: of its assets and checks; None: all of them.
            config: the run configuration.
            tags: of the run.
        """
        selector = {**_REPOSITORY, "jobName": job, **(selection or {})}
        told = [{"key": key, "value": value} for key, value in (tags or {}).items()]
        params = {"selector": selector, "runConfigData": config or {}, "executionMetadata": {"tags": told}}
        said = self.ask(_LAUNCH, params=params)["launchPipelineExecution"]
        if said["__typename"] != "LaunchRunSuccess":
            stop(f"{job} could not be launched: {said}")
        run = str(said["run"]["runId"])
        self.wait(lambda: self._status(run) in _ENDED, f"run {run} of {job} does not end", 300)
        return run

    def _status(self, run: str) -> str:
        found = self.ask(_STATUS, id=run)
        return str(found["runOrError"].get("status")) if found else ""

    def backfill(self, addresses: Sequence[str], partitions: Sequence[str], tags: Mapping[str, str]) -> str:
        """Launches a backfill; its id."""
        params = {
            "assetSelection": [{"path": address.split("/")} for address in addresses],
            "partitionNames": list(partitions),
            "tags": [{"key": key, "value": value} for key, value in tags.items()],
        }
        said = self.ask(_BACKFILL, params=params)["launchPartitionBackfill"]
        if said["__typename"] != "LaunchBackfillSuccess":
            stop(f"the backfill could not be launched: {said}")
        return str(said["backfillId"])

    def begun(self, backfill: str) -> bool:
        """Whether one of its runs has begun."""
        return self.runs({"dagster/backfill": backfill}, "STARTED", "SUCCESS", "FAILURE") > 0

    def runs(self, tags: Mapping[str, str], *statuses: str) -> int:
        """How many runs have these tags and one of these statuses."""
        told = [{"key": key, "value": value} for key, value in tags.items()]
        found = self.ask(_RUNS, filter={"tags": told, "statuses": statuses})
        return len(found["runsOrError"]["results"]) if found else 0

    def close(self) -> None:
        """Ends it, and what it started."""
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=60)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
