"""The guard before Dagster's web server. It refuses what a page of another site makes a browser send.

Dagster has no login: it does whatever a request asks. A browser on this machine sends requests for any page that it
shows, also to 127.0.0.1. It states the page's site in headers that the page cannot change, and the guard reads these.
Programs such as curl send none of these headers, and are let through.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.datastructures import MutableHeaders, QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine that a browser cannot be tricked into resolving to another one."""

HTTP_PORT = 80
"""Browsers leave this port out of the headers Host and Origin."""

_DECIDING = ("host", "origin", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "content-type")
_GRAPHQL_TYPES = ("application/json", "application/graphql")
_GRAPHQL_NAMES = ("query", "variables", "operationName")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not passed on.

    Attributes:
        status: status code of HTTP, 4xx.
        reason: a sentence that says what to do instead.
    """

    status: int
    reason: str


class UiGuard:
    """Wraps Dagster's app. Each HTTP request and each websocket is judged before the app sees it.

    Args:
        app: Dagster's app.
        further: values of the header Host, besides the loopback names with the port of the connection.
    """

    def __init__(self, app: ASGIApp, further: tuple[str, ...] = ()) -> None:
        self._app = app
        self._further = further

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it with a refusal."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = why_refused(scope, self._further)
        if refusal is not None:
            await _refuse(scope, send, refusal)
            return

        async def send_unframed(message: Message) -> None:
            if message["type"] == "http.response.start":  # another site must not lay our buttons below its own
                MutableHeaders(scope=message)["X-Frame-Options"] = "SAMEORIGIN"
            await send(message)

        await self._app(scope, receive, send_unframed)


def why_refused(scope: Scope, further: tuple[str, ...] = ()) -> Refusal | None:
    """The reason why a request is refused; None if it is passed on.

    Args:
        scope: scope of ASGI, for HTTP or a websocket.
        further: further values of the header Host, as for UiGuard.
    """
    names = Counter(name.decode("latin-1").lower() for name, _ in scope["headers"])
    twice = next((name for name in _DECIDING if names[name] > 1), None)
    if twice is not None:
        return Refusal(400, f"The header {twice} came {names[twice]} times; send it once.")
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    return _wrong_host(scope, headers, further) or _foreign_page(scope, headers) or _hidden_query(scope, headers)


def _wrong_host(scope: Scope, headers: Mapping[str, str], further: tuple[str, ...]) -> Refusal | None:
    """Refuses other names: a site can resolve its own name to 127.0.0.1, and would then count as our own origin."""
    port = (scope.get("server") or ("", None))[1]
    own = [f"{name}:{port}" for name in LOOPBACK] + (list(LOOPBACK) if port == HTTP_PORT else [])
    host = headers.get("host", "")
    if host.lower() in (*own, *further):
        return None
    known = ", ".join((*own, *further))
    return Refusal(
        421, f"This UI is not known as {host!r}, but as {known}. GRISTMILL_UI_HOSTS names further hosts, by commas."
    )


def _foreign_page(scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
    """Refuses what pages of other origins ask for. Following a link to the UI is not refused: it changes nothing."""
    origin, site, host = headers.get("origin"), headers.get("sec-fetch-site"), headers["host"].lower()
    foreign = origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}")
    elsewhere = site is not None and site not in ("same-origin", "none")
    if not (foreign or elsewhere) or _follows_a_link(scope, headers):
        return None
    page = repr(origin) if foreign else "another site"
    return Refusal(
        403,
        f"A page of {page} sent this, and only pages of http://{host} may. Open the UI itself; a program sends neither"
        " Origin nor Sec-Fetch-Site.",
    )


def _follows_a_link(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Whether a browser opens a page in a tab, and not in a frame."""
    asked = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return scope.get("method") == "GET" and asked == ("navigate", "document")  # a websocket has no method


def _hidden_query(scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
    """Refuses GraphQL in forms that a page can send without asking first: in a URL, or as a form or plain text."""
    if scope["type"] != "http" or not scope["path"].rstrip("/").endswith("/graphql"):
        return None
    if any(name in QueryParams(scope["query_string"]) for name in _GRAPHQL_NAMES):
        return Refusal(400, "GraphQL is not taken from the URL; send it by POST, as application/json.")
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    if scope["method"] not in ("GET", "HEAD") and media not in _GRAPHQL_TYPES:
        return Refusal(415, f"GraphQL is taken as {' or '.join(_GRAPHQL_TYPES)}, not as {media!r}.")
    return None


async def _refuse(scope: Scope, send: Send, refusal: Refusal) -> None:
    """Answers with the reason; a server that cannot answer a websocket closes it, which is HTTP's 403."""
    kind = "http.response"
    if scope["type"] == "websocket":
        if "websocket.http.response" not in (scope.get("extensions") or {}):
            await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
            return
        kind = "websocket.http.response"
    body = f"{refusal.reason}\n".encode()
    headers = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body))}
    headers |= {"x-content-type-options": "nosniff", "cache-control": "no-store"}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": f"{kind}.start", "status": refusal.status, "headers": pairs})
    await send({"type": f"{kind}.body", "body": body})
