"""UrlColumn: many URLs in canonical form, cut into host, path and query at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gristmill.text.code_points import CodePoints, Numbers
from gristmill.text.lists.urls import LONGEST, LONGEST_HOST, canonical_url
from gristmill.text.unicode.tables import look_up_flags

_LABEL, _FINE = 1, 2
_HTTP, _HTTPS = (np.uint64(int.from_bytes(scheme, "little")) for scheme in (b"http://", b"https://"))
_SEVEN = np.uint64((1 << 56) - 1)
_LONGEST_LABEL = 63
_DOT, _SLASH, _QUERY, _HASH, _BREAK = b"./?#\n"


def _url_byte_kinds() -> NDArray[np.uint8]:
    """For each byte: whether the label of a host may have it, and whether a path may have it as it is."""
    kinds = np.zeros(256, np.uint8)
    kinds[[point for point in range(0x21, 0x7F) if chr(point) not in '<>\\"#']] = _FINE
    kinds[[ord(each) for each in "abcdefghijklmnopqrstuvwxyz0123456789_-"]] |= _LABEL
    return kinds


_KINDS = _url_byte_kinds()


@dataclass(frozen=True)
class UrlColumn:
    """The U canonical URLs among some strings, as parts of a column: host, path, and `?` with the query, in a row.

    Args:
        column: the URLs.
        places: index of each URL among the strings (U).
        hosts: offset in `column.units` where the host begins (U).
        paths: offset where its path begins (U).
        queries: offset where its path ends; there its question mark is, if it has a query (U).
        ends: offset where its query ends, or its path (U).

    >>> urls = UrlColumn.of(["HTTP://Example.com/a?b#c", "no host:", "bücher.example"])
    >>> urls.places.tolist(), [urls.column.units[a:b].tobytes() for a, b in zip(urls.hosts, urls.ends)]
    ([0, 2], [b'example.com/a?b', b'xn--bcher-kva.example/'])
    """

    column: CodePoints
    places: Numbers
    hosts: Numbers
    paths: Numbers
    queries: Numbers
    ends: Numbers

    @classmethod
    def of(cls, strings: Sequence[str]) -> "UrlColumn":
        """The canonical URLs of one string or more: those that `canonical_url` gives."""
        texts: Sequence[str] = strings
        if max(map(len, strings)) > LONGEST:
            texts = [string[:LONGEST] for string in strings]
        joined = "\n".join(texts)
        if not joined.isascii() or joined.count("\n") >= len(texts):
            texts = [text if text.isascii() and "\n" not in text else "" for text in texts]
            joined = "\n".join(texts)
        lowered = joined.lower().split("\n")
        column = CodePoints.of(lowered)
        edges, simple = _url_part_edges(column)
        if simple.all():
            return cls(column, np.arange(len(lowered)), *edges)
        lengths: list[tuple[int, int, int, int]] = []
        others = np.flatnonzero(~simple).tolist()
        for place in others:
            found = canonical_url(strings[place])
            host, path, query = found or ("", "", "")
            lowered[place] = f"{host}{path}?{query}" if query else host + path
            sizes = len(host), len(host) + len(path), len(lowered[place])
            lengths.append((0, *sizes))
        column = CodePoints.of(lowered)
        edges, _ = _url_part_edges(column)
        edges[:, others] = np.array(lengths, np.int64).T + column.bounds[others]
        (kept,) = np.nonzero(edges[0] < edges[1])
        return cls(column, kept, *edges[:, kept])


def _url_part_edges(column: CodePoints) -> tuple[Numbers, NDArray[np.bool_]]:
    """Hosts, paths, queries and ends of URLs in lower case (4, U), and which are canonical but for their fragment (U).

    Of the others the edges mean nothing.
    """
    units, starts = column.units, column.bounds[:-1]
    kinds = look_up_flags(units, _KINDS)
    (marks,) = np.nonzero((kinds & _LABEL) == 0)  # of which the last of each text is its line feed
    signs = units[marks]
    first = column.chunks[starts]
    secure = first == _HTTPS
    simple = secure | ((first & _SEVEN) == _HTTP)
    hosts = np.minimum(starts + np.where(secure, 8, 7), column.bounds[1:] - 1)
    paths, host_end = _next_chosen_mark(marks, signs != _DOT, hosts)
    queries, _ = _next_chosen_mark(marks, (signs == _QUERY) | (signs == _HASH) | (signs == _BREAK), paths)
    ends, end = _next_chosen_mark(marks, (signs == _HASH) | (signs == _BREAK), queries)
    labels = np.diff(marks, append=len(units)) - 1  # the length after each mark
    host_start = np.searchsorted(marks, hosts - 1)  # the last `/` of the scheme
    simple &= _has_no_chosen_mark((labels == 0) | (labels > _LONGEST_LABEL), host_start, host_end)
    simple &= (units[paths] == _SLASH) & (paths - hosts <= LONGEST_HOST)
    after = units[np.minimum(marks + 1, len(units) - 1)]
    odd = ((kinds[marks] & _FINE) == 0) | ((signs == _SLASH) & ((after == _DOT) | (after == _SLASH)))
    simple &= _has_no_chosen_mark(odd & (signs != _BREAK), host_end, end)
    return np.stack((hosts, paths, queries, np.where(ends == queries + 1, queries, ends))), simple


def _next_chosen_mark(marks: Numbers, chosen: NDArray[np.bool_], at: Numbers) -> tuple[Numbers, Numbers]:
    """The first chosen mark at each place or after it: where it is, and its number among all marks."""
    (numbers,) = np.nonzero(chosen)
    found = numbers[np.searchsorted(marks[numbers], at)]
    return marks[found], found


def _has_no_chosen_mark(chosen: NDArray[np.bool_], first: Numbers, last: Numbers) -> NDArray[np.bool_]:
    """Whether none of the marks from `first` to before `last` is chosen."""
    sums = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum(chosen, out=sums[1:])
    nothing: NDArray[np.bool_] = sums[last] <= sums[first]
    return nothing
