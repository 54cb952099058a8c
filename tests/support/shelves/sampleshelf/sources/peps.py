"""Python's enhancement proposals: reStructuredText with header fields."""

from samplefolder import sample

from gristmill.readers.files.headed_texts import HeadedTexts
from gristmill.recipes.source import Everything, Source

PEPS = Source(
    name="peps",
    description="736 Python enhancement proposals",
    licence="CC0-1.0 OR public domain, as each says",
    convert=HeadedTexts(source="peps", id_field="PEP", id_template="pep-{}", created_field="Created"),
    partition=Everything(),
    snapshots="replace",
    raw=sample("peps"),
)
