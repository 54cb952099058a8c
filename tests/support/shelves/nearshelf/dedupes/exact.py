from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import MinHashUnits

EXACT = Dedupe(
    name="exact-1", unit=MinHashUnits(ngram=1, bands=4, rows=1, exact=True, least=0.6), sources=("wiki/v0",), buckets=2
)
