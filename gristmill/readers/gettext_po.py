r"""Catalogues: translated strings out of gettext's `.po` files.

The format is GNU gettext's (manual, "The Format of PO Files"): entries of `msgctxt`, `msgid`, `msgid_plural`
and `msgstr`, strings quoted as in C and continued over lines, `#,` flags before an entry, `#~` before every
line of an obsolete one. An entry marked fuzzy is a guess that waits for a translator: no translation here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gristmill.readers.text import Unfit, fit_text

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LINE = re.compile(
    # A keyword and its string, or a string that goes on.
    r"(?:(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,2}\])?)(?=[\s\"]))?"
    r'\s*((?:"(?:[^"\\]|\\.)*"\s*)+)'
)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))")
_CHARSET = re.compile(r"^content-type:.*charset=([^\s;]+)", re.IGNORECASE | re.MULTILINE)
_LETTERS = dict(zip("ntrabfv\\\"'?", "\n\t\r\a\b\f\v\\\"'?", strict=True))
_BLANK = " \t\r\f\v"
_ASCII = 128


@dataclass(frozen=True)
class Entry:
    """One entry that is not obsolete: `strings` has one translation, or one for each plural form."""

    context: str | None
    msgid: str
    plural: str | None
    strings: tuple[str, ...]
    fuzzy: bool

    @property
    def is_header(self) -> bool:
        """Whether this is the entry that carries the catalogue's own description."""
        return self.msgid == "" and self.context is None


@dataclass
class _Draft:
    """An entry while its lines are read: the pieces of each keyword's string."""

    parts: dict[str, list[str]] = field(default_factory=dict)
    keyword: str = ""
    fuzzy: bool = False

    @property
    def complete(self) -> bool:
        return "msgid" in self.parts and self.keyword.startswith("msgstr")

    def entry(self) -> Entry:
        said = {keyword: "".join(pieces) for keyword, pieces in self.parts.items()}
        forms = sorted((key for key in said if key.startswith("msgstr")), key=lambda key: (len(key), key))
        strings = tuple(said[key] for key in forms)
        return Entry(said.get("msgctxt"), said["msgid"], said.get("msgid_plural"), strings, self.fuzzy)


def entries(text: str) -> Iterator[Entry]:
    """The entries of a decoded catalogue in their order, the header included, obsolete ones left out.

    Raises:
        Unfit: "malformed catalogue", with the number of the line, counted from 1.
    """
    draft, number = _Draft(), 0
    for number, whole in enumerate(text.split("\n"), start=1):
        line = whole.strip(_BLANK)
        if not line:
            continue
        match = _LINE.fullmatch(line)
        starts = line.startswith("#") or (match is not None and match[1] in {"msgctxt", "msgid"})
        if starts and draft.complete:
            yield draft.entry()
            draft = _Draft()
        if line.startswith("#"):
            _take_comment(draft, line)
        elif match is None:
            raise _malformed(number, "neither a keyword with a string, nor a string, nor a comment")
        else:
            _take_string(draft, match, number)
    if draft.complete:
        yield draft.entry()
    elif draft.parts:
        raise _malformed(number, "the last entry has no msgstr")


def _take_comment(draft: _Draft, line: str) -> None:
    if line.startswith("#~"):
        draft.fuzzy = draft.fuzzy and bool(draft.parts)  # flags above an obsolete entry are its own
    elif line.startswith(("#,", "#=")) and not draft.parts:
        draft.fuzzy = draft.fuzzy or "fuzzy" in re.split(r"[,\s]+", line[2:])


def _take_string(draft: _Draft, match: re.Match[str], number: int) -> None:
    keyword = match[1]
    if keyword is None:
        if not draft.keyword:
            raise _malformed(number, "a string that no keyword opened")
    elif keyword in draft.parts:
        raise _malformed(number, f"{keyword} twice in one entry")
    elif keyword not in {"msgctxt", "msgid"} and "msgid" not in draft.parts:
        raise _malformed(number, f"{keyword} before any msgid")
    else:
        draft.keyword = keyword
        draft.parts[keyword] = []
    pieces = draft.parts[draft.keyword]
    pieces.extend(_unescaped(string[1], number) for string in _STRING.finditer(match[2]))


def _unescaped(string: str, number: int) -> str:
    """The string as C reads it; bytes above ASCII may not be escaped, because their charset is unclear."""

    def character(escape: re.Match[str]) -> str:
        octal, hexadecimal, letter = escape.groups()
        if letter is not None:
            if letter not in _LETTERS:
                raise _malformed(number, f"unknown escape \\{letter}")
            return _LETTERS[letter]
        code = int(octal, 8) if octal else int(hexadecimal, 16)
        if code >= _ASCII:
            raise _malformed(number, f"an escaped byte above ASCII: {code}")
        return chr(code)

    return _ESCAPE.sub(character, string) if "\\" in string else string


def _malformed(number: int, why: str) -> Unfit:
    return Unfit("malformed catalogue", f"line {number}: {why}")


def charset(raw: bytes) -> str:
    """The charset that a catalogue's header declares; UTF-8 where it declares none.

    Raises:
        Unfit: "malformed catalogue", if even the first entry cannot be read.
    """
    first = next(entries(raw.decode("latin-1")), None)
    if first is None or not first.is_header:
        return "utf-8"
    found = _CHARSET.search("\n".join(first.strings))
    # CHARSET is what xgettext writes into a template that nobody has filled in.
    return found[1] if found and found[1] != "CHARSET" else "utf-8"


def translated_text(raw: bytes) -> str:
    """All translations of a catalogue, each string and each plural form on a line of its own.

    Raises:
        Unfit: "undecodable catalogue", "malformed catalogue", "no translated strings", and what
            `decoding.fit_text` raises.
    """
    try:
        text = raw.removeprefix(b"\xef\xbb\xbf").decode(charset(raw.removeprefix(b"\xef\xbb\xbf")))
    except (UnicodeError, LookupError) as error:
        raise Unfit("undecodable catalogue", str(error)) from error
    strings = [
        string
        for entry in entries(text)
        if not entry.is_header and not entry.fuzzy
        for string in entry.strings
        if string
    ]
    if not strings:
        raise Unfit("no translated strings")
    return fit_text("\n".join(strings))
