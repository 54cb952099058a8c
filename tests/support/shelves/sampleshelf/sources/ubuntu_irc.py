"""Logs of Ubuntu's IRC channel, a day a document."""

from samplefolder import sample

from gristmill.readers.chats.irc_logs import IrcLogs
from gristmill.recipes.source import Everything, Source

UBUNTU_IRC = Source(
    name="ubuntu-irc",
    description="63 days of the #ubuntu channel, 2004 to 2007",
    licence="CC-BY-4.0",
    convert=IrcLogs(source="ubuntu-irc"),
    partition=Everything(),
    raw=sample("chat", "ubuntu-irc"),
)
