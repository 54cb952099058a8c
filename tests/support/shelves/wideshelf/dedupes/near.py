from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import MinHashUnits

NEAR = Dedupe(name="near-1", unit=MinHashUnits(ngram=2), sources=("papers/v2",), buckets=2)
