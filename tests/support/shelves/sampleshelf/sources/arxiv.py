"""Papers of arXiv in LaTeX, as RedPajama distributed them."""

from samplefolder import sample

from gristmill.readers.papers.latex import LatexLines
from gristmill.recipes.source import Everything, Source

ARXIV = Source(
    name="arxiv",
    description="11 papers and parts of papers in LaTeX",
    licence="of their authors",
    convert=LatexLines(
        source="arxiv",
        id_template="{meta.arxiv_id}",
        created_key="meta.timestamp",
        time_unit="ms",
        rename={"meta.arxiv_id": "arxiv", "meta.url": "url", "meta.language": "language"},
    ),
    select=r"^arxiv.*\.jsonl\.gz$",
    partition=Everything(),
    raw=sample("papers"),
)
