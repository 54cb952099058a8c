"""Posts messages to the webhook that GRISTMILL_WEBHOOK names: JSON whose `text` chat services show as it is."""

import json
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, responses
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from gristmill.errors import StoreError, escape_controls, shorten

TIMEOUT = 10.0
"""Seconds for one attempt. After so many seconds no further attempt begins."""
WAITS = (1.0, 3.0)
"""Seconds before the second and the third attempt."""
_BUSY = (408, 425, 429)
"""Answers below 500 that another attempt may change."""
_REFUSED = (400, 413, 422)
"""Answers that refuse this message, and say nothing of the next one."""


class RefusedMessage(StoreError):  # noqa: N818
    """The webhook refused a message as it is. Another message may be taken."""


class _NoRedirect(HTTPRedirectHandler):
    """Follows nothing: a redirected POST would become a GET without the message."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Refuses."""


class _Brief(HTTPConnection):
    """A connection that ends some seconds after it was made, also if a byte comes now and then."""

    def connect(self) -> None:
        """Connects, and starts the clock."""
        super().connect()
        self._clock = threading.Timer(self.timeout or TIMEOUT, _shut, [self.sock])
        self._clock.daemon = True
        self._clock.start()

    def getresponse(self) -> HTTPResponse:
        """The answer's status and headers; nobody reads its body."""
        try:
            return super().getresponse()
        finally:
            self._clock.cancel()


class _BriefTls(_Brief, HTTPSConnection):
    """The same for https."""


class _HttpHandler(HTTPHandler):
    def http_open(self, request: Request) -> HTTPResponse:
        """Opens a connection."""
        return self.do_open(_Brief, request)


class _HttpsHandler(HTTPSHandler):
    def https_open(self, request: Request) -> HTTPResponse:
        """Opens a connection."""
        return self.do_open(_BriefTls, request)


def _shut(open_socket: socket.socket) -> None:
    with suppress(OSError):
        socket.socket.shutdown(open_socket, socket.SHUT_RDWR)  # not that of TLS, which another thread may be reading


def post_message(
    address: str, message: Mapping[str, Any], waits: tuple[float, ...] = WAITS, timeout: float = TIMEOUT
) -> None:
    """Posts a message, with up to three attempts.

    Args:
        address: address of the webhook. It is often a secret, so no error names it.
        message: values that become the JSON of the body.
        waits: seconds before each further attempt.
        timeout: seconds for one attempt.

    Raises:
        RefusedMessage: the webhook refused this message.
        StoreError: the webhook did not take it: it is away, or it refuses every message at this address.
    """
    request = Request(address, json.dumps(message).encode(), {"Content-Type": "application/json"})  # noqa: S310 - the environment allows http(s) alone
    opener = build_opener(_NoRedirect, _HttpHandler, _HttpsHandler)
    began = time.monotonic()
    for wait in (*waits, None):
        kind = StoreError
        try:
            with opener.open(request, timeout=timeout):
                return
        except HTTPError as error:  # its words are the server's
            words, again = f"answered {error.code} {responses.get(error.code, '')}".strip(), error.code >= 500
            again = again or error.code in _BUSY
            kind = RefusedMessage if error.code in _REFUSED else StoreError
            error.close()
        except OSError as error:
            words, again = f"did not answer: {_reason(error, address)}", True
        except HTTPException as error:
            words, again = f"did not answer in HTTP ({type(error).__name__})", True
        if wait is None or not again or time.monotonic() - began >= timeout:
            raise kind(f"the webhook of GRISTMILL_WEBHOOK {words}") from None
        time.sleep(wait)


def _reason(error: OSError, address: str) -> str:
    """Why nobody answered, without the name of the host, which words about certificates have."""
    words = str(getattr(error, "reason", error))
    return escape_controls(shorten(words.replace(urlsplit(address).hostname or "", "..."), 200))
