"""Canonical URLs: the form in which URLs are compared with lists of hosts and pages."""

import posixpath
import re
from urllib.parse import quote, unquote

LONGEST = 2048
"""Code points of a URL that are read. A page that differs later is taken for the same page."""

LONGEST_HOST = 253
"""Characters of a host's name (RFC 1035)."""

_LABEL = r"[a-z0-9_-]{1,63}"
_NAME = rf"{_LABEL}(?:\.{_LABEL})*"
# Most URLs: nothing in them needs to be decoded. They have no angle brackets, backslashes and blanks.
_PLAIN = re.compile(rf"(?:https?://)?({_NAME})(?::[0-9]*)?(/[!\"$-;=@-\[\]-~]*)?(?:\?([!\"$-;=?-\[\]-~]*))?(?:#.*)?")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?=//)")
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]*)(?::[0-9]*)?")
_HOST = re.compile(rf"{_NAME}|\[[0-9a-f:.]+\]")
_BLANKS = "".join(map(chr, range(0x21)))
_KEPT = "".join(chr(point) for point in range(0x21, 0x7F))  # not percent-encoded


CanonicalUrl = tuple[str, str, str]
"""Host, path and query.

The host has no port, user and last dot; an IPv6 address has its brackets. The path begins with `/`. The query has no
question mark; empty is none.
"""


def canonical_url(url: str) -> CanonicalUrl | None:
    """The canonical form of a URL; None if it has no host.

    Scheme, user, port and fragment are left out. A URL without a scheme is read as if it had one. International names
    are written in Punycode (RFC 3490), paths in percent-encoded UTF-8, and `.` and `..` in paths are followed. Letters
    are compared in lower case, also those of paths: lists write them so. Only the first 2,048 code points count.

    Args:
        url: address as a document's metadata has it; angle brackets and white space around it are left out.

    >>> canonical_url("https://user@WWW.Example.com:8080/A/../b/?q=1#top")
    ('www.example.com', '/b/', 'q=1')
    >>> canonical_url("http://bücher.example/é")
    ('xn--bcher-kva.example', '/%c3%a9', '')
    >>> canonical_url("mailto:someone@example.com") is None
    True
    """
    url = url[:LONGEST].lower()
    plain = _PLAIN.fullmatch(url)
    if plain is None or "/." in url:
        return _canonical_unusual_url(url)
    host, path, query = plain.groups("")
    if "//" in path:
        return _canonical_unusual_url(url)
    return (host, path or "/", query) if len(host) <= LONGEST_HOST else None


def _canonical_unusual_url(url: str) -> CanonicalUrl | None:
    """As canonical_url, for any string in lower case."""
    url = url.strip(_BLANKS + "<>").replace("\t", "").replace("\n", "").replace("\r", "").partition("#")[0]
    front, _, query = url.partition("?")
    front = front.replace("\\", "/")
    scheme = _SCHEME.match(front)
    if scheme:
        front = front[scheme.end() :]
    authority, slash, path = front.lstrip("/").partition("/") if scheme or front[:2] == "//" else front.partition("/")
    found = _AUTHORITY.fullmatch(authority.rpartition("@")[2])
    host = _canonical_host(found[1]) if found else ""
    if not host or (not scheme and ":" in authority.partition("@")[0] and "@" in authority):
        return None
    return host, _percent_encode(_resolve_dot_segments(slash + path)), _percent_encode(query)


def _canonical_host(name: str) -> str:
    """The name of a host in lower case and ASCII; empty if it is not one."""
    name = unquote(name, errors="replace")
    if len(name) > LONGEST_HOST:  # Punycode takes time that grows with the square of the length
        return ""
    try:
        name = name.encode("idna").decode("ascii").lower() if not name.isascii() else name.lower()
    except UnicodeError:
        return ""
    name = name.removesuffix(".")
    return name if len(name) <= LONGEST_HOST and _HOST.fullmatch(name) else ""


def _resolve_dot_segments(path: str) -> str:
    """A path without `.`, `..` and empty folders."""
    folder = "/" if path.endswith(("/", "/.", "/..")) else ""
    return "/" + (posixpath.normpath(path or "/").lstrip("/") + folder).lstrip("/")


def _percent_encode(part: str) -> str:
    return quote(part.encode("utf-8", "replace"), safe=_KEPT).lower()
