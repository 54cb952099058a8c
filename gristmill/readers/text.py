"""From raw bytes to text that a document may hold.

The text is not changed: line ends, tabs and form feeds are kept. Only a byte order mark is removed.
"""

import codecs
import io
import tokenize

from gristmill.errors import DataError, RecipeError

_NO_CHARSETS = frozenset(("idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape"))

UNDECODABLE = "undecodable source"
"""The reason for source code in another encoding than it declares."""
OTHER_ENCODING = '; declare encoding="latin-1", or as the files are'
"""What to do about a file that states no encoding, and is not in that of the recipe."""


class Unfit(DataError):  # noqa: N818 - the tree reads as English
    """Bytes that cannot become the text of a document.

    Attributes:
        reason: short and stable, because ledgers count refused rows by it.
        detail: more for people, such as a line number; may be empty.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}" if detail else reason)

    def __reduce__(self) -> tuple[type["Unfit"], tuple[str, ...]]:
        return type(self), (self.reason, self.detail)


def fit_text(text: str) -> str:
    r"""The same text, after a check that it may be the text of a document.

    Raises:
        Unfit: "empty text" (nothing but white space, also behind a byte order mark), "text holds NUL", or "text holds a
            lone surrogate". UTF-8 cannot encode lone surrogates, but some codecs of Python produce them.

    >>> fit_text("flour\n")
    'flour\n'
    """
    words = text.removeprefix("\ufeff")
    if not words or words.isspace():
        raise Unfit("empty text")
    if "\0" in text:
        raise Unfit("text holds NUL")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise Unfit("text holds a lone surrogate", f"at code point {error.start}") from error
    return text


def plain_text(raw: bytes) -> str:
    r"""The text of UTF-8 bytes, with or without a byte order mark.

    Args:
        raw: the bytes.

    Raises:
        Unfit: "not utf-8", or a reason of `fit_text`.

    >>> plain_text(b"\xef\xbb\xbfcaf\xc3\xa9")
    'café'
    """
    return decoded_text(raw)


def check_encoding(encoding: str, what: str) -> None:
    """Checks that Python knows an encoding of texts.

    Args:
        encoding: its name.
        what: the recipe and the option, for messages.

    Raises:
        RecipeError: it does not.
    """
    try:
        b"x".decode(encoding)
    except UnicodeError:
        return  # one byte is not enough, or not valid
    except (LookupError, ValueError) as error:
        raise RecipeError(f"{what} is {encoding!r}; give an encoding that Python knows ({error})") from error


def decoded_text(raw: bytes, encoding: str = "utf-8") -> str:
    r"""The text of bytes in a declared encoding. A byte order mark is not part of it.

    Args:
        raw: the bytes.
        encoding: one that Python knows.

    Raises:
        Unfit: "not <encoding>", with the place of the first wrong byte, or a reason of `fit_text`.

    >>> decoded_text(b"caf\xe9", "latin-1")
    'café'
    """
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise Unfit(f"not {encoding}", f"at byte {error.start}") from error
    except UnicodeError as error:
        raise Unfit(f"not {encoding}", str(error)) from error
    return fit_text(text.removeprefix("\ufeff"))


def text_as_declared(raw: bytes, encoding: str) -> str:
    r"""The text of bytes in the encoding that they declare themselves.

    Args:
        raw: the bytes.
        encoding: name of the declared encoding; any text.

    Raises:
        LookupError: there is no such encoding of texts. Codecs of Python that decode other things do not count as one;
            those of domain names take time by the square of the length.
        UnicodeError: the bytes are not in it.

    >>> text_as_declared(b"caf\xe9", "latin-1")
    'café'
    """
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, ValueError) as error:
        raise LookupError(f"unknown encoding: {encoding!r:.80}") from error
    if codec.name.replace("-", "_") in _NO_CHARSETS:
        raise LookupError(f"{encoding!r:.80} is no encoding of texts")
    return raw.decode(codec.name)


def python_text(raw: bytes) -> str:
    r"""The text of Python source, in the encoding that it declares (PEP 263); UTF-8 if it declares none.

    Args:
        raw: the bytes of the source file.

    Raises:
        Unfit: "undecodable source" (the declared codec is unknown, is not a text codec, or rejects the bytes), or a
            reason of `fit_text`.

    >>> python_text(b"# coding: latin-1\nname = '\xe9'\n")
    "# coding: latin-1\nname = 'é'\n"
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = text_as_declared(raw, encoding)
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise Unfit(UNDECODABLE, str(error)) from error
    return fit_text(text)
