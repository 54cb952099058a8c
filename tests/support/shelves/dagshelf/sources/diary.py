from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import Source

DIARY = Source(name="diary", convert=DolmaLines("diary"), snapshots="replace")
