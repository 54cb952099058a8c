"""Common Crawl of 2024: the text of a page as its WET file has it."""

from samplefolder import sample

from gristmill.readers.web.wet import WetPages
from gristmill.recipes.source import Source

TEXTS = Source(
    name="common-crawl-texts",
    description="One page as Common Crawl's plain text",
    licence="the pages are their publishers'; Common Crawl's terms of use apply",
    convert=WetPages(source="common-crawl-texts"),
    select=r"\.warc\.wet\.gz$",
    raw=sample("common-crawl"),
)
