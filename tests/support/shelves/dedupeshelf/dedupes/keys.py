from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import KeyUnits

KEYS = Dedupe(name="hosts-1", unit=KeyUnits(key="metadata.host"), sources=("pages/v0",), scope="snapshot", buckets=2)
