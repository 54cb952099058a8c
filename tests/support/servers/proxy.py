"""A proxy that spoils what passes: it stands before a real S3 server and answers badly, late, or not at all."""

import http.client
import os
import random
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import unquote, urlsplit

FAULTS = ("500", "503", "slow", "reset", "lost", "denied", "cut")
"""What can be done to a request, and pass.

500, 503: the answer, and the server never hears of the request
slow:     the request is passed on `delay` seconds late
reset:    the connection is reset, and the server never hears of the request
lost:     the server does what it was asked, and the connection is reset in place of its answer
denied:   the server does what it was asked, and the answer is a 500
cut:      half of the answer's body arrives, then the connection is reset (without a body: as `lost`)

And one that does not pass: 403, as Amazon says it, with the id of the access key in its body.
"""

_RESET = struct.pack("ii", 1, 0)
_ERROR = "<?xml version='1.0'?><Error><Code>{}</Code><Message>on purpose</Message>{}</Error>"
_CODES = {"500": "InternalError", "503": "SlowDown", "403": "SignatureDoesNotMatch", "denied": "InternalError"}
_KEY = re.compile(r"Credential=([^/]+)/")


class FaultyProxy:
    """Stands before the server at `target`; clients speak to `endpoint` instead.

    Attributes:
        rates: chance of each fault at each request; may be set at any time, {} lets all pass.
        delay: seconds of `slow`.
        seen: requests by (method, fault or ""), for tests to count.
    """

    def __init__(
        self, target: str, *, seed: int = 0, rates: Mapping[str, float] | None = None, delay: float = 1.0
    ) -> None:
        self.target = urlsplit(target).netloc
        self.rates: Mapping[str, float] = rates or {}
        self.delay = delay
        self.seen: Counter[tuple[str, str]] = Counter()
        self._chance = random.Random(seed)
        self._next: list[tuple[str, str, str]] = []
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def spoil(self, fault: str, times: int = 1, *, method: str = "", holds: str = "") -> None:
        """The next so many requests of this method whose path and query hold these words get this fault."""
        assert fault in {*FAULTS, "403"}, fault
        with self._lock:
            self._next += [(fault, method, holds)] * times

    def forgive(self) -> None:
        """Takes back what was said to spoil() and did not happen yet."""
        with self._lock:
            self._next.clear()

    def spoiled(self) -> int:
        """How many requests got a fault so far."""
        return sum(number for (_, fault), number in self.seen.items() if fault)

    def fault_of(self, method: str, path: str) -> str:
        """What becomes of a request."""
        with self._lock:
            fault = self._draw(method, path)
            self.seen[method, fault] += 1
            return fault

    def _draw(self, method: str, path: str) -> str:
        for place, (fault, only, holds) in enumerate(self._next):
            if only in {"", method} and holds in unquote(path):
                del self._next[place]
                return fault
        dice = self._chance.random()
        for fault, rate in self.rates.items():
            if dice < rate:
                return fault
            dice -= rate
        return ""

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients may go away at any time."""


class _Handler(BaseHTTPRequestHandler):
    proxy: ClassVar[FaultyProxy]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    _upstream: http.client.HTTPConnection | None = None

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.fault_of(self.command, self.path)
        if fault == "slow":
            time.sleep(self.proxy.delay)
        if fault.isdigit():
            self._refuse(int(fault), _CODES[fault])
            return
        if fault == "reset":
            self._reset()
            return
        try:
            status, headers, data = self._forward(body)
        except (OSError, http.client.HTTPException):
            self._reset()
            return
        if fault == "lost" or (fault == "cut" and (not data or self.command == "HEAD")):
            self._reset()
        elif fault == "denied":
            self._refuse(500, _CODES[fault])
        elif fault == "cut":
            self._answer(status, headers, data, len(data) // 2)
            self._reset()
        else:
            self._answer(status, headers, data)

    do_PUT = do_POST = do_DELETE = do_HEAD = do_GET  # noqa: N815 - the base class calls them so

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        """The server's answer; a connection that it closed meanwhile is opened anew."""
        for attempt in range(2):
            fresh = self._upstream is None
            if self._upstream is None:
                self._upstream = http.client.HTTPConnection(self.proxy.target, timeout=60)
            try:
                self._upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    self._upstream.putheader(name, value)
                self._upstream.endheaders(body)
                answer = self._upstream.getresponse()
                return answer.status, answer.getheaders(), answer.read()
            except (OSError, http.client.HTTPException):
                self._upstream.close()
                self._upstream = None
                if fresh or attempt:
                    raise
        raise AssertionError("not reached")

    def _refuse(self, status: int, code: str) -> None:
        key = _KEY.search(self.headers.get("Authorization") or "")
        about = f"<AWSAccessKeyId>{key.group(1)}</AWSAccessKeyId>" if key and status == 403 else ""
        self._answer(status, [("Content-Type", "application/xml")], _ERROR.format(code, about).encode())

    def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes, sent: int | None = None) -> None:
        self.send_response_only(status)
        length = str(len(data))
        for name, value in headers:
            if name.lower() == "content-length":
                length = value  # of a HEAD: not of what follows
            elif name.lower() not in {"transfer-encoding", "connection"}:
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[:sent])

    def _reset(self) -> None:
        """Closes the connection as a machine does that went away."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            os.close(self.connection.detach())

    def finish(self) -> None:
        if self._upstream is not None:
            self._upstream.close()
        with suppress(OSError, ValueError):
            super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Says nothing."""
