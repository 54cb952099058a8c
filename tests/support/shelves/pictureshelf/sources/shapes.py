"""Drawn pictures with captions: a line of JSON names the file of its picture."""

from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.row_format import Text
from gristmill.recipes.source import Everything, Source

SHAPES = Source(
    name="shapes",
    owners=("team:post",),
    convert=JsonLines(source="shapes", id_key="id", format=Text(text_key="caption")),
    select=r"\.jsonl$",
    partition=Everything(),
)
