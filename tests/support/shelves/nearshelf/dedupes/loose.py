from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import MinHashUnits

LOOSE = Dedupe(
    name="loose-1", unit=MinHashUnits(ngram=1, bands=4, rows=1, least=0.6), sources=("wiki/v0", "news/v0"), buckets=2
)
