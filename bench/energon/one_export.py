"""One export of a mix, in a process of its own: `python -m bench.energon.one_export LAKE KIND [--workers N] [--index]`.

Plan, grind and commit, as users run them. A line of JSON at the end says what it cost, made and held in memory;
imports are not counted. `--index` makes the index and the release of the finished export instead.
"""

import argparse
import json
import time
from contextlib import closing, nullcontext
from typing import Any

from bench.energon.export_lake import MIX
from bench.harness.cost import measured, peak_memory
from bench.harness.place import SNAPSHOT, SOURCE
from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.engines.local import LocalPool
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.lake.store.open import Lake
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.export import Export, ExportFormat
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.source import Source
from gristmill.stages.export.index import index_export
from gristmill.stages.export.step import ExportStep

KINDS: dict[str, ExportFormat] = {
    "copied": EnergonJsonl(),
    "mapped": EnergonJsonl(fields={"caption": "text", "page": "metadata.url", "name": "id"}),
    "one": EnergonWebdataset(parts={"txt": "text"}),
    "two": EnergonWebdataset(parts={"txt": "text", "json": "metadata"}),
}
"""JSON lines as they are and through a field map; tars with one part a sample, and with two."""


def recipes(kind: str) -> tuple[Mix, Export]:
    """The mix and the export of a kind."""
    mix = Mix(name=MIX, streams=(Stream(source=SOURCE, version="v0"),))
    return mix, Export(name=kind, mixes=(MIX,), format=KINDS[kind])


def main() -> None:
    """Makes what the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("lake")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--workers", type=int, default=0, help="worker processes; 0: this process grinds")
    parser.add_argument("--index", action="store_true")
    asked = parser.parse_args()
    mix, export = recipes(asked.kind)
    lake, before = Lake(asked.lake), peak_memory()
    said: dict[str, Any] = {}
    with measured() as costs, closing(LocalPool(asked.workers)) if asked.workers else nullcontext(Inline()) as engine:
        if asked.index:
            sources = {SOURCE: Source(name=SOURCE, convert=DolmaLines(SOURCE))}
            index_export(lake.store(), mix, export, sources, {SOURCE: [SNAPSHOT]})
        else:
            step = ExportStep(mix, SOURCE, export, SNAPSHOT, ("gristmill",))
            (ledger,) = make(step, lake, engine, f"bench-{time.time_ns():x}", lambda _: None).values()
            said = {"fingerprint": ledger.fingerprint, **ledger.totals}
    print(json.dumps({**said, **costs[0].plain(), "peak": peak_memory(), "start": before}))


if __name__ == "__main__":
    main()
