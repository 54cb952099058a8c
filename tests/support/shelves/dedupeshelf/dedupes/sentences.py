from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import SentenceUnits

SENTENCES = Dedupe(name="sentences-1", unit=SentenceUnits(), sources=("pages/v0",), buckets=2)
