"""Conversation trees of OpenAssistant: every path from a prompt to an answer."""

from samplefolder import sample

from gristmill.readers.chats.reply_trees import ReplyTrees
from gristmill.recipes.source import Everything, Source

OASST = Source(
    name="oasst",
    description="100 conversation trees of OpenAssistant",
    licence="Apache-2.0",
    convert=ReplyTrees(source="oasst"),
    select=r"\.jsonl\.gz$",
    partition=Everything(),
    raw=sample("chat", "oasst"),
)
