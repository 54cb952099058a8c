"""Translated strings from gettext's `.po` files.

Source: the GNU gettext manual, "The Format of PO Files". An entry has `msgctxt`, `msgid`, `msgid_plural` and
`msgstr`. Strings are quoted as in C and may continue on the next lines. Lines that begin with `#,` are flags of the
entry below. Every line of an obsolete entry begins with `#~`. An entry with the flag `fuzzy` is a guess that no
translator has confirmed; it is not used here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gristmill.readers.text import Unfit, fit_text

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LINE = re.compile(
    # A keyword and its string, or a line that continues a string.
    r"(?:(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,2}\])?)(?=[\s\"]))?"
    r'\s*((?:"(?:[^"\\]|\\.)*"\s*)+)'
)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))")
_CHARSET = re.compile(r"^content-type:.*charset=([^\s;]+)", re.IGNORECASE | re.MULTILINE)
_LETTERS = dict(zip("ntrabfv\\\"'?", "\n\t\r\a\b\f\v\\\"'?", strict=True))
_BLANK = " \t\r\f\v"
_ASCII = 128


@dataclass(frozen=True)
class PoEntry:
    """One entry that is not obsolete.

    Attributes:
        context: its `msgctxt`, or None.
        msgid: the original string.
        plural: its `msgid_plural`, or None.
        strings: the translation, or one translation per plural form.
        fuzzy: whether no translator has confirmed it.
    """

    context: str | None
    msgid: str
    plural: str | None
    strings: tuple[str, ...]
    fuzzy: bool

    @property
    def is_header(self) -> bool:
        """Whether this entry is the header, which describes the file itself."""
        return self.msgid == "" and self.context is None


@dataclass
class _PoDraft:
    """The entry that is being read: the pieces of each keyword's string, and the keyword of the last line."""

    parts: dict[str, list[str]] = field(default_factory=dict)
    keyword: str = ""
    fuzzy: bool = False

    @property
    def complete(self) -> bool:
        return "msgid" in self.parts and self.keyword.startswith("msgstr")

    def entry(self) -> PoEntry:
        values = {keyword: "".join(pieces) for keyword, pieces in self.parts.items()}
        forms = sorted((key for key in values if key.startswith("msgstr")), key=lambda key: (len(key), key))
        strings = tuple(values[key] for key in forms)
        return PoEntry(values.get("msgctxt"), values["msgid"], values.get("msgid_plural"), strings, self.fuzzy)


def entries(text: str) -> Iterator[PoEntry]:
    r"""The entries of a decoded PO file, in order. The header is included; obsolete entries are left out.

    Args:
        text: the whole file.

    Raises:
        Unfit: "malformed catalogue", with the line number, counted from 1.

    >>> [(entry.msgid, entry.strings) for entry in entries('msgid "yes"\nmsgstr "j"\n"a"\n')]
    [('yes', ('ja',))]
    """
    draft, number = _PoDraft(), 0
    for number, whole in enumerate(text.split("\n"), start=1):
        line = whole.strip(_BLANK)
        if not line:
            continue
        match = _LINE.fullmatch(line)
        starts = line.startswith("#") or (match is not None and match[1] in {"msgctxt", "msgid"})
        if starts and draft.complete:
            yield draft.entry()
            draft = _PoDraft()
        if line.startswith("#"):
            _take_comment(draft, line)
        elif match is None:
            raise _malformed(number, "not a keyword with a string, not a string, not a comment")
        else:
            _take_string(draft, match, number)
    if draft.complete:
        yield draft.entry()
    elif draft.parts:
        raise _malformed(number, "the last entry has no msgstr")


def _take_comment(draft: _PoDraft, line: str) -> None:
    """Takes flags from a comment line."""
    if line.startswith("#~"):
        draft.fuzzy = draft.fuzzy and bool(draft.parts)  # flags above an obsolete entry belong to that entry
    elif line.startswith(("#,", "#=")) and not draft.parts:
        draft.fuzzy = draft.fuzzy or "fuzzy" in re.split(r"[,\s]+", line[2:])


def _take_string(draft: _PoDraft, match: re.Match[str], number: int) -> None:
    """Takes a keyword with its string, or a line that continues a string."""
    keyword = match[1]
    if keyword is None:
        if not draft.keyword:
            raise _malformed(number, "a string without a keyword before it")
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
    """The string with its C escapes replaced.

    An escaped byte above ASCII is an error, because its charset is unclear.
    """

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
    r"""The charset that the header of a PO file declares; UTF-8 if it declares none.

    Args:
        raw: the file's bytes, without a byte order mark.

    Raises:
        Unfit: "malformed catalogue", if the first entry cannot be read.

    >>> charset(b'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1"\n')
    'ISO-8859-1'
    """
    first = next(entries(raw.decode("latin-1")), None)
    if first is None or not first.is_header:
        return "utf-8"
    declared = _CHARSET.search("\n".join(first.strings))
    # xgettext writes CHARSET into a new template, for a translator to fill in.
    return declared[1] if declared and declared[1] != "CHARSET" else "utf-8"


def translated_text(raw: bytes) -> str:
    r"""All translations of a PO file, one line per string and per plural form.

    Args:
        raw: the file's bytes.

    Raises:
        Unfit: "undecodable catalogue", "malformed catalogue", "no translated strings", or a reason of
            `gristmill.readers.text.fit_text`.

    >>> translated_text(b'msgid "yes"\nmsgstr "ja"\n\nmsgid "no"\nmsgstr "nein"\n')
    'ja\nnein'
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
