from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import MinHashUnits

BEST = Dedupe(
    name="best-1",
    unit=MinHashUnits(ngram=1, bands=2, rows=2, keeper="score", score="quality-1__good"),
    sources=("wiki/v0",),
    buckets=2,
)
