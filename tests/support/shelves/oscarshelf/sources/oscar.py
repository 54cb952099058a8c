"""A release of OSCAR 22.01 in the lake, with its checksum files."""

from gristmill.readers.oscar.lines import CHECKSUMS, PARTS, OscarLines
from gristmill.recipes.source import Source

OSCAR = Source(
    name="oscar",
    convert=OscarLines(source="oscar", schema="22.01", added="2022-01-10"),
    select=PARTS,
    checksums=CHECKSUMS,
)
