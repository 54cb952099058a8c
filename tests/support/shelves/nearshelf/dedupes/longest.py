from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import MinHashUnits

LONGEST = Dedupe(
    name="longest-1",
    unit=MinHashUnits(ngram=1, bands=2, rows=2, keeper="longest"),
    sources=("wiki/v0", "news/v0"),
    buckets=2,
)
