"""From the bytes of HTML to text: by a byte order mark, by valid UTF-8, by what is declared, or by a guess.

Names of charsets are read as browsers read them, by the labels of the WHATWG encoding standard: `gb2312` means gb18030,
`iso-8859-1` means windows-1252. Codecs of Python that are no charsets of pages, such as `utf-7`, are unknown.
"""

import codecs
import re

from gristmill.extras import extra
from gristmill.readers.text import OTHER_ENCODING, Unfit

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']\s*([A-Za-z0-9_.:-]{2,40})")
_REACH = 4096
_LABELS = {"cp932": "shift_jis", "cp936": "gbk", "cp949": "euc_kr", "cp950": "big5", "x-mac-cyrillic": "mac_cyrillic"}
"""Labels that the standard lacks and pages have, or that the library lacks."""
_WIDER = {
    "gbk": ("gb18030",),
    "shift_jis": ("cp932",),
    "euc_kr": ("cp949",),
    "big5": ("big5hkscs", "cp950"),
    "euc_jp": ("euc_jp", "euc_jis_2004"),
    "iso8859-11": ("cp874",),
}
"""Codecs that browsers mean by these names: they know more characters. The first that decodes all bytes is taken."""
TOLERATED = 1000
"""If at most one character in this many is broken, it is replaced."""
TOLERATED_ANYWAY = 2
"""Broken characters that are replaced in a page of any length."""


def decode_page(body: bytes, declared: str) -> tuple[str, str, int]:
    r"""The text of a page.

    In this order: the byte order mark; UTF-8, if all bytes are valid UTF-8 and some are not ASCII, whatever is
    declared; the charsets of the HTTP header, of a `<meta>` in the first 4 KiB, and of the XML declaration; a guess
    from the bytes. A declared charset is taken although few bytes are broken: they become U+FFFD.

    Args:
        body: the bytes.
        declared: the charset of the HTTP header; empty without one.

    Returns:
        The text, the name of the charset, and how many broken characters were replaced.

    Raises:
        Unfit: "undecodable page": more than two characters, and more than one in 1000, are broken.

    >>> decode_page("été".encode("latin-1"), "iso-8859-1")
    ('été', 'cp1252', 0)
    >>> decode_page("été".encode(), "iso-8859-1")
    ('été', 'utf-8', 0)
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return _decode_with_fewest_replacements(body.removeprefix(mark), [name])
    labels = [declared, *_charsets_in_page(body)]
    names = list(dict.fromkeys(name for label in labels for name in _codec_candidates(label, body)))
    text = _decode_if_utf8(body, names)
    if text is not None:
        return text, "utf-8", 0
    for name in names:
        try:
            return body.decode(name), name, 0
        except UnicodeDecodeError:
            continue
    tried = [_decode_with_replacement(body, name) for name in names]
    fit = [each for each in tried if _has_few_replacements(each)]
    if fit:
        return min(fit, key=lambda each: each[2])
    utf8 = _decode_with_replacement(body, "utf-8")
    if (
        _has_few_replacements(utf8) and sum(each > "\x7f" for each in utf8[0]) > 2 * utf8[2]
    ):  # far more characters are whole
        return utf8
    with extra():
        from resiliparse.parse.encoding import detect_encoding  # noqa: PLC0415 - an extra
    return _decode_with_fewest_replacements(body, [*_codec_candidates(detect_encoding(body) or "utf-8", body), *names])


def decode_html_strictly(data: bytes, otherwise: str) -> str:
    """The text of an HTML file that must not have a broken byte.

    In this order: the byte order mark; UTF-8, if all bytes are valid UTF-8 and some are not ASCII; the charset of a
    `<meta>` in the first 4 KiB; that of the XML declaration; the recipe's.

    Args:
        data: the bytes.
        otherwise: the recipe's encoding of files that state none: a label, or a codec of Python.

    Raises:
        Unfit: "unknown encoding", or "not in its declared encoding".
    """
    label = next(iter(_charsets_in_page(data)), "")
    mend = "" if label else OTHER_ENCODING
    names = _codec_candidates(label or otherwise, data)
    if not names and not label:
        names = [otherwise]
    for mark, name in _MARKS:
        if data.startswith(mark):
            data, names, mend = data.removeprefix(mark), [name], ""
            break
    else:
        text = _decode_if_utf8(data, names)
        if text is not None:
            return text
    if not names:
        raise Unfit("unknown encoding", repr(label))
    for name in names[:-1]:
        try:
            return data.decode(name)
        except UnicodeError:
            continue
    try:
        return data.decode(names[-1])
    except UnicodeError as error:
        raise Unfit("not in its declared encoding", f"{names[-1]}: {error}{mend}") from error


def _charsets_in_page(body: bytes) -> list[str]:
    """The charsets that the bytes themselves state: in a `<meta>`, in an XML declaration."""
    found = (_META.search(body, 0, _REACH), _XML.match(body, 0, _REACH))
    return [match[1].decode("ascii") for match in found if match]


def _decode_if_utf8(body: bytes, names: list[str]) -> str | None:
    """The text, if its bytes are valid UTF-8 and not ASCII alone: by chance that is next to impossible."""
    if body.isascii() or (b"\0" in body[:64] and names and names[0].startswith("utf-16")):
        return None
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _codec_candidates(label: str, body: bytes) -> list[str]:
    """Python's names of a charset, read as browsers read it; empty if there is no such charset of pages."""
    with extra():
        from resiliparse.parse.encoding import map_encoding_to_html5  # noqa: PLC0415 - an extra
    label = label.strip().lower()
    codec = _LABELS.get(label) or (map_encoding_to_html5(label, fallback_utf8=False) if label else None)
    if not codec:
        return []
    if codec.startswith("utf-16") and b"\0" not in body[:64]:
        return ["utf-8"]  # a page whose bytes are ASCII can hold a <meta>, so it is not UTF-16, whatever it says
    try:
        return [codecs.lookup(name).name for name in _WIDER.get(codec, (codec,))]
    except LookupError:
        return []


def _decode_with_replacement(body: bytes, name: str) -> tuple[str, str, int]:
    text = body.decode(name, "replace")
    own = body.count("\ufffd".encode()) if name == "utf-8" else 0  # the page itself may hold them
    return text, name, text.count("\ufffd") - own


def _has_few_replacements(made: tuple[str, str, int]) -> bool:
    return made[2] <= max(TOLERATED_ANYWAY, len(made[0]) // TOLERATED)


def _decode_with_fewest_replacements(body: bytes, names: list[str]) -> tuple[str, str, int]:
    best = min((_decode_with_replacement(body, name) for name in names or ["utf-8"]), key=lambda each: each[2])
    if not _has_few_replacements(best):
        raise Unfit("undecodable page", f"{best[2]} broken characters as {', '.join(names)}")
    return best
