import io
import os
import subprocess
import sys

import msgspec
import pytest
from faulty import shards, work
from testkit import Mill

from gristmill.execution.work import Done
from gristmill.execution.worker import HEADER, JOB, receive_message, send_message


def test_messages_come_back_as_they_went_one_by_one() -> None:
    stream = io.BytesIO()
    for message in (b"job {}", b"", b"x" * 70_000):
        send_message(stream, message)
    stream.seek(0)
    assert [receive_message(stream) for _ in range(4)] == [b"job {}", b"", b"x" * 70_000, None]


@pytest.mark.parametrize("kept", [0, 1, HEADER - 1, HEADER, HEADER + 2])
def test_a_message_that_is_cut_off_is_the_end(kept: int) -> None:
    stream = io.BytesIO()
    send_message(stream, b"abc")
    assert receive_message(io.BytesIO(stream.getvalue()[:kept])) is None


def test_a_worker_that_is_asked_nothing_ends_in_good_order() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gristmill.execution.worker"], input=b"", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def started(mill: Mill) -> tuple["subprocess.Popen[bytes]", bytes]:
    """A worker, and the messages for it: the job of the faulty tagger, and its first item."""
    planned, items = work(mill)
    stream = io.BytesIO()
    send_message(stream, JOB + msgspec.json.encode(planned.job))
    send_message(stream, msgspec.json.encode(items[0]))
    worker = subprocess.Popen(
        [sys.executable, "-m", "gristmill.execution.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return worker, stream.getvalue()


def test_a_worker_whose_input_ends_while_it_grinds_ends_at_once(mill: Mill) -> None:
    shards(mill, a="SLEEP")
    worker, sent = started(mill)
    out, _ = worker.communicate(sent)
    assert (worker.returncode, out) == (1, b"")
    assert mill.store.head(mill.attributes("faulty-1").shard("a")) is None


def test_what_a_recipe_prints_is_no_part_of_the_answer(mill: Mill) -> None:
    shards(mill, a="PRINT")
    worker, sent = started(mill)
    assert worker.stdin is not None
    assert isinstance(worker.stdout, io.BufferedReader)
    worker.stdin.write(sent)
    worker.stdin.flush()
    answer = receive_message(worker.stdout)
    assert answer is not None
    assert msgspec.json.decode(answer, type=Done).outcome.failed == ()
    out, printed = worker.communicate()
    assert (worker.returncode, out) == (0, b"")
    assert b"a recipe that prints" in printed
