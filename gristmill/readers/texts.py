"""Plain text and Markdown: one file is one document. The files may be packed, or lie in tar and zip archives.

Markdown may begin with front matter: lines of YAML between two lines `---`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.shard_file import lower_suffix
from gristmill.readers.archive import is_archive, refused_member
from gristmill.readers.files.raw_files import raw_files
from gristmill.readers.mapping.front_matter import first_markdown_heading, split_front_matter
from gristmill.readers.text import OTHER_ENCODING, Unfit, check_encoding, decoded_text
from gristmill.readers.zip_archive import Member
from gristmill.recipes.option_types import Json, check_pattern, check_types
from gristmill.recipes.raw_object import Converted, LeftOut, RawObject, Refused
from gristmill.recipes.reader import Reader, RowIds

MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".rmd", ".qmd"})
"""The endings of Markdown files."""
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True, kw_only=True)
class TextFiles(Reader):
    """Reads each file as one document. Use it as the `convert` of a source.

    The id is the path of the file below its snapshot, without the ending of its packing. For a file in an archive, it
    is the path of the archive, a slash, and the path in the archive. The text is not changed, but for its byte order
    mark and its front matter. The metadata hold `path`, the path in the archive or below the snapshot, and `commit`, if
    the comment of the archive is a commit id.

    A file that is not text in the declared encoding is refused, with the place of its first wrong byte. Files without
    text, and files of an archive that `members` does not want, are left out and counted.

    Attributes:
        source: name of the source.
        encoding: text encoding of the files.
        members: a pattern for the paths of files in an archive; only matching ones are read. None: all.
        archive_in_id: whether the id of a file in an archive begins with the path of the archive. Without it, the paths
            in all archives of the source must be distinct.
        groups: a pattern that is searched in `path`. Its named groups become metadata: r"^(?P<language>[a-z]+)/".
            A group `language` gets `-` in place of `_`, as in BCP 47.
        metadata: metadata of every document; groups take precedence.
        front_matter: whether Markdown may begin with front matter. It becomes the metadata's `front_matter`: an object
            whose values are strings as they are written, or lists and objects of such. The text begins behind it.
            An empty block stays in the text: it may be two rules.
        title: whether the title of Markdown becomes the metadata's `title`: that of the front matter, or the first
            heading.
        added: the time of acquisition of all documents.
    """

    source: str
    encoding: str = "utf-8"
    members: str | None = None
    archive_in_id: bool = True
    groups: str | None = None
    metadata: Json = field(default_factory=dict)
    front_matter: bool = False
    title: bool = False
    added: str | None = None

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one is of another type, a pattern is wrong, or Python knows no such encoding.
        """
        what = f"TextFiles of source {self.source!r}"
        check_types(self, what)
        for name, pattern in (("members", self.members), ("groups", self.groups)):
            if pattern is not None:
                check_pattern(pattern, f"{what}: {name}")
        if self.groups is not None and not re.compile(self.groups).groupindex:
            raise RecipeError(f"{what}: groups is {self.groups!r}; give it a named group, such as (?P<language>...)")
        check_encoding(self.encoding, f"{what}: encoding")

    def row_ids(self) -> RowIds:
        return RowIds("path", in_archive=self.archive_in_id)

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per file: a document, or why it was refused.

        See gristmill.recipes.source.Source.convert.
        """
        others = 0

        def accept(name: str) -> bool:
            nonlocal others
            accepted = self.members is None or re.search(self.members, name) is not None
            others += not accepted
            return accepted

        for file in raw_files(raw, accept):
            yield refused_member(raw, file) if file.refused else self._file_document(file, raw)
        if others:
            yield LeftOut("not among the wanted members", others)

    def _file_document(self, file: Member, raw: RawObject) -> Converted:
        inside = is_archive(raw.path)
        found = re.search(self.groups, file.name) if self.groups is not None else None
        groups = {name: value for name, value in found.groupdict().items() if value is not None} if found else {}
        metadata: dict[str, Any] = {**self.metadata, "path": file.name}
        if _COMMIT.fullmatch(file.comment):
            metadata["commit"] = file.comment
        if "language" in groups:
            groups["language"] = groups["language"].replace("_", "-")
        metadata |= groups
        try:
            text = decoded_text(file.raw, self.encoding)
            if lower_suffix(file.name) in MARKDOWN:
                text = self._text_behind_front_matter(text, metadata)
        except Unfit as error:
            if error.reason == "empty text":
                return LeftOut(error.reason)
            where = f"{raw.name} entry {file.name}" if inside else raw.name
            detail = error.detail
            if error.reason == f"not {self.encoding}":
                detail += OTHER_ENCODING
            return Refused(error.reason, f"{where} ({detail})" if detail else where, file.raw)
        added = UNSET if self.added is None else self.added
        made_id = f"{raw.name}/{file.name}" if inside and self.archive_in_id else file.name
        return Document(id=made_id, text=text, source=self.source, added=added, metadata=metadata)

    def _text_behind_front_matter(self, text: str, metadata: dict[str, Any]) -> str:
        """The text behind the front matter. What the options want to know is added to the metadata."""
        title = None
        if self.front_matter:
            matter, text = split_front_matter(text)
            if matter:
                metadata["front_matter"] = matter
                title = matter.get("title")
        if self.title:
            title = title if isinstance(title, str) and title else first_markdown_heading(text)
            if title:
                metadata["title"] = title
        return text
