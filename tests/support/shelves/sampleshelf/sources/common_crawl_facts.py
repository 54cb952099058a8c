"""Common Crawl of 2024: its WAT file. The sample has facts about a request alone, so there is no document."""

from samplefolder import sample

from gristmill.readers.web.wet import WatPages
from gristmill.recipes.source import Source

FACTS = Source(
    name="common-crawl-facts",
    description="Facts about the request of one page: no document",
    licence="the pages are their publishers'; Common Crawl's terms of use apply",
    convert=WatPages(source="common-crawl-facts"),
    select=r"\.warc\.wat\.gz$",
    raw=sample("common-crawl"),
)
