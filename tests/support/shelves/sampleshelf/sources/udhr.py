"""The Universal Declaration of Human Rights in about 500 languages."""

from samplefolder import sample

from gristmill.readers.files.html_files import HtmlFiles
from gristmill.recipes.source import Everything, Source

UDHR = Source(
    name="udhr",
    description="The Universal Declaration of Human Rights, a document for each language",
    licence="free to reproduce",
    convert=HtmlFiles(source="udhr", groups=r"(?P<udhr>[^/]+)\.html$"),
    select=r"^udhr-.*\.tar\.gz$",
    partition=Everything(),
    snapshots="replace",
    raw=sample("multilingual"),
)
