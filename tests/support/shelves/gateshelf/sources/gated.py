from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import Source

GATED = Source(name="gated", convert=DolmaLines("gated"))
