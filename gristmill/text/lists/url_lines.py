"""The lines of URL lists, in the forms that people publish them: hosts, hosts files, Adblock rules, URLs."""

import re
from collections.abc import Iterable, Iterator

from gristmill.errors import RecipeError
from gristmill.text.lists.urls import LONGEST, LONGEST_HOST, canonical_url

_QUICK = re.compile(r"[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}")  # most lines
_COMMENT = re.compile(r"[#;!].*|\[Adblock.*", re.IGNORECASE)
_TRAILING = re.compile(r"\s+#")
_ADDRESS = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9a-f]*:[0-9a-f:.%a-z0-9]*)\s+(\S.*)", re.IGNORECASE)
_ADBLOCK = re.compile(r"\|\|(?:\*\.)?([^/^$*|]+)\^?(?:\|)?(?:\$(?:document|doc|all|important|,)+)?", re.IGNORECASE)
_PART_OF_A_PAGE = re.compile(r"@@.*|.*#[@?$%]*#.*|\|.*|.*\^.*|.*\*.*|.*\$.*|/.*/")
"""Adblock rules that do not say that a whole page is listed."""
_IP6 = ("localhost", "loopback", "localnet", "mcastprefix", "allnodes", "allrouters", "allhosts")
_LOCAL = frozenset(
    {"localhost", "localhost.localdomain", "local", "localdomain", "broadcasthost", "0.0.0.0"}  # noqa: S104 - a name
).union(f"ip6-{name}" for name in _IP6)

ListedUrl = tuple[str, str]
"""An entry of a list: a canonical host (`canonical_url`), and path and query of a page or a folder of pages, without
`/` at its end. The latter is empty if the whole host is listed.
"""


def listed_urls(lines: Iterable[str], shown: str) -> Iterator[ListedUrl]:
    """The entries of a list.

    * `example.com`, `.example.com`, `*.example.com`: a host.
    * `http://example.com/folder`, `example.com/page?q=1`: a page, or a folder of pages. Without a path it is a host.
    * `0.0.0.0 example.com www.example.com`: hosts of a hosts file. The address and names of one's own machine such as
      `localhost` are left out.
    * `||example.com^`: a host, of an Adblock list. Adblock rules for parts of pages, such as images or elements, and
      exceptions (`@@`) say nothing about documents and are left out.
    * `#`, `;`, `!`: a comment.

    Args:
        lines: all lines of a file, without white space around them.
        shown: the file, for errors.

    Raises:
        RecipeError: a line has none of these forms; the message names the file and the line.

    >>> list(listed_urls(["||Example.com^", "# hosts", "example.org/a/", "0.0.0.0 ads.example.net"], "list.txt"))
    [('example.com', ''), ('example.org', '/a'), ('ads.example.net', '')]
    """
    for number, line in enumerate(lines, 1):
        if _QUICK.fullmatch(line) and len(line) <= LONGEST_HOST:
            yield line, ""
        elif line:
            yield from _entries_of_line(line, f"{shown}:{number}")


def _entries_of_line(line: str, where: str) -> Iterator[ListedUrl]:
    if _COMMENT.fullmatch(line) and not line.startswith("##"):
        return
    hosts = _ADDRESS.fullmatch(line)
    if hosts:
        names = _TRAILING.split(hosts[2])[0].split()
        yield from (_parse_listed_url(name, where) for name in names if name.lower() not in _LOCAL)
        return
    line = _TRAILING.split(line)[0]
    rule = _ADBLOCK.fullmatch(line)
    if rule:
        yield _parse_listed_url(rule[1], where, top=True)
    elif line[:2] == "*." or (line[:1] == "." and len(line) > 1):
        yield _parse_listed_url(line.lstrip("*."), where, top=True)
    elif "://" in line or not _PART_OF_A_PAGE.fullmatch(line):
        yield _parse_listed_url(line, where)


def _parse_listed_url(text: str, where: str, *, top: bool = False) -> ListedUrl:
    """An entry that is a URL, with or without its scheme. `top`: a top-level domain is meant as such."""
    found = canonical_url(text) if len(text.split()) == 1 and len(text) <= LONGEST else None
    if found is None or not (top or "." in found[0] or found[0][0] == "["):
        raise RecipeError(
            f"{where}: {text[:80]!r} is no host and no URL; write one a line, such as example.com, "
            "http://example.com/folder or ||example.com^"
        )
    host, path, query = found
    return host, f"{path}?{query}" if query else path.rstrip("/")
