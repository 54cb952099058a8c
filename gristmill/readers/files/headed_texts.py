"""Reads text files that begin with header fields, such as Python's PEPs in reStructuredText.

The fields have the form of mail headers (RFC 822): a name, a colon and a value, one field on a line. A line that begins
with white space continues the value. The first empty line ends the header.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from msgspec import UNSET

from gristmill.lake.rows.document import Document
from gristmill.readers.files.raw_files import FileDocuments
from gristmill.readers.mapping.fields import TAKEN, RowTrouble, beside
from gristmill.readers.text import Unfit, fit_text, plain_text
from gristmill.readers.zip_archive import Member
from gristmill.recipes.option_types import check_pattern
from gristmill.recipes.raw_object import Converted, RawObject
from gristmill.recipes.reader import RowIds

_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9-]*):[ \t]*(.*)")


def split_text_header(text: str) -> tuple[dict[str, str], str]:
    r"""The header fields of a text, and the text behind them.

    Args:
        text: the file, with any line ends.

    Returns:
        The fields by their names as written, and the body. White space in values becomes single spaces.

    Raises:
        Unfit: "malformed header", with the line number: a line is not a field, or a field is there twice.

    >>> split_text_header("PEP: 8\nAuthor: Ann,\n  Ben\n\nText\n")
    ({'PEP': '8', 'Author': 'Ann, Ben'}, 'Text\n')
    """
    fields: dict[str, list[str]] = {}
    last, start = "", 0
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        start += len(line)
        if not line.strip():
            break
        match = _FIELD.match(line)
        if line[0] in " \t" and last:
            fields[last] += line.split()
        elif match is None or match[1] in fields:
            why = "not a field, such as `Title: words`" if match is None else f"a second {match[1]}"
            raise Unfit("malformed header", f"line {number}: {why}")
        else:
            last = match[1]
            fields[last] = [match[2].strip()]
    joined = {name: " ".join(" ".join(each).split()) if len(each) > 1 else each[0] for name, each in fields.items()}
    return joined, text[start:].lstrip("\r\n")


@dataclass(frozen=True, kw_only=True)
class HeadedTexts(FileDocuments):
    r"""Reads each text file as one document, its header fields as metadata. Use it as the `convert` of a source.

    The raw objects are tar or zip archives, or single files. Metadata are `path`, in archives of git `commit`, and the
    fields, by their names in lower case with `_` for `-`. A file in which two of these have one name is refused.

    Attributes:
        select: a pattern for the names of an archive's files; others are not read.
        id_field: the field that gives the id. None: the file's path.
        id_template: format string for the id, with one `{}` for the field's value.
        created_field: the field with the date of the document; None: no such field.
        created_format: its form, as in Python's `strptime`.
        names: other names for fields in the metadata, such as `{"Author": "authors"}`.
        header: whether the document's text begins with the header, as in the file.
    """

    select: str = r"\.(rst|txt)$"
    id_field: str | None = None
    id_template: str = "{}"
    created_field: str | None = None
    created_format: str = "%d-%b-%Y"
    names: Mapping[str, str] = field(default_factory=dict)
    header: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pattern(self.select, f"HeadedTexts of source {self.source!r}: select")

    def row_ids(self) -> RowIds | None:
        return RowIds("path") if self.id_field is None else None

    def wants(self, name: str) -> bool:
        """Whether the pattern takes the name."""
        return re.search(self.select, name) is not None

    def documents(self, file: Member, raw: RawObject) -> Iterator[Converted]:  # noqa: ARG002 - see FileDocuments
        text = plain_text(file.raw)
        fields, body = split_text_header(text)
        mend = "give the header field another name in names"
        metadata: dict[str, Any] = {}
        for key, value in fields.items():
            name = self.names.get(key, key.lower().replace("-", "_"))
            if name in metadata:
                raise RowTrouble(TAKEN, f"{name}; {mend}")
            metadata[name] = value
        ours = {"path": file.name, "commit": file.comment} if file.comment else {"path": file.name}
        yield Document(
            id=file.name if self.id_field is None else self.id_template.format(_required_field(fields, self.id_field)),
            text=text if self.header else fit_text(body),
            source=self.source,
            created=UNSET
            if self.created_field is None
            else self._created_date(_required_field(fields, self.created_field)),
            metadata=beside(metadata, ours, mend),
        )

    def _created_date(self, value: str) -> str:
        try:
            return datetime.strptime(value, self.created_format).strftime("%Y-%m-%dT00:00:00Z")  # noqa: DTZ007 - a day
        except ValueError as error:
            raise Unfit("malformed date", f"{self.created_field}: {error}") from error


def _required_field(fields: Mapping[str, str], name: str) -> str:
    """A field that a document needs."""
    if not fields.get(name):
        raise Unfit(f"no field {name!r}", f"it has: {', '.join(fields) or 'no field'}")
    return fields[name]
