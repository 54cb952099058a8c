from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import MinHashUnits

USUAL = Dedupe(
    name="usual-1",
    unit=MinHashUnits(least=0.55),
    sources=("wiki/v0",),
    buckets=2,
)
