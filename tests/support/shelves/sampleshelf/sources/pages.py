"""Short pages of Markdown in an archive; the folder names the language."""

from samplefolder import sample

from gristmill.readers.texts import TextFiles
from gristmill.recipes.source import Everything, Source

PAGES = Source(
    name="pages",
    description="17,972 pages of tldr-pages in many languages, with many near-duplicates",
    licence="CC-BY-4.0",
    homepage="https://github.com/tldr-pages/tldr",
    convert=TextFiles(
        source="pages",
        members=r"^pages.*\.md$",
        groups=r"^pages(\.(?P<language>[A-Za-z_]+))?/",
        metadata={"language": "en", "license": "CC-BY-4.0"},
        title=True,
        archive_in_id=False,
    ),
    select=r"tldr-pages\.tar\.gz$",
    partition=Everything(),
    raw=sample("multilingual"),
)
