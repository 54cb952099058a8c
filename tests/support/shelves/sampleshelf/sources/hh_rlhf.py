"""Pairs of conversations between people and an assistant, as strings with Human: and Assistant: before each turn."""

from samplefolder import sample

from gristmill.readers.chats.marked_turns import MarkedTurns
from gristmill.recipes.source import Everything, Source

HH_RLHF = Source(
    name="hh-rlhf",
    description="2,312 pairs of a chosen and a rejected conversation; many are offensive on purpose",
    licence="MIT",
    convert=MarkedTurns(source="hh-rlhf", keys=("chosen", "rejected")),
    select=r"\.jsonl\.gz$",
    partition=Everything(),
    raw=sample("chat", "hh-rlhf"),
)
