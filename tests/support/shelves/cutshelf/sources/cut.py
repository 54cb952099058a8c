"""Sources whose objects of more than 4,000 bytes are cut into parts."""

from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.source import Source, Split

CUT = Source(name="cut", convert=JsonLines(source="cut"), shards=Split(bytes=4000))
