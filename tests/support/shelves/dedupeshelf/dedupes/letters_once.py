from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import DocumentUnits

LETTERS_ONCE = Dedupe(name="once-1", unit=DocumentUnits(), sources=("letters/v0",), buckets=2)
