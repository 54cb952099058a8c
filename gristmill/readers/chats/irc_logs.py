"""Reads logs of IRC channels: a file for each day, a line for each message, such as `[04:05] <ann> hello`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.readers.files.raw_files import FileDocuments
from gristmill.readers.text import Unfit, fit_text, plain_text
from gristmill.readers.zip_archive import Member
from gristmill.recipes.option_types import check_pattern
from gristmill.recipes.raw_object import Converted, RawObject
from gristmill.recipes.reader import RowIds

_SPOKEN = re.compile(r"^\[?\d{1,2}:\d{2}(?::\d{2})?\]?\s*<[ @+%&~]?([^>\s]+)>", re.MULTILINE)
_EVENTS = re.compile(r"^(?:===|\[?\d{1,2}:\d{2}(?::\d{2})?\]?\s*(?:\*\*\*|-!-)).*(?:\n|\Z)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class IrcLogs(FileDocuments):
    """Reads each file of logs as one document. Use it as the `convert` of a source.

    The raw objects are tar or zip archives, or single files. The id is the file's path. Metadata are `kind` (`irc`),
    `path`, `speakers` (how many wrote) and, in archives of git, `commit`.

    Attributes:
        select: a pattern for the names of an archive's files; others are not read. Its group `day` is the date, which
            becomes `created`: year, month and day, with or without a sign between them.
        events: whether lines that nobody wrote are kept, such as `=== ann has joined`.
    """

    select: str = r"(?P<day>\d{4}-\d{2}-\d{2})[^/]*\.(txt|log)$"
    events: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        title = f"IrcLogs of source {self.source!r}: select"
        if "day" not in check_pattern(self.select, title).groupindex:
            raise RecipeError(f"{title} is {self.select!r}; give it a group (?P<day>...)")

    def row_ids(self) -> RowIds:
        return RowIds("path")

    def wants(self, name: str) -> bool:
        """Whether the pattern takes the name."""
        return re.search(self.select, name) is not None

    def documents(self, file: Member, raw: RawObject) -> Iterator[Converted]:  # noqa: ARG002 - see FileDocuments
        found = re.search(self.select, file.name)
        digits = re.sub(r"\D", "", found["day"] or "") if found else ""
        if len(digits) != len("20250131"):
            raise Unfit("no date in the name", f"{self.select!r} finds no year, month and day")
        text = plain_text(file.raw)
        if not self.events:
            text = fit_text(_EVENTS.sub("", text))
        speakers = len(set(_SPOKEN.findall(text)))
        yield Document(
            id=file.name,
            text=text,
            source=self.source,
            created=f"{digits[:4]}-{digits[4:6]}-{digits[6:]}T00:00:00Z",
            metadata={"kind": "irc", "path": file.name, "speakers": speakers}
            | ({"commit": file.comment} if file.comment else {}),
        )
