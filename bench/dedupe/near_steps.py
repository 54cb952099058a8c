"""All steps of near duplicates, in a process of their own: `python -m bench.dedupe.near_steps LAKE SNAPSHOT... `.

The last line is JSON: what each step cost.
"""

import json
import sys
import time

from bench.harness.cost import measured
from bench.harness.place import SOURCE
from gristmill.execution.runner import Inline
from gristmill.execution.step import Step, make
from gristmill.lake.store.open import Lake
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import MinHashUnits
from gristmill.stages.dedupe.runs.step import RunsStep
from gristmill.stages.dedupe.verdicts.step import VerdictsStep
from gristmill.stages.fingerprints.order import Order
from gristmill.stages.fingerprints.step import FingerprintStep
from gristmill.stages.near_duplicates.marks.step import NearMarksStep
from gristmill.stages.near_duplicates.step import ClustersStep

SHELVES = ("gristmill",)
DEDUPE = Dedupe(name="near-1", unit=MinHashUnits(), sources=(f"{SOURCE}/v0",))
"""5-grams, 14 bands of 8, as datatrove's defaults."""


def main() -> None:
    """Makes them."""
    where, snapshot = sys.argv[1:]
    order = Order().with_round([(SOURCE, snapshot, False)])
    steps: dict[str, Step] = {
        "fingerprints": FingerprintStep(DEDUPE, SOURCE, snapshot, SHELVES),
        "hash runs": RunsStep(DEDUPE, SOURCE, snapshot, SHELVES),
        "verdicts": VerdictsStep(DEDUPE, order, 1, SHELVES),
        "clusters": ClustersStep(DEDUPE, order, 1, SHELVES),
        "marks": NearMarksStep(DEDUPE, order, SOURCE, snapshot, SHELVES),
    }
    said = {}
    for name, step in steps.items():
        with measured() as costs:
            made = make(step, Lake(where), Inline(), f"bench-{time.time_ns():x}", lambda _: None)
        (ledger,) = made.values()
        said[name] = {**costs[0].plain(), **ledger.totals}
    print(json.dumps(said))


if __name__ == "__main__":
    main()
