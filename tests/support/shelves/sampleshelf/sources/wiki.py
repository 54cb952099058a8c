"""Dumps of three wikis: the whole Latgalian one, the beginning of the English one, and a Bulgarian one in UTF-16."""

from samplefolder import sample

from gristmill.readers.wiki.pages import MediaWikiPages
from gristmill.recipes.source import Source

WIKI = Source(
    name="wiki",
    description="Articles of Wikipedia in Latgalian, English and Bulgarian; a snapshot for each wiki",
    licence="CC-BY-SA-3.0",
    convert=MediaWikiPages(source="wiki", ids="wiki"),
    select=r"\.xml\.bz2$",
    raw=sample("wiki"),
)
