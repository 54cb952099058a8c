"""Stack Exchange threads as RedPajama distributed them: a text and its metadata in each line."""

from samplefolder import sample

from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.source import Everything, Source

FORUM = Source(
    name="forum",
    description="70 question threads of Stack Exchange in several languages, as RedPajama distributed them",
    licence="CC-BY-SA-4.0",
    convert=JsonLines(source="forum", id_key=None),
    select=r"\.jsonl\.gz$",
    partition=Everything(),
    raw=sample("forum"),
)
