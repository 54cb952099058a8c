"""What a bucket's client says when something goes wrong, in our words; and how long we go on asking."""

import random
import re
import time
from collections.abc import Callable
from typing import TypeVar

import msgspec

from gristmill.errors import StoreError

T = TypeVar("T")

PATIENCE = 90.0
"""Seconds after which nothing is tried again. A request takes half a minute at the most, so a lake that does not
answer is an error within two minutes."""

TIMEOUT = 30.0
"""Seconds that one request may take: at most 8 MiB go with it."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 15.0
"""Seconds between two tries: doubled each time, and drawn, so that workers do not come back all at once."""

NO_BUCKET = "NoSuchBucket"

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_METADATA_SERVER = "169.254.169.254"
"""Whom clients ask for credentials when they have none."""
_BAD_NAME = "object with invalid path"
"""What the client says of a listing with a name that it could not ask for: `a//b`, `a/../b`."""


class Trouble(msgspec.Struct, frozen=True):
    """An error of a client's.

    Attributes:
        words: what to show; never an answer's body, which may hold an access key's id.
        status: of HTTP, or 0 if there was no answer.
        code: S3's, or empty.
        broken: there was no answer because the connection did not come, broke, or took too long.
    """

    words: str
    status: int = 0
    code: str = ""
    broken: bool = False

    @property
    def passing(self) -> bool:
        """Whether it may be gone at the next try."""
        busy = self.status in {408, 429} or self.status >= 500 or self.code in {"SlowDown", "RequestTimeout"}
        return self.broken or busy

    @property
    def doubtful(self) -> bool:
        """Whether the server may have done what it was asked all the same."""
        return self.broken or self.status >= 500

    @property
    def lost_race(self) -> bool:
        """Whether the object is not what it was to be (or somebody writes it this moment)."""
        return self.status == 412 or (self.status == 409 and "Conflict" in self.code)


def read_trouble(error: BaseException) -> Trouble:
    """What obstore's error says: its text is an answer's status and body, or what broke on the way."""
    text = str(error)
    if _METADATA_SERVER in text:
        return Trouble("it found no credentials", 401)
    status, code = _STATUS.search(text), _CODE.search(text)
    if status is None:
        words = text.strip().splitlines()[0][:300] if text.strip() else type(error).__name__
        return Trouble(words, broken="HTTP error" in words)
    name = code.group(1) if code else ""
    return Trouble(f"{status.group(1)} {name}".strip(), int(status.group(1)), name)


def store_error(path: str, url: str, trouble: Trouble) -> StoreError:
    """The trouble as an error that says the mend."""
    if trouble.status in {401, 403}:
        return StoreError(
            f"{path}: the bucket refused our credentials ({trouble.words}): give the environment of each process an"
            f" AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (a role's: AWS_SESSION_TOKEN too) that may list, read, write"
            f" and delete below {url}"
        )
    if trouble.code == NO_BUCKET:
        return StoreError(f"{path}: there is no such bucket: make it, or mend the lake's address {url} or its endpoint")
    if trouble.status == 404:
        return StoreError(f"{path}: no such object in {url}")
    if _BAD_NAME in trouble.words:
        return StoreError(
            f"{path}: {trouble.words}. No object of a lake may have such a name: rename or remove it in the bucket"
        )
    return StoreError(
        f"{path}: the bucket did not answer as it should ({trouble.words}): see that {url} can be reached, then run"
        " again"
    )


def patiently(do: Callable[[], T], trouble_of: Callable[[Exception], Trouble]) -> tuple[T, bool]:
    """Does it until it is done, for at most PATIENCE seconds.

    Args:
        do: one request.
        trouble_of: reads the client's errors; whatever it cannot read it raises.

    Returns:
        What `do` gives, and whether an earlier try may have been heard although no answer came.

    Raises:
        GaveUp: with the last trouble.
    """
    end = time.monotonic() + PATIENCE
    pause = FIRST_PAUSE
    doubtful = False
    while True:
        try:
            return do(), doubtful
        except Exception as error:  # noqa: BLE001 - trouble_of raises again what is no trouble of a client's
            trouble = trouble_of(error)
        wait = pause * random.uniform(0.5, 1.0)  # noqa: S311 - no secret, and no output depends on it
        if not trouble.passing or time.monotonic() + wait > end:
            raise GaveUp(trouble, doubtful=doubtful)
        doubtful = doubtful or trouble.doubtful
        pause = min(2 * pause, LONGEST_PAUSE)
        time.sleep(wait)


class GaveUp(Exception):  # noqa: N818 - caught by the two files that ask, never seen by others
    """It was not done.

    Args:
        trouble: the last one.
        doubtful: whether an earlier try may have been heard.
    """

    def __init__(self, trouble: Trouble, *, doubtful: bool) -> None:
        self.trouble, self.doubtful = trouble, doubtful
        super().__init__(trouble.words)
