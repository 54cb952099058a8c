"""Errors of bucket clients as one type with plain messages, and the retries of requests."""

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from gristmill.errors import RecipeError, StoreError, is_failure
from gristmill.lake.store.endpoint import Access
from gristmill.lake.store.s3_watch import WATCH, Request

T = TypeVar("T")

PATIENCE = 90.0
"""Seconds after which no request is tried again. A request takes at most half a minute. So a lake that does not answer
is an error within two minutes."""

TIMEOUT = 30.0
"""Most seconds of one request; it carries at most 8 MiB."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 15.0
"""Seconds between two tries: doubled each time, with random variation so that workers do not retry together."""

NO_BUCKET = "NoSuchBucket"

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_BUSY = {"SlowDown", "RequestTimeout", "OperationAborted"}
"""Codes of answers that say that the next try may succeed."""
_CUT = ("http error", "invalid list response", "content-length header missing")
"""Texts of the client's errors for an answer that broke off or came without its head."""
_METADATA_SERVER = "169.254.169.254"
"""Host that clients ask for credentials if they have none."""
_BAD_NAME = "object with invalid path"
"""Text of the client's error for a listing with a name that it cannot request: `a//b`, `a/../b`."""


class Problem(msgspec.Struct, frozen=True):
    """An error of a bucket client.

    Attributes:
        words: text to show. Never the body of an answer, which may contain the id of an access key.
        status: HTTP status; 0 if there was no answer.
        code: S3's error code; may be empty.
        broken: whether there was no answer: the connection failed, broke, or took too long.
    """

    words: str
    status: int = 0
    code: str = ""
    broken: bool = False

    @property
    def is_passing(self) -> bool:
        """Whether the next try may succeed."""
        busy = self.status in {408, 429} or self.status >= 500 or self.code in _BUSY
        return self.broken or busy

    @property
    def may_have_succeeded(self) -> bool:
        """Whether the server may have carried out the request although it failed."""
        return self.broken or self.status >= 500

    @property
    def lost_race(self) -> bool:
        """Whether the object no longer meets the condition, or another writer is writing it at this moment."""
        return self.status == 412 or (self.status == 409 and "Conflict" in self.code)


def read_problem(error: BaseException) -> Problem:
    """An error of obstore. Its text is the status and body of an answer, or describes a broken connection."""
    text = str(error)
    if _METADATA_SERVER in text:
        return Problem("it found no credentials", 401)
    status, code = _STATUS.search(text), _CODE.search(text)
    if status is None:
        words = text.strip().splitlines()[0][:300] if text.strip() else type(error).__name__
        return Problem(words, broken=any(each in words.lower() for each in _CUT))
    name = code.group(1) if code else ""
    return Problem(f"{status.group(1)} {name}".strip(), int(status.group(1)), name)


def store_error(path: str, url: str, trouble: Problem, access: Access | None = None) -> StoreError:
    """An error of a client as a StoreError that names the mend.

    Args:
        path: path of the object.
        url: root of the lake.
        trouble: the error.
        access: way in which the bucket is reached; None: as the environment says.
    """
    if trouble.code == "RequestTimeTooSkewed":
        return StoreError(
            f"{path}: the clock of this machine is wrong, says the bucket of {url}: set it, then run again"
        )
    if trouble.status in {401, 403} and access is not None:
        return StoreError(f"{path}: the bucket refused our credentials ({trouble.words}): {access.mend} below {url}")
    if trouble.status in {401, 403}:
        return StoreError(
            f"{path}: the bucket refused our credentials ({trouble.words}): give the environment of each process an"
            f" AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (a role's: AWS_SESSION_TOKEN too) that may list, read, write"
            f" and delete below {url}"
        )
    if trouble.code == NO_BUCKET:
        return StoreError(
            f"{path}: there is no such bucket: create it, or correct the lake's address {url} or its endpoint"
        )
    if trouble.status == 404:
        return StoreError(f"{path}: no such object in {url}")
    if _BAD_NAME in trouble.words:
        return StoreError(
            f"{path}: {trouble.words}. No object of a lake may have such a name: rename or remove it in the bucket"
        )
    return StoreError(
        f"{path}: the bucket did not answer as it should ({trouble.words}): check that {url} can be reached, and"
        " written (a bucket over its quota is read-only), then run again"
    )


def with_retries(do: Callable[[], T], trouble_of: Callable[[Exception], Problem], server: str = "") -> tuple[T, bool]:
    """Repeats a request until it succeeds, for at most PATIENCE seconds.

    Args:
        do: function that sends the request. It is called again after an error.
        trouble_of: function that converts an error of the client; raises any other error again.
        server: the bucket's endpoint, or root of the lake, for the warning of s3_watch; empty: no warning.

    Returns:
        The result of `do`, and whether an earlier try may have been carried out although its answer was lost.

    Raises:
        GaveUp: no try succeeded; holds the last error.
    """
    with WATCH.request(server, PATIENCE) as request:
        return _try_request(do, trouble_of, request)


def _try_request(do: Callable[[], T], trouble_of: Callable[[Exception], Problem], request: Request) -> tuple[T, bool]:
    end = time.monotonic() + PATIENCE
    pause = FIRST_PAUSE
    doubtful = False
    while True:
        try:
            with translate_client_panics():
                return do(), doubtful
        except Exception as error:  # noqa: BLE001 - trouble_of raises errors of other kinds again
            trouble = trouble_of(error)
        wait = pause * random.uniform(0.5, 1.0)  # noqa: S311 - not a secret, and no output depends on it
        if not trouble.is_passing or time.monotonic() + wait > end:
            raise GaveUp(trouble, doubtful=doubtful)
        request.trouble, request.answered = trouble.words, trouble.status > 0
        doubtful = doubtful or trouble.may_have_succeeded
        pause = min(2 * pause, LONGEST_PAUSE)
        time.sleep(wait)


@contextmanager
def translate_client_panics() -> Iterator[None]:
    """Raises a panic of the native client as a RecipeError. Its text is left out: it may quote an option.

    Raises:
        RecipeError: the client panicked. It does so if it cannot use its address.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception) or not is_failure(error):
            raise
        raise RecipeError(
            "the bucket client cannot use its endpoint, region or credentials (not shown): correct --option, or"
            " AWS_ENDPOINT_URL and its like in the environment"
        ) from None


class GaveUp(Exception):  # noqa: N818 - only the two files that send requests catch it
    """A request did not succeed.

    Args:
        trouble: the last error.
        doubtful: whether an earlier try may have been carried out although its answer was lost.
    """

    def __init__(self, trouble: Problem, *, doubtful: bool) -> None:
        self.trouble, self.doubtful = trouble, doubtful
        super().__init__(trouble.words)
