"""Crawls by wget of 2013 and 2024, with images, redirects and robots.txt among the pages."""

from samplefolder import sample

from gristmill.readers.web.pages import WarcPages
from gristmill.recipes.source import Source

WGET = Source(
    name="wget-crawl",
    description="39 pages of three crawls by wget",
    licence="the pages are their publishers'",
    convert=WarcPages(source="wget-crawl"),
    select=r"\.warc\.gz$",
    raw=sample("wget-crawl"),
)
