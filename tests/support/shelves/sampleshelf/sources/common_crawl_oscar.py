"""Common Crawl of 2024: the text of its WET file, as OSCAR's generator makes documents of it."""

from samplefolder import sample

from gristmill.readers.web.oscar_split import OscarFromWet
from gristmill.recipes.source import Source

LINES = Source(
    name="common-crawl-oscar",
    description="The plain text of one page, as OSCAR's generator judges it",
    licence="the pages are their publishers'; Common Crawl's terms of use apply",
    convert=OscarFromWet(source="common-crawl-oscar"),
    select=r"\.warc\.wet\.gz$",
    raw=sample("common-crawl"),
)
