"""UrlTable: a list of hosts and pages in little memory, in which many URLs are looked up at once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import RecipeError
from gristmill.text.code_points import CodePoints, Hashes, Numbers
from gristmill.text.lists.url_column import UrlColumn
from gristmill.text.lists.url_lines import ListedUrl

MOST_ENTRIES = 10_000_000
MOST_BYTES = 1_000_000_000
"""Bounds of a list: it is in the memory of every worker, with 13 bytes and its own length for each entry."""

_TOGETHER = 65_536  # entries that are hashed together
_URLS = 4_096  # URLs that are looked up together: their arrays stay in the processor's cache
_FOLDERS = 32  # of a URL's path; a page listed in a deeper folder is found by its own name alone
_SPARSE = 4  # the filter has at least 2^4 bits for each entry
_DOT, _SLASH = b"./"
_WWW = np.uint64(int.from_bytes(b"www.", "little"))
_FOUR = np.uint64((1 << 32) - 1)
_BELOW = np.uint64(0x8EBC6AF09C88C6E3)  # odd; makes the hash of a host with all hosts below it another one

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class FoundUrls:
    """What a list says about U strings.

    Args:
        known: whether each is a URL (U).
        hosts: whether it is listed by its host (U).
        pages: whether it is listed by its page, or a folder above it (U).
    """

    known: Flags
    hosts: Flags
    pages: Flags


@dataclass(frozen=True)
class UrlTable:
    """E entries as strings, sorted by a 64-bit hash. A hit is confirmed on the string, so no collision gives a hit.

    A string is `.example.com` for a host with all hosts below it, `example.com` for a host alone, and
    `example.com/folder` for a page or a folder; `www.` at the beginning of the latter two is left out. `example.com/`
    says that pages of a host are listed.

    Args:
        keys: all strings, each followed by a line feed.
        starts: offset in `keys` where the string of each hash begins, in the order of the hashes (E).
        hashes: ascending (E).
        bits: a filter: for the highest bits of a hash, whether any entry has them.
        pages: whether any entry is a page.

    >>> table = UrlTable.of([("example.com", ""), ("example.org", "/folder")])
    >>> found = table.find(["http://a.example.com/", "http://www.example.org/folder/page", "http://example.org/"])
    >>> found.hosts.tolist(), found.pages.tolist()
    ([True, False, False], [False, True, False])
    """

    keys: bytes
    starts: NDArray[np.uint32]
    hashes: Hashes
    bits: NDArray[np.uint8]
    pages: bool

    @classmethod
    def of(cls, entries: Iterable[ListedUrl], *, below: bool = True, most: int = MOST_ENTRIES) -> "UrlTable":
        """The table of a list.

        Args:
            entries: the list; an entry may occur again.
            below: whether a host stands for all hosts below it too.
            most: entries that a list may have.

        Raises:
            RecipeError: the list is empty, or too long.
        """
        keys = bytearray()
        starts: list[Numbers] = []
        hashes: list[Hashes] = []
        pages, count = False, 0
        strings = _entry_keys(entries, below=below)
        while together := list(islice(strings, _TOGETHER)):
            column = CodePoints.of(together)
            starts.append(column.bounds[:-1] + len(keys))
            hashes.append(_hash_keys(column))
            keys += column.units.tobytes()
            pages = pages or any("/" in string for string in together)
            count += len(together)
            if count > most or len(keys) > MOST_BYTES:
                raise RecipeError(
                    f"a list may have {most:,} entries and {MOST_BYTES:,} bytes; divide it into several lists"
                )
        if not count:
            raise RecipeError("the list has no entries; bring one with at least one host or URL")
        found = np.concatenate(hashes)
        order = np.argsort(found)
        found = found[order]
        return cls(
            bytes(keys), np.concatenate(starts)[order].astype(np.uint32), found, _build_hash_filter(found), pages
        )

    def find(self, strings: Sequence[str]) -> FoundUrls:
        """What the list says about any strings.

        Args:
            strings: URLs, and what is taken for them.

        Returns:
            Whether each is a URL, and whether it is listed.
        """
        found = FoundUrls(*(np.zeros(len(strings), np.bool_) for _ in range(3)))
        for first in range(0, len(strings), _URLS):
            part = slice(first, first + _URLS)
            self._find_known_urls(strings[part], found.known[part], found.hosts[part], found.pages[part])
        return found

    def _find_known_urls(self, strings: Sequence[str], known: Flags, hosts: Flags, pages: Flags) -> None:
        urls = UrlColumn.of(strings)
        units, places = urls.column.units, urls.places
        if not places.size:
            return
        known[places] = True
        names = urls.hosts + 4 * (urls.column.chunks[urls.hosts] & _FOUR == _WWW)
        dots, owners = _marks_in_stretches(np.flatnonzero(units == _DOT), urls.hosts, urls.paths)
        starts = np.concatenate((names, urls.hosts, dots + 1))
        whose = np.concatenate((np.arange(len(names)), np.arange(len(names)), owners))
        hosts[places[whose[self._find_listed_stretches(urls, starts, urls.paths[whose], below=len(names))]]] = True
        if self.pages:
            some = self._find_listed_stretches(urls, names, urls.paths + 1)  # hosts of which pages are listed
            pages[places[self._find_listed_pages(urls, names, some)]] = True

    def _find_listed_pages(self, urls: UrlColumn, names: Numbers, some: Numbers) -> Numbers:
        """The numbers of those of some URLs of which the page, or a folder above it, is listed."""
        (slashes,) = np.nonzero(urls.column.units == _SLASH)
        slashes, owners = _marks_in_stretches(slashes, urls.paths[some] + 1, urls.queries[some])
        near = np.arange(len(owners)) - np.searchsorted(owners, owners) < _FOLDERS
        ends = np.concatenate((slashes[near], urls.queries[some], urls.ends[some]))
        whose = np.concatenate((some[owners[near]], some, some))
        named = urls.column.units[ends - 1] != _SLASH  # of the others, the stretch without `/` is looked up too
        ends, whose = ends[named], whose[named]
        listed: Numbers = whose[self._find_listed_stretches(urls, names[whose], ends)]
        return listed

    def _find_listed_stretches(
        self, urls: UrlColumn, starts: Numbers, ends: Numbers, *, below: int | None = None
    ) -> Numbers:
        """The numbers of the stretches that are entries; those from `below` on, entries with all hosts below them."""
        hashes = urls.column.hashes(starts, ends)
        below = len(starts) if below is None else below
        hashes[below:] ^= _BELOW
        places = hashes >> np.uint64(64 - _filter_hash_bits(len(self.bits)))
        likely = np.flatnonzero(self.bits[places >> np.uint64(3)] >> (places & np.uint64(7)).astype(np.uint8) & 1)
        rows = np.minimum(np.searchsorted(self.hashes, hashes[likely]), len(self.hashes) - 1)
        equal = self.hashes[rows] == hashes[likely]
        sure = []
        for number, row in zip(likely[equal].tolist(), rows[equal].tolist(), strict=True):
            string = urls.column.units[starts[number] : ends[number]].tobytes()
            if self._has_key_at_row(b".%b\n" % string if number >= below else b"%b\n" % string, row):
                sure.append(number)
        return np.array(sure, np.int64)

    def _has_key_at_row(self, key: bytes, row: int) -> bool:
        """Whether a key is at a row, or at a row after it that has the same hash."""
        hashed = self.hashes[row]
        while row < len(self.hashes) and self.hashes[row] == hashed:
            if self.keys.startswith(key, int(self.starts[row])):
                return True
            row += 1
        return False


def _entry_keys(entries: Iterable[ListedUrl], *, below: bool) -> Iterator[str]:
    for host, page in entries:
        bare = host.removeprefix("www.")
        if page:
            yield bare + page
            yield f"{bare}/"
        elif not below:
            yield bare
        else:
            yield f".{host}"
            if bare != host:
                yield bare


def _hash_keys(keys: CodePoints) -> Hashes:
    """The hash of each key, as `_find_listed_stretches` computes it of a URL: without the dot before it."""
    below = keys.units[keys.bounds[:-1]] == _DOT
    hashes = keys.hashes(keys.bounds[:-1] + below, keys.bounds[1:] - 1)
    hashes[below] ^= _BELOW
    return hashes


def _marks_in_stretches(marks: Numbers, starts: Numbers, ends: Numbers) -> tuple[Numbers, Numbers]:
    """The marks that are in stretches, stretch by stretch, and the number of the stretch of each."""
    first, last = np.searchsorted(marks, starts), np.searchsorted(marks, ends)
    counts = np.maximum(last - first, 0)
    owners = np.repeat(np.arange(len(starts)), counts)
    before = np.cumsum(counts) - counts
    return marks[np.arange(len(owners)) + (first - before)[owners]], owners


def _build_hash_filter(hashes: Hashes) -> NDArray[np.uint8]:
    width = max((len(hashes) << _SPARSE).bit_length(), 3)
    bits = np.zeros(1 << width - 3, np.uint8)
    places = hashes >> np.uint64(64 - width)
    np.bitwise_or.at(bits, places >> np.uint64(3), np.uint8(1) << (places & np.uint64(7)).astype(np.uint8))
    return bits


def _filter_hash_bits(size: int) -> int:
    """The bits of a hash that a filter of so many bytes takes."""
    return size.bit_length() + 2
