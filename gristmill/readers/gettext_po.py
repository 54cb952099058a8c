"""Translated strings from gettext's `.po` files, which gettext calls message catalogues.

Source: the GNU gettext manual, "The Format of PO Files". An entry is a list of keywords, each with a string:

- `msgid`, the original, and `msgstr`, its translation;
- optionally `msgctxt`, a context that distinguishes two entries with the same original;
- optionally `msgid_plural`, the original's plural. Then the translations are `msgstr[0]`, `msgstr[1]`, ...: one for
  each plural form of the language.

Strings are quoted as in C and may continue on the next lines. Lines that begin with `#,` or `#=` are flags of the entry
below. Every line of an obsolete entry begins with `#~`. An entry with the flag `fuzzy` is a guess that no translator
has confirmed: translated_text() leaves it out. The first entry is the header, if its `msgid` is empty: its `msgstr`
describes the file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gristmill.readers.text import Unfit, fit_text, text_as_declared

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LINE = re.compile(
    # A keyword and its string, or a line that continues a string.
    r"(?:(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,2}\])?)(?=[\s\"]))?"
    r'\s*((?:"(?:[^"\\]|\\.)*"\s*)+)'
)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))")
_CHARSET = re.compile(r"^content-type:.*charset=([^\s;]+)", re.IGNORECASE | re.MULTILINE)
_ESCAPED_LETTERS = dict(zip("ntrabfv\\\"'?", "\n\t\r\a\b\f\v\\\"'?", strict=True))
_BLANK = " \t\r\f\v"  # not all that str.strip() removes: other white space makes a line malformed
_ASCII_END = 128


@dataclass(frozen=True)
class PoEntry:
    """One entry of a PO file that is not obsolete.

    Attributes:
        context: its `msgctxt`, or None.
        msgid: the original string.
        plural: its `msgid_plural`, or None.
        strings: the translation, or one translation per plural form, in order. Empty strings are not translated yet.
        fuzzy: whether it has the flag `fuzzy`: no translator has confirmed it.
    """

    context: str | None
    msgid: str
    plural: str | None
    strings: tuple[str, ...]
    fuzzy: bool

    @property
    def is_header(self) -> bool:
        """Whether this entry is the header: `msgid` is empty, and there is no context."""
        return self.msgid == "" and self.context is None


@dataclass
class _PoDraft:
    """The entry that is being read.

    Attributes:
        parts: for each keyword its string, in pieces: one for each quoted string.
        keyword: the last keyword; a line without one continues its string. "" before the first.
        fuzzy: whether the flag `fuzzy` was read.
    """

    parts: dict[str, list[str]] = field(default_factory=dict)
    keyword: str = ""
    fuzzy: bool = False

    @property
    def complete(self) -> bool:
        """Whether a comment, `msgctxt` or `msgid` would begin the next entry."""
        return "msgid" in self.parts and self.keyword.startswith("msgstr")

    def entry(self) -> PoEntry:
        values = {keyword: "".join(pieces) for keyword, pieces in self.parts.items()}
        # By length first: msgstr[10] comes after msgstr[9].
        forms = sorted((key for key in values if key.startswith("msgstr")), key=lambda key: (len(key), key))
        strings = tuple(values[key] for key in forms)
        return PoEntry(values.get("msgctxt"), values["msgid"], values.get("msgid_plural"), strings, self.fuzzy)


def entries(text: str) -> Iterator[PoEntry]:
    r"""The entries of a decoded PO file, in order, with the header and fuzzy entries, without obsolete ones.

    Args:
        text: the whole file.

    Raises:
        Unfit: "malformed catalogue", with the line number, counted from 1.

    >>> [(entry.msgid, entry.strings) for entry in entries('msgid "yes"\nmsgstr "j"\n"a"\n')]
    [('yes', ('ja',))]
    """
    draft, number = _PoDraft(), 0
    for number, raw_line in enumerate(text.split("\n"), start=1):
        line = raw_line.strip(_BLANK)
        if not line:
            continue
        match = _LINE.fullmatch(line)
        begins_entry = line.startswith("#") or (match is not None and match[1] in {"msgctxt", "msgid"})
        if begins_entry and draft.complete:
            yield draft.entry()
            draft = _PoDraft()
        if line.startswith("#"):
            _add_comment_flags(draft, line)
        elif match is None:
            raise _malformed_line_error(number, "not a keyword with a string, not a string, not a comment")
        else:
            _add_string_line(draft, match, number)
    if draft.complete:
        yield draft.entry()
    elif draft.parts:
        raise _malformed_line_error(number, "the last entry has no msgstr")


def _add_comment_flags(draft: _PoDraft, line: str) -> None:
    """Adds the flags of a comment line to the draft. Other comments are ignored."""
    if line.startswith("#~"):
        draft.fuzzy = draft.fuzzy and bool(draft.parts)  # without parts, the flags were those of the obsolete entry
    elif line.startswith(("#,", "#=")) and not draft.parts:
        draft.fuzzy = draft.fuzzy or "fuzzy" in re.split(r"[,\s]+", line[2:])


def _add_string_line(draft: _PoDraft, match: re.Match[str], number: int) -> None:
    """Adds a line to the draft: a keyword with its string, or a string that continues the last keyword's.

    Args:
        draft: the entry that is being read.
        match: the match of _LINE with the line.
        number: the line's number, for messages.
    """
    keyword = match[1]
    if keyword is None:
        if not draft.keyword:
            raise _malformed_line_error(number, "a string without a keyword before it")
    elif keyword in draft.parts:
        raise _malformed_line_error(number, f"{keyword} twice in one entry")
    elif keyword not in {"msgctxt", "msgid"} and "msgid" not in draft.parts:
        raise _malformed_line_error(number, f"{keyword} before any msgid")
    else:
        draft.keyword = keyword
        draft.parts[keyword] = []
    pieces = draft.parts[draft.keyword]
    pieces.extend(_unescape_c_string(string[1], number) for string in _STRING.finditer(match[2]))


def _unescape_c_string(string: str, number: int) -> str:
    r"""The string with its C escapes replaced.

    An escaped byte above ASCII (`\xe9`) is an error: the text is decoded already, so the byte's charset is unclear.
    """

    def character(escape: re.Match[str]) -> str:
        octal, hexadecimal, letter = escape.groups()
        if letter is not None:
            if letter not in _ESCAPED_LETTERS:
                raise _malformed_line_error(number, f"unknown escape \\{letter}")
            return _ESCAPED_LETTERS[letter]
        code = int(octal, 8) if octal else int(hexadecimal, 16)
        if code >= _ASCII_END:
            raise _malformed_line_error(number, f"an escaped byte above ASCII: {code}")
        return chr(code)

    return _ESCAPE.sub(character, string) if "\\" in string else string


def _malformed_line_error(number: int, why: str) -> Unfit:
    return Unfit("malformed catalogue", f"line {number}: {why}")


def declared_po_charset(raw: bytes) -> str:
    r"""The charset that the header of a PO file declares; UTF-8 if it declares none.

    Args:
        raw: the file's bytes, without a byte order mark.

    Raises:
        Unfit: "malformed catalogue", if the first entry cannot be read.

    >>> declared_po_charset(b'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1"\n')
    'ISO-8859-1'
    """
    # Latin-1 decodes any bytes, and the line that declares the charset is ASCII.
    first = next(entries(raw.decode("latin-1")), None)
    if first is None or not first.is_header:
        return "utf-8"
    declared = _CHARSET.search("\n".join(first.strings))
    # xgettext writes CHARSET into a new template, for a translator to fill in.
    return declared[1] if declared and declared[1] != "CHARSET" else "utf-8"


def translated_text(raw: bytes) -> str:
    r"""All translations of a PO file, joined by line feeds. Each plural form is a translation of its own.

    Left out are the header, fuzzy and obsolete entries, and entries without a translation.

    Args:
        raw: the file's bytes.

    Raises:
        Unfit: "undecodable catalogue" (unknown charset, or bytes that are not in it), "malformed catalogue",
            "no translated strings", or a reason of `gristmill.readers.text.fit_text`.

    >>> translated_text(b'msgid "yes"\nmsgstr "ja"\n\nmsgid "no"\nmsgstr "nein"\n')
    'ja\nnein'
    """
    data = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        text = text_as_declared(data, declared_po_charset(data))
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
