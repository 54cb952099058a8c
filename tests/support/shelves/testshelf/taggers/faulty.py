"""A tagger that does what a text tells it to."""

import os
import resource
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from gristmill.errors import StoreError
from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.tagger import Label, Tagger


def look(documents: Sequence[Document]) -> dict[str, list[Label]]:  # noqa: C901, PLR0912 - a list of faults
    labels: list[Label] = []
    for document in documents:
        label: Label = 1.0
        match document.text.split()[:1]:
            case ["NAN"]:
                label = float("nan")
            case ["OUTSIDE"]:
                label = [Span(0, len(document.text) + 1, 1.0)]
            case ["WORD"]:
                label = "high"  # type: ignore[assignment]  # a tagger's mistake
            case ["TRUE"]:
                label = True
            case ["FEWER"]:
                return {"label": labels}
            case ["RAISE"]:
                raise LookupError(document.id)
            case ["STORE"]:
                raise StoreError(f"{document.id}: the lake does not answer")
            case ["EXIT"]:
                os._exit(3)
            case ["KILL"]:
                os.kill(os.getpid(), signal.SIGKILL)
            case ["ABORT"]:
                os.abort()
            case ["HUGE"]:
                _want_more_than_there_is()
            case ["PANIC"]:
                Split(Regex("(a+)+$"), "isolated").pre_tokenize_str("a" * 60 + "b")  # a panic of a library in Rust
            case ["STOP"]:
                raise SystemExit(4)
            case ["SLEEP"]:
                time.sleep(0.5)
            case ["PRINT"]:
                print("a recipe that prints")  # noqa: T201 - what is tested
        labels.append(label)
    return {"label": labels}


def _want_more_than_there_is() -> None:
    """Takes memory until the system has none left for this process: 256 MB more than it has now."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), before[1]))
    taken: list[bytearray] = []
    try:
        while True:
            taken.append(bytearray(32 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


FAULTY = Tagger(name="faulty-1", batch=look)
