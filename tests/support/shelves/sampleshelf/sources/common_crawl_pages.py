"""Common Crawl of 2020 and 2024: the main text of its pages, from WARC files."""

from samplefolder import sample

from gristmill.readers.web.pages import WarcPages
from gristmill.recipes.source import Source

PAGES = Source(
    name="common-crawl-pages",
    description="17 pages of two crawls, their main text by resiliparse",
    licence="the pages are their publishers'; Common Crawl's terms of use apply",
    convert=WarcPages(source="common-crawl-pages", extractor="resiliparse"),
    select=r"\.warc\.gz$",
    raw=sample("common-crawl"),
)
