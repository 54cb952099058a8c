from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import SentenceUnits

CONFIRMED = Dedupe(name="confirmed-1", unit=SentenceUnits(count=1), sources=("pages/v0",), buckets=2, confirm=True)
