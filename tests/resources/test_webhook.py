import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from hook import hooked

from gristmill.errors import StoreError
from resources.webhook import post_message

pytestmark = pytest.mark.slow

AT_ONCE = (0.0, 0.0)


def test_a_message_is_posted_as_json() -> None:
    with hooked() as hook:
        post_message(hook.address, {"text": "ein Fehler: ä"}, AT_ONCE)
        assert hook.taken == [{"text": "ein Fehler: ä"}]


def test_a_busy_webhook_is_tried_three_times_and_a_wrong_address_once() -> None:
    with hooked() as hook:
        hook.answers = [503, 429]
        post_message(hook.address, {"text": "a"}, AT_ONCE)
        assert (hook.asked, len(hook.taken)) == (3, 1)
        for status, asked in ((500, 3), (404, 1), (302, 1)):
            hook.answers, hook.asked = [status] * asked, 0
            with pytest.raises(StoreError, match=f"the webhook of GRISTMILL_WEBHOOK answered {status}") as told:
                post_message(hook.address, {"text": "a"}, AT_ONCE)
            assert hook.asked == asked
            assert "secret" not in str(told.value)


@contextmanager
def answering(*parts: bytes) -> Iterator[str]:
    """The address of a server that answers one request with these bytes, one after the other each 0.1 s."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with server.accept()[0] as client, suppress(OSError):
                client.recv(65536)
                for part in parts:
                    client.sendall(part)
                    time.sleep(0.1)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/hooks/secret"
        thread.join()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"\xff\x00secret\r\n\r\n", r"did not answer in HTTP \(BadStatusLine\)"),
        (b"HTTP/1.1 404 secret \x1b" + b"a" * 60_000 + b"\r\n\r\n", "answered 404 Not Found"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 200 + b"\r\n", r"did not answer in HTTP \(HTTPException\)"),
    ],
)
def test_what_is_no_answer_is_told_in_words_of_ours(answer: bytes, words: str) -> None:
    with answering(answer) as address, pytest.raises(StoreError, match=f"GRISTMILL_WEBHOOK {words}$") as told:
        post_message(address, {"text": "\ud800"}, ())
    assert "secret" not in str(told.value)


def test_an_answer_that_comes_byte_by_byte_ends() -> None:
    began = time.monotonic()
    with answering(b"HTTP/1.1", *[b" "] * 600) as address, pytest.raises(StoreError):
        post_message(address, {"text": "a"}, AT_ONCE, timeout=1.0)
    assert time.monotonic() - began < 50  # of the 60 s that the answer takes


def test_nobody_who_listens_is_an_error_without_the_address() -> None:
    with hooked() as hook:
        address = hook.address
    with pytest.raises(StoreError, match=r"did not answer: .*refused") as told:
        post_message(address, {"text": "a"}, AT_ONCE)
    assert "secret" not in str(told.value)
