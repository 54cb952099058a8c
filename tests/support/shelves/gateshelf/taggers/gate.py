"""A tagger that does what a document's first word tells it to, so that a test can meet a run in the middle."""

import os
import time
from pathlib import Path

from gristmill.errors import StoreError
from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger

_PATIENCE = 600
"""Seconds to stand before a closed gate: no test waits for that long."""


def look(document: Document) -> dict[str, Label]:
    match document.text.split():
        case ["GATE", folder]:  # it leaves its process id beside the gate, and waits for the gate
            (Path(folder) / f"{document.id}.pid").write_text(str(os.getpid()))
            for _ in range(_PATIENCE * 20):
                if (Path(folder) / "open").exists():
                    return {"calm": 1.0}
                time.sleep(0.05)
            raise StoreError("nobody opened the gate")
        case ["ONCE", marker] if not Path(marker).exists():
            Path(marker).touch()
            raise StoreError("the lake did not answer")
        case _:
            return {"calm": 1.0}


GATE = Tagger(
    name="gate-1",
    document=look,
    labels=(Score("calm", "1 for every text that it looks at", low=1, high=1),),
    only=frozenset({"gated"}),
)
