from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import Hashed, Source

NOTES = Source(name="notes", convert=DolmaLines("notes"), shards=Hashed(2))
