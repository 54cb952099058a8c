"""A worker process: reads jobs and items from its standard input; writes results to its standard output.

The local engine starts it as `python -m gristmill.execution.worker`. A message is JSON after an 8-byte big-endian
length. Output that recipes print goes to standard error. The worker ends when its input ends, even while it grinds an
item. So it does not outlive the process that started it, and cannot write into a lake that another run has taken over.
"""

import os
import queue
import sys
import threading
from typing import BinaryIO

import msgspec

from gristmill.execution.runner import LazyGrinder, grind_one_item
from gristmill.execution.work import Grinder, Item, Job
from gristmill.interrupts import ignore_interrupt_in_child
from gristmill.threads import start_thread

HEADER = 8
JOB = b"job "
"""Prefix of a message that opens the next job. All other messages are items; the worker answers each of them."""

Inbox = queue.SimpleQueue[bytes | None]


def send_message(stream: BinaryIO, message: bytes) -> None:
    """Writes one message: its length, then its bytes."""
    stream.write(len(message).to_bytes(HEADER, "big") + message)
    stream.flush()


def receive_message(stream: BinaryIO) -> bytes | None:
    """Reads one message; None at the end of the stream, also in the middle of a message.

    Returns:
        The message without its length.
    """
    header = stream.read(HEADER)
    if len(header) < HEADER:
        return None
    size = int.from_bytes(header, "big")
    message = stream.read(size)
    return message if len(message) == size else None


def _pass_messages(stream: BinaryIO, inbox: Inbox, busy: threading.Event) -> None:
    """Passes messages to the main thread. Ends the process if the input ends while an item is ground.

    At that point no process waits for the answer.
    """
    while (message := receive_message(stream)) is not None:
        if not message.startswith(JOB):
            busy.set()
        inbox.put(message)
    if busy.is_set():
        os._exit(1)
    inbox.put(None)


def main() -> None:
    """Answers messages until the input ends."""
    ignore_interrupt_in_child()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    inbox: Inbox = queue.SimpleQueue()
    busy = threading.Event()
    start_thread(_pass_messages, sys.stdin.buffer, inbox, busy)
    grind: Grinder | None = None
    while (message := inbox.get()) is not None:
        if message.startswith(JOB):
            grind = LazyGrinder(msgspec.json.decode(message[len(JOB) :], type=Job))
        elif grind is not None:
            item = msgspec.json.decode(message, type=Item)
            answer = msgspec.json.encode(grind_one_item(grind, item))
            busy.clear()
            try:
                send_message(out, answer)
            except BrokenPipeError:  # the parent process has ended
                os._exit(1)


if __name__ == "__main__":
    main()
