"""A tagger that does what a text tells it to."""

import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from gristmill.errors import StoreError
from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Label, Tagger

_PATIENCE = 120
"""Seconds to wait for others: no test waits for that long."""


def look(documents: Sequence[Document]) -> dict[str, list[Label]]:  # noqa: C901, PLR0912 - a list of faults
    labels: list[Label] = []
    for document in documents:
        label: Label = 1.0
        match document.text.split():
            case ["NAN", *_]:
                label = float("nan")
            case ["OUTSIDE", *_]:
                label = [Span(0, len(document.text) + 1, 1.0)]
            case ["WORD", *_]:
                label = "high"  # type: ignore[assignment]  # a tagger's mistake
            case ["TRUE", *_]:
                label = True
            case ["FEWER", *_]:
                return {"label": labels}
            case ["RAISE", *_]:
                raise LookupError(document.id)
            case ["STORE", *_]:
                raise StoreError(f"{document.id}: the lake does not answer")
            case ["EXIT", *_]:
                os._exit(3)
            case ["KILL", *_]:
                os.kill(os.getpid(), signal.SIGKILL)
            case ["ABORT", *_]:
                os.abort()
            case ["HUGE", *_]:
                _want_more_than_there_is()
            case ["PANIC", *_]:
                Split(Regex("(a+)+$"), "isolated").pre_tokenize_str("a" * 60 + "b")  # a panic of a library in Rust
            case ["STOP", *_]:
                sys.exit(0)
            case ["CLOSE", *_]:
                raise GeneratorExit
            case ["GROUP", *_]:
                raise BaseExceptionGroup("some", [SystemExit(0)])
            case ["SURROGATE", *_]:
                raise LookupError("\ud800 alone")
            case ["CHANGE", *_]:
                Batch.of(documents).columns[0].words.starts[0] = 7
            case ["SLEEP", *_]:
                time.sleep(0.5)
            case ["PRINT", *_]:
                print("a recipe that prints")  # noqa: T201 - what is tested
            case ["MEET", folder, count]:
                _meet(Path(folder), document.id, int(count))
        labels.append(label)
    return {"label": labels}


def _meet(folder: Path, name: str, count: int) -> None:
    """Says that it has come, with its process id; waits until so many have come, or the file `open` is there."""
    (folder / name).write_text(str(os.getpid()))
    for _ in range(_PATIENCE * 100):
        if len(list(folder.iterdir())) >= count or (folder / "open").exists():
            return
        time.sleep(0.01)
    raise StoreError(f"{name}: nobody came")


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
