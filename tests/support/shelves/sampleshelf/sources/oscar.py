"""OSCAR 22.01: real lines of three languages in the layout of the release, with its checksum files."""

from samplefolder import sample

from gristmill.readers.oscar.lines import CHECKSUMS, PARTS, OscarLines
from gristmill.recipes.source import Source

OSCAR = Source(
    name="oscar-2201",
    description="28 documents of OSCAR 22.01 in English, French and Chinese, made of Common Crawl of September 2021",
    licence="CC0-1.0 (the packaging; the texts are their publishers')",
    convert=OscarLines(source="oscar-2201", schema="22.01"),
    select=PARTS,
    checksums=CHECKSUMS,
    raw=sample("oscar"),
)
