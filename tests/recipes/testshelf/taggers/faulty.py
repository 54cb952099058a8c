"""A tagger that does what a text tells it to."""

import os
import signal
import time
from collections.abc import Sequence

from gristmill.lake.document import Document, Span
from gristmill.stages.tagging import Label, Tagger


def look(documents: Sequence[Document]) -> dict[str, list[Label]]:  # noqa: C901 - a list of faults
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
            case ["EXIT"]:
                os._exit(3)
            case ["KILL"]:
                os.kill(os.getpid(), signal.SIGKILL)
            case ["SLEEP"]:
                time.sleep(0.5)
            case ["PRINT"]:
                print("a recipe that prints")  # noqa: T201 - what is tested
        labels.append(label)
    return {"label": labels}


FAULTY = Tagger(name="faulty-1", batch=look)
