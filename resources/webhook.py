"""Posts messages to the webhook that GRISTMILL_WEBHOOK names: JSON whose `text` chat services show as it is."""

import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from gristmill.errors import StoreError

TIMEOUT = 10
"""Seconds for one attempt."""
WAITS = (1.0, 3.0)
"""Seconds before the second and the third attempt."""
_BUSY = (408, 425, 429)
"""Answers below 500 that another attempt may change."""


class _NoRedirect(HTTPRedirectHandler):
    """Follows nothing: a redirected POST would become a GET without the message."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Refuses."""


def post(address: str, message: Mapping[str, Any], waits: tuple[float, ...] = WAITS) -> None:
    """Posts a message, with up to three attempts.

    Args:
        address: of the webhook. It is often a secret, so no error names it.
        message: becomes the JSON of the body.
        waits: seconds before each further attempt.

    Raises:
        StoreError: the webhook did not take it.
    """
    body = json.dumps(message, ensure_ascii=False).encode()
    request = Request(address, body, {"Content-Type": "application/json"})  # noqa: S310 - the environment allows http(s) alone
    opener = build_opener(_NoRedirect)
    for wait in (*waits, None):
        try:
            with opener.open(request, timeout=TIMEOUT):
                return
        except HTTPError as error:
            words, again = f"answered {error.code} {error.reason}", error.code >= 500 or error.code in _BUSY
            error.close()
        except (URLError, OSError) as error:
            words, again = f"did not answer: {getattr(error, 'reason', error)}", True
        if wait is None or not again:
            raise StoreError(f"the webhook of GRISTMILL_WEBHOOK {words}")
        time.sleep(wait)
