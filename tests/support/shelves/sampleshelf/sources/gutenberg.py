"""Books of Project Gutenberg: plain text in three languages and two encodings."""

from samplefolder import sample

from gristmill.readers.books.gutenberg import GutenbergTexts
from gristmill.recipes.source import Everything, Source

GUTENBERG = Source(
    name="gutenberg",
    description="Four books of Project Gutenberg, without their headers and licences",
    licence="public domain in the United States",
    convert=GutenbergTexts(source="gutenberg"),
    select=r"\.txt\.gz$",
    partition=Everything(),
    raw=sample("books", "gutenberg"),
)
