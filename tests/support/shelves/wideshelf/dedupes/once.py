from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import DocumentUnits

ONCE = Dedupe(name="once-1", unit=DocumentUnits(), sources=("papers/v0",), buckets=2)
