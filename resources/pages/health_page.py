"""The page `/healthz` of the web server: whether all parts of a deployment answer, for a monitor."""

import hmac
import json
import time
from collections.abc import Callable
from dataclasses import asdict

from starlette.types import ASGIApp, Receive, Scope, Send

from resources.health import Health

STALE = 180.0
"""Seconds after which a look is too old to say anything."""

_LOOPBACK = ("127.0.0.1", "::1")
_PASSED_ON = (b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip", b"via")

Last = Callable[[], tuple[float, Health] | None]
"""When the last look was, and what it found, see Watchman.last_look()."""


class HealthPage:
    """Answers `/healthz`, and passes everything else on.

    It costs nothing, however often it is asked: it shows what the watchman found last. It answers this machine, and
    others that send the token as `Authorization: Bearer`. What a proxy passes on does not come from this machine.

    Args:
        app: Dagster's app.
        path: path of the page, with the prefix of all paths.
        last: function that reads what the watchman found last.
        token: GRISTMILL_HEALTH_TOKEN; empty: this machine alone.
    """

    def __init__(self, app: ASGIApp, path: str, last: Last, token: str = "") -> None:
        self._app, self._path, self._last, self._token = app, path, last, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers, or passes on."""
        if scope["type"] != "http" or scope["path"] != self._path:
            await self._app(scope, receive, send)
            return
        if not self._may_ask(scope):
            words = "this machine may ask, and whoever sends the token of GRISTMILL_HEALTH_TOKEN as a bearer"
            await _answer(send, 401, {"well": False, "wrong": [words]})
            return
        last = self._last()
        if last is None or time.monotonic() - last[0] > STALE:
            await _answer(send, 503, {"well": False, "wrong": ["nobody has looked yet, or the watchman hangs"]})
            return
        found = asdict(last[1]) | {"wrong": list(last[1].wrong.values())}
        well = not last[1].wrong
        await _answer(send, 200 if well else 503, {"well": well, **found})

    def _may_ask(self, scope: Scope) -> bool:
        headers = dict(scope["headers"])
        if self._token and hmac.compare_digest(headers.get(b"authorization", b""), f"Bearer {self._token}".encode()):
            return True
        near = (scope.get("client") or ("",))[0] in _LOOPBACK
        return near and not any(name in headers for name in _PASSED_ON)


async def _answer(send: Send, status: int, body: dict[str, object]) -> None:
    data = json.dumps(body).encode() + b"\n"
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    headers.append((b"cache-control", b"no-store"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})
