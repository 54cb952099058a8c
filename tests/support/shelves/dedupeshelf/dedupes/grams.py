from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import NgramUnits

GRAMS = Dedupe(name="grams-1", unit=NgramUnits(length=2, threshold=0.5), sources=("pages/v0",), buckets=2)
