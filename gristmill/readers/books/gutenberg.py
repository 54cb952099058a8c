"""Reads books of Project Gutenberg: plain text between a header with metadata and a licence.

The header begins with a sentence that names the book. Its fields follow: `Title:`, `Author:`, `Language:`, `Release
Date: ... [EBook #1342]`, `Character set encoding:`. The book is between the lines `*** START OF ... ***` and
`*** END OF ... ***`. Older files begin it with `*END*THE SMALL PRINT!`, and end it with `End of Project Gutenberg's`.
Many files have these words directly before `*** END OF`; they are no part of the book either. Elsewhere they are.

Behind the end there are a few lines about the file, and the licence. What else is there was lost without a word: a
transcriber's note, or a part of the book behind a mark that stands too early. So it is counted.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from msgspec import UNSET

from gristmill.lake.rows.document import Document
from gristmill.readers.files.raw_files import FileDocuments, refused_file
from gristmill.readers.mapping.fields import beside
from gristmill.readers.text import OTHER_ENCODING, Unfit, fit_text, text_as_declared
from gristmill.readers.zip_archive import Member
from gristmill.recipes.option_types import check_pattern
from gristmill.recipes.raw_object import Converted, RawObject

LICENCE = "LicenseRef-Project-Gutenberg"
"""The licence of the files as a whole. The books' own texts are in the public domain of the United States."""

BEHIND = "characters behind the book"
"""The counter for text behind the end of a book."""

_HEAD = 64 << 10
_START = re.compile(
    r"^[ \t]*(?:\*{3} ?START OF (?:THE|THIS) PROJECT GUTENBERG[^\n]*(?:\n[^\n*]+)?\*{3}"
    r"|\*END\*? ?THE SMALL PRINT!?[^\n]*\*END\*)[ \t]*\r?\n?",
    re.MULTILINE | re.IGNORECASE,
)
_END = re.compile(r"^[ \t]*\*{3} ?END OF (?:THE|THIS) PROJECT GUTENBERG", re.MULTILINE | re.IGNORECASE)
_OLD_END = re.compile(r"^[ \t]*End of (?:The |This )?Project Gutenberg\b", re.MULTILINE | re.IGNORECASE)
_END_LINE = re.compile(r"[ \t]*\*{3}[^\n]*(?:\n[^\n*]+)?\*{3}[ \t]*\n?|[^\n]*\n?")
"""The mark itself, which may take two lines; or the line of an old mark."""
_LICENCE = re.compile(
    r"^[ \t]*(?:\*{3} ?START: FULL LICENSE|START: FULL LICENSE|Updated editions will replace the previous one"
    r"|Creating the works from (?:public domain )?print editions)",
    re.MULTILINE | re.IGNORECASE,
)
_LICENCE_END = re.compile(
    r"subscribe\s+to\s+our\s+email\s+newsletter\s+to\s+hear\s+about\s+new\s+eBooks\.", re.IGNORECASE
)
_ABOUT_FILE = re.compile(
    r"^[ \t]*(?:\*{3,} ?This file should be named|This and all associated files|Produced by"
    r"|End of (?:the |this )?Project)[^\n]*\n(?:[ \t]*\S[^\n]*(?:\n|\Z))*",
    re.MULTILINE | re.IGNORECASE,
)
"""Paragraphs behind the end that say where the file is, and who has made it."""
_FIELD = re.compile(r"([A-Z][A-Za-z ]{2,30}):[ \t]*(\S.*)?")
_INNER = re.compile(r"(?<![ \t])[ \t]+(?=(?:Last Updated|Most recently updated|Release Date|Posting Date):)")
_NUMBER = re.compile(r"\[\s*(?:EBook|EText|E-?text)[^\[\]#]*#\s*(\d+)", re.IGNORECASE)
_ENCODING = re.compile(rb"^Character set encoding:[ \t]*([^\r\n]+)", re.MULTILINE | re.IGNORECASE)
_RELEASED = re.compile(r"[A-Z][a-z]+ \d{1,2}, \d{4}|[A-Z][a-z]+,? \d{4}")
_LANGUAGES = {
    "afrikaans": "af", "arabic": "ar", "bulgarian": "bg", "catalan": "ca", "chinese": "zh", "czech": "cs",
    "danish": "da", "dutch": "nl", "english": "en", "esperanto": "eo", "estonian": "et", "finnish": "fi",
    "french": "fr", "frisian": "fy", "friulian": "fur", "galician": "gl", "german": "de", "greek": "el", "hebrew": "he",
    "hungarian": "hu", "icelandic": "is", "iloko": "ilo", "interlingua": "ia", "irish": "ga", "italian": "it",
    "japanese": "ja", "korean": "ko", "latin": "la", "lithuanian": "lt", "maori": "mi", "norwegian": "no",
    "occitan": "oc", "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru", "sanskrit": "sa",
    "scots": "sco", "serbian": "sr", "slovenian": "sl", "spanish": "es", "swedish": "sv", "tagalog": "tl",
    "telugu": "te", "turkish": "tr", "welsh": "cy", "yiddish": "yi",
}  # fmt: skip
_CONTROLS = re.compile("[\x80-\x9f]")  # bytes that windows-1252 uses for letters and quotation marks
_ENCODINGS = {
    "unicode utf-8": "utf-8",
    "ascii, with a few iso-8859-1 characters": "iso-8859-1",
    **dict.fromkeys(("iso latin-1", "iso-latin-1"), "iso-8859-1"),
    **dict.fromkeys(("cp-1252", "windows codepage 1252"), "windows-1252"),
    "iso-646-us": "us-ascii",
}
"""Names of encodings in headers that Python does not know, in lower case, without what is in brackets."""
_BRACKETS = re.compile(r"\s*\([^()]*\)$")


@dataclass(frozen=True, kw_only=True)
class GutenbergTexts(FileDocuments):
    """Reads each book as one document, without Project Gutenberg's header and licence. Use it as a source's `convert`.

    The raw objects are text files, or tar or zip archives of them. The id is the number of the book, such as
    `gutenberg-1342`. Metadata are `gutenberg` (the number), `title`, `authors`, `language` (BCP 47), `license`,
    `kind` (`book`), `path`, and the other fields of the header by their names in lower case with `_`. `created` is the
    release date, if it names a day. Line ends become line feeds. A book whose header has a field of one of these names
    is refused.

    Text behind the end that is not Project Gutenberg's is no part of the document. `characters behind the book` counts
    it, without white space.

    Attributes:
        select: a pattern for the names of an archive's files; others are not read.
        encoding: text encoding of files that do not state theirs.
        credits: whether the lines that name the book's producers are kept.
    """

    select: str = r"\.txt$"
    encoding: str = "utf-8"
    credits: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pattern(self.select, f"GutenbergTexts of source {self.source!r}: select")

    def wants(self, name: str) -> bool:
        """Whether the pattern takes the name."""
        return re.search(self.select, name) is not None

    def documents(self, file: Member, raw: RawObject) -> Iterator[Converted]:
        try:
            yield self._book_document(file, raw)
        except Unfit as unfit:
            number = _NUMBER.search(file.raw[:_HEAD].decode("latin-1"))
            yield refused_file(raw, file, unfit)._replace(id=f"gutenberg-{number[1]}" if number else "")

    def _book_document(self, file: Member, raw: RawObject) -> Document:
        text = _decode_stated_encoding(file.raw, self.encoding).replace("\r\n", "\n")
        start = _START.search(text)
        if start is None:
            raise Unfit("no start of the book", "no line `*** START OF THE PROJECT GUTENBERG EBOOK ... ***`")
        head, (body, rest) = text[: start.start()], _cut_book_body(text, start.end())
        if _START.search(text, start.end()):
            raise Unfit("two books in one file", "a second line `*** START OF THE PROJECT GUTENBERG EBOOK ... ***`")
        if behind := _foreign_character_count(rest):
            raw.count(BEHIND, behind)
        fields = _header_fields(head)
        number = _NUMBER.search(head)
        if number is None:
            raise Unfit("no number of the book", "no `[EBook #...]` in the header")
        metadata: dict[str, Any] = {"gutenberg": number[1], "kind": "book", "license": LICENCE, "path": file.name}
        others = {name: "; ".join(values) for name, values in fields.items() if name not in {"author", "language"}}
        language = "; ".join(fields.get("language", ["und"]))
        ours = {"authors": fields.get("author", []), "language": _LANGUAGES.get(language.lower(), language)}
        metadata = beside(beside(metadata, others), ours)
        created = _parse_english_date(metadata.get("posting_date", "")) or _parse_english_date(
            metadata.get("release_date", "")
        )
        return Document(
            id=f"gutenberg-{number[1]}",
            text=fit_text((body if self.credits else _remove_producer_credits(body)).strip("\n")) + "\n",
            source=self.source,
            created=created or UNSET,
            metadata=metadata,
        )


_CREDITS = re.compile(
    r"\s*(?:Produced by|E-?text prepared by|Transcribed (?:from|by)|Credits:)[^\n]*\n(?:[ \t]*\S[^\n]*\n)*",
    re.IGNORECASE,
)


def _cut_book_body(text: str, start: int) -> tuple[str, str]:
    """The book from here to its end mark, without the words that may be directly before it; and what is behind it.

    Raises:
        Unfit: it has no end mark.
    """
    end = _END.search(text, start)
    if end is None:
        end = _OLD_END.search(text, start)
        if end is None:
            raise Unfit("no end of the book", "no line `*** END OF THE PROJECT GUTENBERG EBOOK ... ***`; truncated?")
        return text[start : end.start()], text[end.start() :]
    body = text[start : end.start()].rstrip()
    words = _OLD_END.search(body, body.rfind("\n\n") + 1)
    return f"{body[: words.start()]}\n" if words else text[start : end.start()], text[end.start() :]


def _foreign_character_count(rest: str) -> int:
    r"""The characters behind a book's end that are not Project Gutenberg's, without white space.

    Args:
        rest: the text from the end mark on.

    >>> licence = "Updated editions will replace the previous one. ... to hear\nabout new eBooks."
    >>> _foreign_character_count(f"*** END OF THE PROJECT GUTENBERG EBOOK X ***\n\n{licence}\n")
    0
    >>> _foreign_character_count(f"*** END OF THE PROJECT GUTENBERG EBOOK X ***\n\nA note.\n\n{licence}\n")
    6
    """
    rest = _END_LINE.sub("", rest, count=1)
    licence = _LICENCE.search(rest)
    if licence:
        end = _LICENCE_END.search(rest, licence.end())
        rest = rest[: licence.start()] + (rest[end.end() :] if end else "")
    return len("".join(_ABOUT_FILE.sub("", rest).split()))


def _decode_stated_encoding(data: bytes, encoding: str) -> str:
    """The text, in the encoding that the header states."""
    stated = _ENCODING.search(data[:_HEAD])
    name = stated[1].decode("ascii", "replace").strip().lower() if stated else encoding
    name = _BRACKETS.sub("", name)
    name = _ENCODINGS.get(name, name)
    if data.startswith(b"\xef\xbb\xbf"):
        name = "utf-8-sig"
    try:
        text = text_as_declared(data, name)
    except LookupError as error:
        raise Unfit("unknown encoding", f"the header states {name!r:.80}") from error
    except UnicodeError as error:
        mend = "" if stated or name == "utf-8-sig" else OTHER_ENCODING
        raise Unfit("not in its declared encoding", f"{name}: {error}{mend}") from error
    control = _CONTROLS.search(text) if codecs.lookup(name).name == "iso8859-1" else None
    if control:
        raise Unfit("not in its declared encoding", f"{name}: a control character at byte {control.start()}")
    return text


def _header_fields(head: str) -> dict[str, list[str]]:
    """The values of each field of a header, by its name in lower case with `_`.

    A line that is not a field continues the field before. A field may be there several times, such as an author.
    """
    fields: dict[str, list[list[str]]] = {}
    last = ""
    for line in _INNER.sub("\n", head).splitlines():
        match = _FIELD.fullmatch(line.strip()) if line[:1].strip() else None
        if match:
            last = match[1].lower().replace(" ", "_")
            fields.setdefault(last, []).append([(match[2] or "").strip()])
        elif last and line.strip():
            fields[last][-1].append(line.strip())
        else:
            last = ""
    return {name: [" ".join(lines).strip() for lines in given] for name, given in fields.items()}


def _parse_english_date(words: str) -> str:
    """A date such as `August 26, 2008` as RFC 3339; empty if it names no day."""
    found = _RELEASED.search(words)
    try:
        day = datetime.strptime(found[0] if found else "", "%B %d, %Y").replace(tzinfo=UTC)
    except ValueError:
        return ""
    return day.strftime("%Y-%m-%dT00:00:00Z")


def _remove_producer_credits(body: str) -> str:
    """A book without the paragraph that names its producers."""
    match = _CREDITS.match(body)
    return body[match.end() :] if match else body
