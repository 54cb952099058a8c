"""Conversations of Taskmaster-4: one JSON array, with the turns of each conversation in a field."""

from samplefolder import sample

from gristmill.readers.json_array import JsonArray
from gristmill.readers.mapping.turns import Turns
from gristmill.recipes.row_format import Chat
from gristmill.recipes.source import Everything, Source

TASKMASTER = Source(
    name="taskmaster",
    description="210 conversations about orders, written by crowd workers",
    licence="CC-BY-4.0",
    homepage="https://github.com/google-research-datasets/Taskmaster",
    convert=JsonArray(
        source="taskmaster",
        id_key="conversation_id",
        format=Chat(),
        turns=Turns(column="utterances", role_key="speaker", content_key="text"),
    ),
    select=r"\.json\.gz$",
    partition=Everything(),
    raw=sample("chat", "taskmaster"),
)
