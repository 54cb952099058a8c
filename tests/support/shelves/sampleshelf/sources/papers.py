"""Papers of PubMed Central in JATS."""

from samplefolder import sample

from gristmill.readers.papers.jats import JatsArticles
from gristmill.recipes.source import Everything, Source

PAPERS = Source(
    name="papers",
    description="Two papers of PubMed Central",
    licence="CC-BY-4.0",
    convert=JatsArticles(source="papers"),
    select=r"\.nxml\.gz$",
    partition=Everything(),
    raw=sample("papers"),
)
