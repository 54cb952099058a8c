"""The real web server behind the guard: each attack of a page fails, and programs are served."""

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dagster as dg
import pytest
from dagster_webserver.webserver import DagsterWebserver
from paths import ROOT, python_path
from starlette.types import Message, Receive, Scope, Send
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from gristmill.environment import read_environment
from resources import guarded_webserver
from resources.pages.launches import LAUNCH, PART
from resources.ui_guard import UiGuard
from scripts.backfill import cancel
from scripts.backfill import launch as script

pytestmark = pytest.mark.slow

EVIL = "http://evil.example"
TOKEN = "grist"
REPORT = "/report_asset_materialization/books"
CHECK = "/report_asset_check/books?check_name=whole&passed=true"
PAUSE = 'mutation { setConcurrencyLimit(concurrencyKey: "forged", limit: 3) }'
"""A mutation that needs no code location; it stands for the launch of a run, which is one as well."""


class Ui:
    """The guarded web server, without code, in a process of its own."""

    def __init__(self, folder: Path, code: str = "") -> None:
        (folder / "code.py").write_text(code)
        files = "[{python_file: {relative_path: code.py}}]" if code else "[]"
        (folder / "workspace.yaml").write_text(f"load_from: {files}\n")
        (folder / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.log = folder / "log"
        own = {"DAGSTER_HOME": str(folder), "GRISTMILL_LAKE": str(folder / "no lake"), "GRISTMILL_HEALTH_TOKEN": TOKEN}
        variables = {**os.environ, "PYTHONPATH": python_path(), **own}
        command = [sys.executable, "-m", "resources.guarded_webserver", "-w", str(folder / "workspace.yaml")]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "-p", str(self.port)], cwd=ROOT, env=variables, stdout=log, stderr=log
            )
        end = time.monotonic() + 600
        while not self.listens():
            assert self._process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.1)
        self._instance = dg.DagsterInstance.from_config(str(folder))

    def listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> tuple[int, str]:
        """One request; the status and the text of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body or None, dict(headers or {}))
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def query(self, query: str) -> Any:
        status, text = self.ask("POST", "/graphql", {"Content-Type": "application/json"}, graphql(query))
        assert status == 200, text
        return json.loads(text)["data"]

    def changes(self) -> tuple[list[str], list[str]]:
        """What an attack would leave in Dagster: limits of pools, and events without a run."""
        limits = self.query("{ instance { concurrencyLimits { concurrencyKey } } }")["instance"]["concurrencyLimits"]
        events = [log.dagster_event_type for log in self._instance.all_logs("")]
        return [each["concurrencyKey"] for each in limits], [each.name for each in events if each]

    def close(self) -> None:
        """Ends it; its end is orderly, or code servers would be left."""
        self._instance.dispose()
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(60) == 0, self.log.read_text()


BOOKS = """
import dagster as dg

@dg.asset(partitions_def=dg.DynamicPartitionsDefinition(name="years"))
def books(): ...
"""
COUNTS = '{ assetNodes(assetKeys: [{path: ["books"]}]) { partitionStats { numPartitions numMaterialized } } }'


def test_an_asset_without_partitions_yet_has_no_counts_so_that_its_page_is_not_green(tmp_path: Path) -> None:
    ui = Ui(tmp_path, BOOKS)
    assert ui.query(COUNTS) == {"assetNodes": [{"partitionStats": None}]}
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        instance.add_dynamic_partitions("years", ["2025"])
    assert ui.query(COUNTS) == {"assetNodes": [{"partitionStats": {"numPartitions": 1, "numMaterialized": 0}}]}
    ui.close()


LIBRARY = f"""{BOOKS}
@dg.asset(deps=[books])
def catalogue(): ...

defs = dg.Definitions(assets=[books, catalogue], jobs=[dg.define_asset_job("reading", [books])])
"""
PLACE = 'repositorySelector: {repositoryLocationName: "code.py", repositoryName: "__repository__"}'


def test_many_snapshots_from_a_page_are_several_backfills_and_what_waits_for_them_is_refused(tmp_path: Path) -> None:
    ui = Ui(tmp_path, LIBRARY)
    names = [f"{number:04d}" for number in range(1001)]
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        instance.add_dynamic_partitions("years", names)

    def launch(what: str) -> dict[str, Any]:
        params = f"{{{what}, partitionNames: {json.dumps(names)}}}"
        wanted = "{ __typename ...on Error { message } }"
        query = f"mutation {{ launchPartitionBackfill(backfillParams: {params}) {wanted} }}"
        _, text = ui.ask("POST", "/graphql", {"Content-Type": "application/json"}, graphql(query))
        said: dict[str, Any] = json.loads(text)["data"]["launchPartitionBackfill"]
        return said

    def backfills() -> list[tuple[str, int]]:
        results = "{ results { tags { key value } numPartitions } }"
        query = f"{{ partitionBackfillsOrError {{ ... on PartitionBackfills {results} }} }}"
        found = ui.query(query)["partitionBackfillsOrError"]["results"]
        return [
            (tag["value"], each["numPartitions"])
            for each in reversed(found)
            for tag in each["tags"]
            if tag["key"] == PART
        ]

    refused = launch('assetSelection: [{path: ["books"]}, {path: ["catalogue"]}]')
    assert refused["__typename"] == "PythonError"
    assert "1,001 snapshots with catalogue, made once for all of them" in refused["message"]
    with pytest.raises(
        SystemExit, match=r"1,001 snapshots, and not the same ones for all assets: .* each source alone"
    ):
        script(f"http://127.0.0.1:{ui.port}", {"books": names})
    assert backfills() == []
    assert launch('assetSelection: [{path: ["books"]}]') == {"__typename": "LaunchBackfillSuccess"}
    parts = [("1 of 2", 1000), ("2 of 2", 1)]
    assert backfills() == parts
    assert (
        launch(f'selector: {{partitionSetName: "reading_partition_set", {PLACE}}}')["__typename"]
        == "LaunchBackfillSuccess"
    )
    assert backfills() == [*parts, *parts]
    address = f"http://127.0.0.1:{ui.port}"
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        first, second = dict.fromkeys(each.tags[LAUNCH] for each in reversed(instance.get_backfills()))
        canceled = cancel(address, first)
        states = [(each.backfill_id in canceled, each.status.value) for each in reversed(instance.get_backfills())]
        assert states == [(True, "CANCELING")] * 2 + [(False, "REQUESTED")] * 2
    assert (cancel(address, first), len(cancel(address, second))) == ([], 2)
    with pytest.raises(SystemExit, match="no backfill has the tag gristmill/launch=another"):
        cancel(address, "another")
    ui.close()


FACTORY = f"""{BOOKS}
from gristmill.environment import read_environment
from resources.engine import engine_resource

@dg.asset(required_resource_keys={{"engine"}}, deps=[books])
def bricks(): ...

@dg.op(config_schema={{"run_days": int}})
def remove_old(): ...

@dg.job
def purge():
    remove_old()

defs = dg.Definitions(
    assets=[books, bricks],
    jobs=[dg.define_asset_job("building", [books, bricks]), purge],
    resources={{"engine": engine_resource(read_environment({{}}))}},
)
"""


@pytest.mark.parametrize("job", ["building", "__ASSET_JOB"])
def test_the_launchpad_refuses_workers_out_of_bounds_and_snapshots_that_do_not_exist(tmp_path: Path, job: str) -> None:
    ui = Ui(tmp_path, FACTORY)
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        instance.add_dynamic_partitions("years", ["2025"])
    place = {"repositoryLocationName": "code.py", "repositoryName": "__repository__"}
    chosen = [{"path": ["books"]}, {"path": ["bricks"]}] if job == "__ASSET_JOB" else None

    def ask(query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        return json.loads(ui.ask("POST", "/graphql", {"Content-Type": "application/json"}, body)[1])["data"]

    def config(workers: int) -> str:
        return f"resources:\n  engine:\n    config:\n      workers: {workers}\n"

    wanted = "{ __typename ...on RunConfigValidationInvalid { errors { message } } ...on PythonError { message } }"
    parts = f'runConfigData: $config, mode: "default") {wanted}'

    def check(workers: int) -> Any:
        query = (
            f"query ($at: PipelineSelector!, $config: RunConfigData) {{ isPipelineConfigValid(pipeline: $at, {parts} }}"
        )
        selector = {**place, "pipelineName": job, "assetSelection": chosen}
        return ask(query, at=selector, config=config(workers))["isPipelineConfigValid"]

    def launch(workers: int, year: str, by: str = "launchRun") -> Any:
        params = {
            "selector": {**place, "jobName": job, "assetSelection": chosen},
            "runConfigData": config(workers),
            "executionMetadata": {"tags": [{"key": "dagster/partition", "value": year}]},
        }
        if by == "launchMultipleRuns":
            inner = f"{{ ...on LaunchMultipleRunsResult {{ launchMultipleRunsResult {wanted} }} }}"
            query = f"mutation ($all: [ExecutionParams!]!) {{ {by}(executionParamsList: $all) {inner} }}"
            (said,) = ask(query, all=[params])[by]["launchMultipleRunsResult"]
            return said
        query = f"mutation ($params: ExecutionParams!) {{ {by}(executionParams: $params) {wanted} }}"
        return ask(query, params=params)[by]

    assert check(2) == {"__typename": "PipelineConfigValidationValid"}
    for workers in (0, -1, 257):
        for refused in (check(workers), launch(workers, "2025")):
            assert refused["__typename"] == "RunConfigValidationInvalid"
            (error,) = refused["errors"]
            assert f'path root:resources:engine:config:workers. Value "{workers}; give 1 to 256"' in error["message"]
    ways = ("launchRun", "launchPipelineExecution", "launchMultipleRuns")
    for by in ways:
        assert launch(0, "2025", by)["__typename"] == "RunConfigValidationInvalid"
        assert "DataError: there is no snapshot 2026 of years; the newest is 2025" in launch(2, "2026", by)["message"]
    purge = {"selector": {**place, "jobName": "purge"}, "mode": "default"}
    purge["runConfigData"] = {"ops": {"remove_old": {"config": {"run_days": 0}}}}
    query = f"mutation ($params: ExecutionParams!) {{ launchRun(executionParams: $params) {wanted} }}"
    (error,) = ask(query, params=purge)["launchRun"]["errors"]
    assert 'path root:ops:remove_old:config:run_days. Value "0; give 1 to 36,500"' in error["message"]
    many = {"assetSelection": [{"path": ["books"]}], "partitionNames": ["2025"], "runConfigData": config(0)}
    query = f"mutation ($many: LaunchBackfillParams!) {{ launchPartitionBackfill(backfillParams: $many) {wanted} }}"
    words = "DataError: the run configuration: resources.engine.config.workers is 0; give 1 to 256"
    assert words in ask(query, many=many)["launchPartitionBackfill"]["message"]
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert instance.get_runs() == []
        assert instance.get_backfills() == []
    assert launch(2, "2025") == {"__typename": "LaunchRunSuccess"}
    ui.close()


def graphql(query: str) -> bytes:
    return json.dumps({"query": query}).encode()


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    made = Ui(tmp_path_factory.mktemp("ui"))
    yield made
    made.close()


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("expected", "method", "path", "headers", "body"),
    [
        (400, "GET", f"/graphql?query={quote(PAUSE)}", {}, b""),
        (400, "POST", f"/graphql?query={quote(PAUSE)}", FORM, b""),
        (403, "POST", f"/graphql?query={quote(PAUSE)}", {**FORM, "Origin": EVIL}, b""),
        (403, "POST", "/graphql", {"Content-Type": "application/json", "Origin": EVIL}, graphql(PAUSE)),
        (403, "POST", "/graphql", {"Content-Type": "application/json", "Origin": "null"}, graphql(PAUSE)),
        (415, "POST", "/graphql", {"Content-Type": "text/plain; application/json"}, graphql(PAUSE)),
        (421, "POST", "/graphql", {"Content-Type": "application/json", "Host": "evil.example"}, graphql(PAUSE)),
        (403, "POST", REPORT, {"Origin": EVIL}, b""),
        (403, "POST", REPORT, {"Origin": "null"}, b""),
        (403, "POST", CHECK, {"Origin": EVIL}, b""),
        (421, "POST", REPORT, {"Host": "evil.example"}, b""),
        (421, "POST", CHECK, {"Host": "127.0.0.1.evil.example"}, b""),
    ],
)
def test_what_a_page_can_send_is_refused_and_changes_nothing(
    ui: Ui, expected: int, method: str, path: str, headers: dict[str, str], body: bytes
) -> None:
    before = ui.changes()
    status, text = ui.ask(method, path, headers, body)
    assert (status, text.count("\n"), text.endswith(".\n")) == (expected, 1, True)
    assert ui.changes() == before


@pytest.mark.parametrize("headers", [{"Origin": EVIL}, {"Origin": "null"}, {"Host": "evil.example"}])
def test_a_websocket_of_a_page_is_refused(ui: Ui, headers: dict[str, str]) -> None:
    address = f"ws://{headers.get('Host', '127.0.0.1')}:{ui.port}/graphql"
    with socket.create_connection(("127.0.0.1", ui.port)) as wire, pytest.raises(InvalidStatus) as refused:
        connect(address, sock=wire, origin=Origin(headers["Origin"]) if "Origin" in headers else None)
    assert refused.value.response.status_code in {403, 421}
    assert refused.value.response.body.endswith(b".\n")


def test_programs_and_the_ui_itself_are_served(ui: Ui) -> None:
    own = f"http://127.0.0.1:{ui.port}"
    assert ui.query("{ version }")["version"] == dg.__version__
    assert ui.ask("POST", "/graphql", {"Content-Type": "application/graphql"}, b"{ version }")[0] == 200
    same = {"Content-Type": "application/json", "Origin": own, "Sec-Fetch-Site": "same-origin"}
    assert ui.ask("POST", "/graphql?op=Version", same, graphql("{ version }"))[0] == 200
    status, page = ui.ask("GET", "/assets")
    assert (status, "<html" in page) == (200, True)
    protocols = [Subprotocol("graphql-ws")]
    with connect(f"ws://127.0.0.1:{ui.port}/graphql", origin=Origin(own), subprotocols=protocols) as wire:
        wire.send(json.dumps({"type": "connection_init"}))
        assert json.loads(wire.recv(timeout=60)) == {"type": "connection_ack"}


def test_a_program_may_change_what_a_page_may_not(ui: Ui) -> None:
    before = ui.changes()
    assert ui.ask("POST", f"{REPORT}?partition=a") == (200, "{}")
    assert ui.ask("POST", CHECK) == (200, "{}")
    ui.query(PAUSE)
    limits, events = ui.changes()
    assert limits == [*before[0], "forged"]
    assert events == [*before[1], "ASSET_MATERIALIZATION", "ASSET_CHECK_EVALUATION"]


def test_what_is_served_is_the_guard_around_all_of_dagsters_app(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - the shape of ASGI
        asked.append(dict(scope["headers"])[b"host"].decode())

    async def send(message: Message) -> None:
        """Takes the answer."""

    async def wait() -> Message:
        return {"type": "http.request"}

    def build(self: DagsterWebserver[Any, Any]) -> Any:
        asked.append(self._app_path_prefix)
        return app

    monkeypatch.setattr(DagsterWebserver, "create_asgi_app", build)
    context: Any = object()
    guarded: Any = guarded_webserver.guarded_app(
        context, "/dagster", read_environment({"GRISTMILL_UI_HOSTS": "ui.example.org"}), lambda: None
    )
    assert isinstance(guarded, UiGuard)
    for host in (b"evil.example", b"ui.example.org"):
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [(b"host", host)]}
        asyncio.run(guarded(scope, wait, send))
    assert asked == ["/dagster", "ui.example.org"]


def test_a_monitor_of_this_machine_or_with_the_token_may_ask_whether_all_is_well(ui: Ui) -> None:
    end = time.monotonic() + 60
    while (found := ui.ask("GET", "/healthz"))[1].find("nobody has looked yet") > 0:
        assert time.monotonic() < end
        time.sleep(0.1)
    status, text = found
    seen = json.loads(text)
    assert (status, seen["well"], seen["queued"], seen["code_servers"]) == (503, False, 0, 0)
    daemon, lake = sorted(seen["wrong"])
    assert daemon.startswith("the daemon has shown no sign of life for 300 s")
    assert lake == "the lake cannot be read (NoFolder)"
    passed_on = {"X-Forwarded-For": "192.0.2.1"}
    for token, expected in (("", 401), ("Bearer other", 401), (f"Bearer {TOKEN}", 503)):
        assert ui.ask("GET", "/healthz", {**passed_on, "Authorization": token})[0] == expected
    assert ui.ask("GET", "/healthz", {"Host": "evil.example"})[0] == 421


def test_the_only_paths_that_take_orders_are_those_that_the_attacks_try() -> None:
    server: Any = DagsterWebserver
    taken = {route.path for route in server(None).build_routes() if "POST" in (getattr(route, "methods", None) or ())}
    kinds = ("materialization", "check", "observation")
    assert taken == {"/graphql", *(f"/report_asset_{kind}/{{asset_key:path}}" for kind in kinds)}
