from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import ParagraphUnits

LINES = Dedupe(name="lines-1", unit=ParagraphUnits(), sources=("pages/v0",), buckets=2)
