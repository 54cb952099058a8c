"""A release of OSCAR 23.01 in the lake."""

from gristmill.readers.oscar.lines import CHECKSUMS, PARTS, OscarLines
from gristmill.recipes.source import Source

OSCAR_2301 = Source(
    name="oscar-2301", convert=OscarLines(source="oscar-2301", schema="23.01"), select=PARTS, checksums=CHECKSUMS
)
