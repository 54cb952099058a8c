"""Decoding: from raw bytes to text that may stand in a document.

Text is kept as the bytes say it: line ends, tabs and form feeds included. Only a byte order mark goes.
"""

import io
import tokenize

from gristmill.errors import DataError


class Unfit(DataError):  # noqa: N818 - the tree reads as English
    """Bytes that can become no document's text; `reason` is short and stable, so that it can be counted."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}" if detail else reason)

    def __reduce__(self) -> tuple[type["Unfit"], tuple[str, str]]:
        return type(self), (self.reason, self.detail)


def fit_text(text: str) -> str:
    """The same text, proved fit for a document.

    Raises:
        Unfit: "empty text" (nothing but white space), "text holds NUL", or "text holds a lone surrogate"
            (code points that UTF-8 cannot write; some Python codecs give them).
    """
    if not text or text.isspace():
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
    """UTF-8 text, with or without a byte order mark.

    Raises:
        Unfit: "not utf-8", and what `fit_text` raises.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unfit("not utf-8", f"at byte {error.start}") from error
    return fit_text(text)


def python_text(raw: bytes) -> str:
    """Python source in the encoding that it declares (PEP 263), UTF-8 where it declares none.

    Raises:
        Unfit: "undecodable source" (the declared codec is unknown, is no text codec, or rejects the bytes),
            and what `fit_text` raises.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise Unfit("undecodable source", str(error)) from error
    return fit_text(text)
