"""A webhook for the tests: it keeps what is posted, and answers as it is told.

`python hook.py PORT FILE` is one that can be killed: it adds each message to the file, a line each.
"""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Hook:
    """A server on loopback.

    Args:
        port: to listen on; 0: a free one.
        file: takes each message, before it is answered; None: none does.

    Attributes:
        answers: the status codes of the next requests; then 200.
        taken: the messages that were answered with 200.
        asked: number of requests.
    """

    def __init__(self, port: int = 0, file: Path | None = None) -> None:
        self.answers: list[int] = []
        self.taken: list[dict[str, Any]] = []
        self.asked = 0
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.asked += 1
                status = hook.answers.pop(0) if hook.answers else 200
                if status == 200:
                    assert self.headers["Content-Type"] == "application/json"
                    hook.taken.append(json.loads(body))
                    if file is not None:
                        with file.open("ab") as kept:
                            kept.write(body + b"\n")
                self.send_response(status)
                self.send_header("Content-Length", "0")
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Prints nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/hooks/secret"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        """Ends it."""
        self._server.shutdown()
        self._server.server_close()


def told_in(file: Path) -> list[dict[str, Any]]:
    """The messages in such a file, oldest first."""
    return [json.loads(line) for line in file.read_text().splitlines()]


@contextmanager
def hooked() -> Iterator[Hook]:
    """A webhook, until the end of the block."""
    hook = Hook()
    try:
        yield hook
    finally:
        hook.close()


if __name__ == "__main__":
    Hook(int(sys.argv[1]), Path(sys.argv[2]))
    threading.Event().wait()
