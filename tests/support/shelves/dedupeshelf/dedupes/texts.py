from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import DocumentUnits

TEXTS = Dedupe(name="texts-1", unit=DocumentUnits(), sources=("pages/v0",), buckets=2)
