"""From raw to tokens: by Dagster's runs and in plain Python, and by the daemon alone."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_kit import (
    BLEND_LETTERS,
    JOURNEY,
    LETTERS_V0,
    MOODY_V1,
    SHELVES,
    TINY_LETTERS,
    Works,
    letters,
)

from gristmill.journey import cache_steps, mix_steps, pending, source_steps
from gristmill.lake.address import place
from gristmill.lake.ledger import read_head
from gristmill.stages.grinding import Inline, Lake
from gristmill.stages.step import Step, make
from gristmill.stages.training import make_tokenizer

ROOT = Path(__file__).resolve().parent.parent
MADE = (*JOURNEY, BLEND_LETTERS, TINY_LETTERS)


@pytest.fixture
def works(tmp_path: Path) -> Iterator[Works]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Works(tmp_path / "lake", instance)


def steps(works: Works) -> list[Step]:
    """All that a snapshot of the letters goes through; the tokenizer must be there."""
    blend = works.catalogue.mixes["blend"]
    return [
        *source_steps(works.catalogue, works.catalogue.sources["letters"], "2024", SHELVES),
        *mix_steps(blend, "letters", "2024", SHELVES),
        *cache_steps(works.catalogue, blend, "letters", "2024", SHELVES),
    ]


def test_plain_python_makes_what_dagster_makes(works: Works, tmp_path: Path) -> None:
    works.raw(letters(1, 2, 3), "a")
    works.raw(letters(4, 5, 6), "b")
    works.arrive("letters")
    works.whole()
    with dg.DagsterInstance.ephemeral() as other:
        plain = Works(tmp_path / "plain", other)
        plain.raw(letters(1, 2, 3), "a")
        plain.raw(letters(4, 5, 6), "b")
        lake = Lake(str(plain.root))
        *before, spell = steps(plain)
        for step in before:
            make(step, lake, Inline(), f"plain-{id(step)}", lambda _: None)
        make_tokenizer(plain.store, plain.catalogue.tokenizers["tiny-1"], lambda _: None)
        make(spell, lake, Inline(), "plain-spell", lambda _: None)
        assert {a: plain.fingerprint(a) for a in MADE} == {a: works.fingerprint(a) for a in MADE}


def test_the_dry_run_is_idle_after_the_runs_and_says_why_when_it_is_not(works: Works) -> None:
    works.raw(letters(1, 2, 3), "a")
    works.raw(letters(4, 5, 6), "b")
    works.arrive("letters")
    assert pending(steps(works), works.store).why == f"{LETTERS_V0} (2024): 2 shards to grind"
    works.whole()
    found = pending(steps(works), works.store)
    assert (found.idle, found.finished, found.missing) == (True, len(MADE), 0)
    works.raw(letters(4, 5), "b")
    found = pending(steps(works), works.store)
    assert (found.idle, found.why) == (False, f"{LETTERS_V0} (2024): 1 shards to grind")


# The daemon


class Deployment:
    """`dagster dev` over a lake, with the shelves of the tests, on a free port of this machine."""

    def __init__(self, folder: Path) -> None:
        self.works = Works(folder / "lake", dg.DagsterInstance.ephemeral())
        home = folder / "home"
        home.mkdir()
        (home / "dagster.yaml").write_text((ROOT / "dagster.yaml").read_text())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = folder / "log"
        environment = {
            **os.environ,
            "DAGSTER_HOME": str(home),
            "GRISTMILL_LAKE": str(self.works.root),
            "GRISTMILL_SHELVES": ",".join(SHELVES),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "recipes")]),
        }
        command = [str(Path(sys.executable).with_name("dagster")), "dev", "-h", "127.0.0.1", "-p", str(self.port)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)

    def ask(self, query: str, **variables: object) -> Any:
        """What GraphQL answers; None while nobody does."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql", body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                said = json.load(answer)
        except OSError:
            return None
        assert "errors" not in said, said
        return said["data"]

    def wait(self, until: Callable[[], bool], what: str, seconds: float = 240) -> None:
        end = time.monotonic() + seconds
        while not until():
            ended = self._process.poll()
            assert ended is None, self.log.read_text()[-3000:]
            assert time.monotonic() < end, f"{what} did not come:\n{self.log.read_text()[-3000:]}"
            time.sleep(1)

    def finished(self, address: str, snapshot: str) -> bool:
        return read_head(self.works.store, place(address, snapshot)) is not None

    def close(self) -> None:
        """Ends it and, through it, the daemon, the web server and the code server."""
        self._process.terminate()
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    running = Deployment(tmp_path)
    try:
        running.wait(lambda: running.ask("{ version }") is not None, "the web server")
        yield running
    finally:
        running.close()


ARRIVED = """{ assetNodeOrError(assetKey: {path: ["sources", "letters", "raw"]}) {
    ... on AssetNode { partitionKeys } } }"""
LAUNCH = """mutation ($keys: [AssetKeyInput!]!, $partitions: [String!]!) {
    launchPartitionBackfill(backfillParams: {assetSelection: $keys, partitionNames: $partitions}) {
        __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
BACKFILL = """query ($id: String!) { partitionBackfillOrError(backfillId: $id) {
    ... on PartitionBackfill { status numPartitions } } }"""


@pytest.mark.slow
def test_the_daemon_takes_a_snapshot_from_raw_to_the_mix_and_a_backfill_makes_three(deployment: Deployment) -> None:
    works = deployment.works
    for snapshot in ("2024", "2025", "2026"):
        works.raw(letters(1, 2, 3), snapshot=snapshot)
    for snapshot in ("2024", "2025", "2026"):
        deployment.wait(lambda key=snapshot: deployment.finished(BLEND_LETTERS, key), f"{BLEND_LETTERS} {snapshot}")  # type: ignore[misc]  # a default binds the loop's variable
    assert deployment.ask(ARRIVED)["assetNodeOrError"]["partitionKeys"] == ["2024", "2025", "2026"]
    assert works.ids(BLEND_LETTERS) == ["letter-2", "letter-3"]
    keys = [{"path": address.split("/")} for address in JOURNEY]
    said = deployment.ask(LAUNCH, keys=keys, partitions=["2024", "2025", "2026"])["launchPartitionBackfill"]
    assert said["__typename"] == "LaunchBackfillSuccess", said

    def state() -> str:
        found = deployment.ask(BACKFILL, id=said["backfillId"])
        return str(found["partitionBackfillOrError"]["status"]) if found else ""

    deployment.wait(lambda: state() in {"COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED"}, "the end of the backfill")
    assert state() == "COMPLETED_SUCCESS"
    assert deployment.finished(MOODY_V1, "2026")
