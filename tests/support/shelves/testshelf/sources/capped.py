"""A source of rows that have at most 1,000 bytes, in objects that unpack to hardly more than any may."""

from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import Hashed, Source

CAPPED = Source(name="capped", convert=DolmaLines("capped"), shards=Hashed(1), row_limit=1000, unpack_limit=1)
