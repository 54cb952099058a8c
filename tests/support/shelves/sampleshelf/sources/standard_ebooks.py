"""A book of Standard Ebooks: the sources of its EPUB file."""

from samplefolder import sample

from gristmill.readers.books.epub import EpubBooks
from gristmill.recipes.source import Everything, Source

STANDARD_EBOOKS = Source(
    name="standard-ebooks",
    description="Pride and Prejudice as Standard Ebooks edited it, a chapter each",
    licence="CC0-1.0",
    convert=EpubBooks(source="standard-ebooks", unit="chapter"),
    select=r"\.tar\.gz$",
    partition=Everything(),
    raw=sample("books", "standardebooks"),
)
