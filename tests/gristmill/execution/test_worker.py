import io
import subprocess
import sys

import pytest

from gristmill.execution.worker import HEADER, receive, send


def test_messages_come_back_as_they_went_one_by_one() -> None:
    stream = io.BytesIO()
    for message in (b"job {}", b"", b"x" * 70_000):
        send(stream, message)
    stream.seek(0)
    assert [receive(stream) for _ in range(4)] == [b"job {}", b"", b"x" * 70_000, None]


@pytest.mark.parametrize("kept", [0, 1, HEADER - 1, HEADER, HEADER + 2])
def test_a_message_that_is_cut_off_is_the_end(kept: int) -> None:
    stream = io.BytesIO()
    send(stream, b"abc")
    assert receive(io.BytesIO(stream.getvalue()[:kept])) is None


def test_a_worker_that_is_asked_nothing_ends_in_good_order() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gristmill.execution.worker"], input=b"", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
