"""All steps of exact duplicates, in one process: `python -m bench.dedupe.exact_steps LAKE UNIT`.

The last line is JSON: what each step cost, and the start of Python and the imports as `start`.
"""

import json
import sys
import time

from bench.harness.cost import Cost, measured
from bench.harness.place import SNAPSHOT, SOURCE
from bench.inputs.shelf import PACKAGE
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.lake.store.open import Lake
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import DocumentUnits, NgramUnits, ParagraphUnits, Unit
from gristmill.stages.dedupe.labels.step import DedupeLabelsStep
from gristmill.stages.dedupe.resolution import resolve_duplicates
from gristmill.stages.fingerprints.step import FingerprintStep

SHELVES = ("gristmill", PACKAGE)
UNITS: dict[str, Unit] = {"documents": DocumentUnits(), "paragraphs": ParagraphUnits(), "13-grams": NgramUnits()}


def recipe_of(unit: str) -> Dedupe:
    """The recipe of a unit."""
    return Dedupe(name=f"exact-{unit}-1", unit=UNITS[unit], sources=(f"{SOURCE}/v0",))


def main() -> None:
    """Makes them."""
    where, unit = sys.argv[1:]
    recipe, lake, token = recipe_of(unit), Lake(where), f"bench-{time.time_ns():x}"
    said = {"start": Cost(time.process_time(), 0).plain()}
    with measured() as costs:
        make(FingerprintStep(recipe, SOURCE, SNAPSHOT, SHELVES), lake, Inline(), token, lambda _: None)
    said["fingerprints"] = costs[0].plain()
    with measured() as costs:
        resolve_duplicates(lake, recipe, (), SHELVES, Inline(), token, lambda _: None)
    said["runs, verdicts, marks"] = costs[0].plain()
    with measured() as costs:
        make(DedupeLabelsStep(recipe, SOURCE, SNAPSHOT, SHELVES), lake, Inline(), token, lambda _: None)
    said["attribute set"] = costs[0].plain()
    print(json.dumps(said))


if __name__ == "__main__":
    main()
