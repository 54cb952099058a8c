"""Logs of IRC channels, a day a file."""

import io
import tarfile
from pathlib import Path

import pytest
from talklake import talk_file

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.chats.irc_logs import IrcLogs
from gristmill.recipes.raw_object import LeftOut, Refused

LOG = "[04:04] <ann> hi\n=== ben has joined\n[04:05] <@ben> ho\n[04:06] <ann> <b>\n"


def tarred(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", pax_headers={"comment": "c0ffee"}) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def test_a_day_is_a_document_and_its_date_is_that_of_the_name(tmp_path: Path) -> None:
    data = tarred({"logs/2005-02-06.raw.txt": LOG.encode(), "LICENSE": b"x", "logs/2005-02-07.raw.txt": b"\xff"})
    raw = talk_file(tmp_path, "irc.tar.gz", data)
    convert = IrcLogs(source="talks")(raw)
    assert next(convert) == Document(
        id="logs/2005-02-06.raw.txt",
        text=LOG,
        source="talks",
        created="2005-02-06T00:00:00Z",
        metadata={"kind": "irc", "path": "logs/2005-02-06.raw.txt", "speakers": 2, "commit": "c0ffee"},
    )
    assert raw.take_raw_span() == RawSpan(0, len(LOG), "logs/2005-02-06.raw.txt")
    assert list(convert) == [
        Refused(
            "not utf-8",
            "irc.tar.gz entry logs/2005-02-07.raw.txt (at byte 0)",
            b"\xff",
            offset=0,
            member="logs/2005-02-07.raw.txt",
        ),
        LeftOut("not among the wanted members"),
    ]


def test_events_may_be_left_out_and_single_files_are_read(tmp_path: Path) -> None:
    raw = talk_file(tmp_path, "ubuntu/20050206.log", LOG.encode())
    (made,) = IrcLogs(source="talks", events=False, select=r"(?P<day>\d{8})\.log$")(raw)
    assert isinstance(made, Document)
    assert (made.text.count("\n"), made.created) == (3, "2005-02-06T00:00:00Z")


def test_a_name_without_a_date_is_refused_and_a_pattern_without_a_day_is_an_error(tmp_path: Path) -> None:
    (bad,) = IrcLogs(source="talks")(talk_file(tmp_path, "today.log", LOG.encode()))
    assert isinstance(bad, Refused)
    assert bad.reason == "no date in the name"
    with pytest.raises(RecipeError, match="give it a group"):
        IrcLogs(source="talks", select=r"\.log$")
