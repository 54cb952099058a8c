"""What the guard refuses, and what it passes on: each case is one request, as the server hands it over."""

import asyncio
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from resources.ui_guard import UiGuard, why_refused

HOME = {"host": "127.0.0.1:3000"}
OURS = {**HOME, "origin": "http://127.0.0.1:3000", "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}
THEIRS = {**HOME, "origin": "http://evil.example", "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}
LINK = {**HOME, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
JSON = {"content-type": "application/json"}


def request(method: str, path: str, headers: dict[str, str] | list[tuple[str, str]], **more: Any) -> Scope:
    path, _, query = path.partition("?")
    pairs = headers if isinstance(headers, list) else list(headers.items())
    scope: dict[str, Any] = {"type": "websocket"} if method == "WS" else {"type": "http", "method": method}
    scope |= {"path": path, "query_string": query.encode(), "server": ("127.0.0.1", 3000), **more}
    return {**scope, "headers": [(name.encode(), value.encode()) for name, value in pairs]}


def status(scope: Scope, *further: str) -> int:
    """Of the refusal; 0 if it is passed on."""
    refusal = why_refused(scope, further)
    return refusal.status if refusal else 0


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        # programs
        ("GET", "/server_info", HOME),
        ("POST", "/graphql", HOME | JSON),
        ("POST", "/graphql", HOME | {"content-type": "application/json; charset=utf-8"}),
        ("POST", "/graphql", HOME | {"content-type": "Application/GraphQL"}),
        ("POST", "/report_asset_materialization/a/b?partition=x", HOME),
        ("POST", "/report_asset_check/a/b?passed=true", HOME | JSON),
        ("WS", "/graphql", HOME),
        # the pages of the UI itself
        ("GET", "/_next/static/main.js", {**HOME, "sec-fetch-site": "same-origin", "sec-fetch-dest": "script"}),
        ("POST", "/graphql", OURS | JSON),
        ("POST", "/graphql?op=Runs", OURS | JSON),
        ("GET", "/notebook?path=a", {**OURS, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}),
        ("WS", "/graphql", {**OURS, "sec-fetch-mode": "websocket"}),
        ("GET", "/graphql", OURS | {"accept": "text/html"}),
        # a person: the address bar, a bookmark, a link elsewhere
        ("GET", "/runs", {**HOME, "sec-fetch-site": "none", "sec-fetch-mode": "navigate"}),
        ("GET", "/runs/b/1", LINK),
        ("GET", "/assets/graphql", LINK),
        ("GET", "/runs", {**LINK, "origin": "null"}),
        # the other names of loopback
        ("GET", "/", {"host": "localhost:3000", "origin": "http://localhost:3000"}),
        ("GET", "/", {"host": "LOCALHOST:3000", "origin": "http://localhost:3000"}),
        ("GET", "/", {"host": "[::1]:3000", "origin": "http://[::1]:3000"}),
    ],
)
def test_it_is_passed_on(method: str, path: str, headers: dict[str, str]) -> None:
    assert why_refused(request(method, path, headers)) is None


@pytest.mark.parametrize(
    ("expected", "method", "path", "headers"),
    [
        # DNS rebinding: the page's own name resolves to 127.0.0.1, so its origin is that of the request
        (421, "POST", "/graphql", JSON | {"host": "evil.example:3000", "origin": "http://evil.example:3000"}),
        (421, "GET", "/", {"host": "evil.example:3000", "sec-fetch-site": "same-origin"}),
        (421, "GET", "/", {**LINK, "host": "evil.example:3000"}),
        (421, "WS", "/graphql", {"host": "evil.example:3000"}),
        (421, "GET", "/", {"host": "127.0.0.1:3001"}),
        (421, "GET", "/", {"host": "127.0.0.1"}),
        (421, "GET", "/", {"host": "127.0.0.1:3000.evil.example"}),
        (421, "GET", "/", {"host": "evil.example@127.0.0.1:3000"}),
        (421, "GET", "/", {"host": ""}),
        (421, "GET", "/", {}),
        # another page
        (403, "POST", "/graphql", THEIRS | JSON),
        (403, "POST", "/graphql", {**HOME, "origin": "http://evil.example"} | JSON),
        (403, "POST", "/graphql", {**HOME, "origin": "null"} | JSON),
        (403, "POST", "/graphql", {**HOME, "origin": ""} | JSON),
        (403, "POST", "/graphql", {**HOME, "origin": "http://localhost:3000"} | JSON),
        (403, "POST", "/graphql", {**HOME, "origin": "http://127.0.0.1:3001"} | JSON),
        (403, "POST", "/graphql", {**HOME, "origin": "http://127.0.0.1:3000.evil.example"} | JSON),
        (403, "POST", "/graphql", {**HOME, "sec-fetch-site": "cross-site"} | JSON),
        (403, "POST", "/graphql", {**HOME, "sec-fetch-site": "same-site"} | JSON),
        (403, "POST", "/graphql", {**HOME, "sec-fetch-site": "anything"} | JSON),
        (403, "OPTIONS", "/graphql", THEIRS),
        (403, "POST", "/report_asset_materialization/a/b?partition=x", THEIRS),
        (403, "POST", "/report_asset_check/a/b?passed=true&check_name=c", THEIRS),
        (403, "POST", "/report_asset_observation/a/b", {**HOME, "origin": "null"}),
        (403, "GET", "/runs", {**HOME, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}),
        (403, "GET", "/runs", {**LINK, "sec-fetch-dest": "iframe"}),
        (403, "GET", "/runs", {**LINK, "sec-fetch-dest": "object"}),
        (403, "POST", "/runs", LINK),
        (403, "WS", "/graphql", {**HOME, "origin": "http://evil.example"}),
        (403, "WS", "/graphql", {**HOME, "sec-fetch-site": "cross-site"}),
        (403, "WS", "/graphql", LINK),
        # GraphQL in a URL, as a form, as text
        (400, "GET", "/graphql?query=mutation", HOME),
        (400, "GET", "/graphql?query=mutation", LINK),
        (400, "GET", "/graphql?%71uery=mutation", LINK),
        (400, "GET", "/graphql?a=b&query", HOME),
        (400, "GET", "/dagster/graphql?query=mutation", LINK),
        (400, "GET", "/graphql/?query=mutation", LINK),
        (400, "POST", "/graphql?query=mutation", HOME | JSON),
        (400, "POST", "/graphql?variables={}", HOME | JSON),
        (400, "POST", "/graphql?operationName=a", HOME | JSON),
        (415, "POST", "/graphql", HOME),
        (415, "POST", "/graphql", HOME | {"content-type": "text/plain"}),
        (415, "POST", "/graphql", HOME | {"content-type": "text/plain; a=application/json"}),
        (415, "POST", "/graphql", HOME | {"content-type": "application/x-www-form-urlencoded"}),
        (415, "POST", "/graphql", HOME | {"content-type": "multipart/form-data; boundary=application/json"}),
    ],
)
def test_it_is_refused(expected: int, method: str, path: str, headers: dict[str, str]) -> None:
    assert status(request(method, path, headers)) == expected


@pytest.mark.parametrize("name", ["Host", "Origin", "Sec-Fetch-Site", "Content-Type"])
def test_a_header_that_decides_comes_once(name: str) -> None:
    twice = [*OURS.items(), *JSON.items(), (name, "x")]
    refusal = why_refused(request("POST", "/graphql", twice))
    assert refusal is not None
    assert (refusal.status, refusal.reason) == (400, f"The header {name.lower()} came 2 times; send it once.")


def test_further_names_have_their_own_origin() -> None:
    proxied = {"host": "ui.example.org", "origin": "https://ui.example.org", "sec-fetch-site": "same-origin"}
    assert status(request("POST", "/graphql", proxied | JSON)) == 421
    assert status(request("POST", "/graphql", proxied | JSON), "ui.example.org") == 0
    assert (
        status(request("POST", "/graphql", {**proxied, "origin": "https://example.org"} | JSON), "ui.example.org")
        == 403
    )


def test_a_browser_leaves_port_80_out() -> None:
    at_80 = {"server": ("127.0.0.1", 80)}
    assert status(request("GET", "/", {"host": "localhost"}, **at_80)) == 0
    assert status(request("GET", "/", {"host": "localhost:80"}, **at_80)) == 0
    assert status(request("GET", "/", {"host": "localhost"}, server=None)) == 421


def test_each_reason_names_what_to_do() -> None:
    cases = {
        "GRISTMILL_UI_HOSTS names further hosts": request("GET", "/", {"host": "ui.example.org"}),
        "Open the UI itself": request("POST", "/graphql", THEIRS),
        "send it by POST, as application/json": request("GET", "/graphql?query=x", HOME),
        "application/json or application/graphql, not as 'text/plain'": request(
            "POST", "/graphql", HOME | {"content-type": "text/plain"}
        ),
    }
    for words, scope in cases.items():
        refusal = why_refused(scope)
        assert refusal is not None
        assert words in refusal.reason


def ask(scope: Scope) -> tuple[list[Message], list[str]]:
    """What a client gets, and what the app behind the guard was asked."""
    sent: list[Message] = []
    asked: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - the shape of ASGI
        asked.append(scope["type"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(UiGuard(app)(scope, receive, send))
    return sent, asked


def test_the_app_sees_nothing_of_a_refused_request() -> None:
    sent, asked = ask(request("POST", "/graphql", THEIRS))
    assert (sent[0]["type"], sent[0]["status"], asked) == ("http.response.start", 403, [])
    assert sent[1]["body"].startswith(b"A page of 'http://evil.example' sent this")


def test_a_refused_websocket_is_answered_or_closed() -> None:
    able = request("WS", "/graphql", THEIRS, extensions={"websocket.http.response": {}})
    sent, asked = ask(able)
    assert (sent[0]["type"], sent[0]["status"], asked) == ("websocket.http.response.start", 403, [])
    sent, asked = ask(request("WS", "/graphql", THEIRS))
    assert (sent, asked) == ([{"type": "websocket.close", "code": 1008, "reason": "refused"}], [])


def test_a_page_of_the_ui_lies_in_no_frame_of_another_site() -> None:
    sent, asked = ask(request("GET", "/", HOME))
    assert asked == ["http"]
    assert dict(sent[0]["headers"]) == {b"a": b"b", b"x-frame-options": b"SAMEORIGIN"}


def test_the_start_of_the_server_is_passed_on() -> None:
    assert ask({"type": "lifespan"})[1] == ["lifespan"]
