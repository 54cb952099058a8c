"""A bucket that does not answer is told within seconds, long before its requests are given up."""

import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from gristmill.errors import StoreError
from gristmill.lake.store import s3, s3_retry, s3_watch
from gristmill.lake.store.s3 import BucketStore
from gristmill.lake.store.s3_watch import BucketWatch, unreachable_reason


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred times as fast."""
    for name in ("LOOK", "LATE", "SLOW", "AGAIN"):
        monkeypatch.setattr(s3_watch, name, getattr(s3_watch, name) / 100)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def closed() -> str:
    """The address of a port where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def told(caplog: pytest.LogCaptureFixture, words: str, seconds: float = 60.0) -> list[str]:
    """The warnings, as soon as there are so many with these words."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = [record.getMessage() for record in caplog.records if words in record.getMessage()]
        if found:
            return found
        time.sleep(0.01)
    return []


@pytest.mark.slow
@pytest.mark.parametrize(
    "ask", [lambda store: store.read("a"), lambda store: list(store.list("")), lambda store: store.put("a", b"")]
)
def test_a_dead_endpoint_is_told_with_the_reason_and_the_time_left(
    ask: Callable[[BucketStore], object], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (s3, s3_retry):
        monkeypatch.setattr(module, "PATIENCE", 3.0)
    for name, value in (("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")):
        monkeypatch.setenv(name, value)
    endpoint = closed()
    store = BucketStore("s3://corpus/lake", {"endpoint": endpoint, "region": "us-east-1"})
    with caplog.at_level(logging.WARNING), pytest.raises(StoreError, match="can be reached"):
        ask(store)
    lines = told(caplog, endpoint)
    assert re.fullmatch(rf"{endpoint} does not answer \(connection refused\); trying again for [0-3] s", lines[0])


def test_a_server_that_is_silent_is_told_later_and_one_that_answers_not_at_all(
    silent: str, caplog: pytest.LogCaptureFixture
) -> None:
    watch = BucketWatch()
    with watch.request(silent, 90):
        (line,) = told(caplog, silent)
    assert re.fullmatch(rf"{silent} does not answer \(nothing for \d s\); trying again for (90|8\d) s", line)
    caplog.clear()
    with watch.request("", 90), watch.request("s3://other", 90):
        pass
    assert told(caplog, "", 0.1) == []


def test_a_request_that_is_tried_again_tells_the_last_trouble(caplog: pytest.LogCaptureFixture) -> None:
    watch = BucketWatch()
    with watch.request("s3://corpus", 90) as request:
        request.trouble = "http error"
        (line,) = told(caplog, "corpus")
    assert re.fullmatch(r"s3://corpus does not answer \(http error\); trying again for (90|8\d) s", line)


def test_a_server_that_answers_with_an_error_is_not_said_to_be_silent(caplog: pytest.LogCaptureFixture) -> None:
    server = "s3://failing"

    def fails_until_it_is_told() -> None:
        if not any("answers" in record.getMessage() for record in caplog.records):
            raise ValueError

    with caplog.at_level(logging.WARNING):
        s3_retry.with_retries(fails_until_it_is_told, lambda _: s3_retry.Problem("500 InternalError", 500), server)
    line = told(caplog, "answers")[0]
    words = r"answers with an error \(500 InternalError\); trying again for (90|[78]\d) s"
    assert re.fullmatch(f"{server} {words}", line)


def test_the_watch_of_a_forked_process_has_a_thread_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    watch = BucketWatch()
    with watch.request("s3://one", 90):
        pass
    watch._process = 0  # noqa: SLF001 - as in a process that was forked
    with watch.request("s3://two", 90) as request:
        request.trouble = "500"
        assert told(caplog, "s3://two")
    assert sum(thread.name == "bucket watch" for thread in threading.enumerate()) >= 2


def test_why_no_connection_can_be_made(silent: str) -> None:
    assert unreachable_reason(silent) == unreachable_reason("s3://corpus") == ""
    assert unreachable_reason(closed()) == "connection refused"
    assert unreachable_reason("https://no-such-host.invalid") in {"no such host", "no connection"}
