"""Which raw objects cannot be shards side by side: two of one shard, or a shard that has the place of a folder.

Also which names are one on other disks: macOS and Windows do not tell `Tale` from `tale`, macOS not both forms of `é`.

The files of a shard `00` are `00.jsonl.gz`, `00.json` and `00.xxh128`. So a shard `00.json/b` needs a folder where the
shard `00` has a file.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gristmill.lake.address import SHARD_SUFFIX

FILES = (SHARD_SUFFIX, ".json", ".xxh128")
"""The endings of a shard's files: its rows, its receipt, its id index."""

MOST = 1000
"""Most folders with such an ending that a scan remembers."""


def shards_in_the_way(shard: str) -> Iterator[str]:
    """The shards with a file where this shard needs a folder.

    >>> list(shards_in_the_way("a/00.json/b"))
    ['a/00']
    """
    parts = shard.split("/")
    for depth in range(1, len(parts)):
        folder = "/".join(parts[:depth])
        yield from (folder.removesuffix(end) for end in FILES if folder.endswith(end))


def fold_disk_name(name: str) -> str:
    """A name as the disks of macOS and Windows compare it: without case, in one Unicode form.

    >>> fold_disk_name("CAFE\u0301"), fold_disk_name("caf\u00e9") == fold_disk_name("CAFE\u0301")
    ('café', True)
    """
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def names_equal_on_disk(names: Iterable[str]) -> dict[str, str]:
    """The names that are one on some disks: for each but the first of them, in sorted order, the first.

    >>> names_equal_on_disk(["b", "a", "B", "A"])
    {'a': 'A', 'b': 'B'}
    """
    firsts: dict[str, str] = {}
    return {name: first for name in sorted(names) if (first := firsts.setdefault(fold_disk_name(name), name)) != name}


def one_on_disk(first: str, second: str) -> str:
    """The words about two names that are one on some disks.

    Args:
        first: a name.
        second: another name, which differs from it only by case or by the form of a letter.
    """
    return (
        f"{first} and {second} differ only by case or by the form of a letter, so disks of macOS and Windows hold"
        " one of them; rename one"
    )


def name_clash(names: Mapping[str, str]) -> tuple[str, str] | None:
    """The names of two raw objects of which one needs a folder where the other has a file; None if there are none.

    Args:
        names: a raw object of each shard, by shard.
    """
    for shard, name in names.items():
        for host in shards_in_the_way(shard):
            if host in names:
                return names[host], name
    return None


class NameWatch(msgspec.Struct):
    """Looks for clashes among the objects of a listing in the order of names, and remembers only few of them.

    Two names that clash begin with the same stem, and a listing gives all names that begin with it one after another.

    Attributes:
        stems: starts with which the next name may begin, each with the snapshot and shard of an object, and its name.
            Each start is the start of the next one.
        claims: the first object that needs a folder where a shard has a file, by this shard and its snapshot.
    """

    stems: list[tuple[str, str, str]] = []
    claims: dict[str, str] = {}

    def look(self, snapshot: str, shard: str, name: str, start: str) -> str | None:
        """Looks at the next object.

        Args:
            snapshot: snapshot that it belongs to.
            shard: name of the shard that it becomes.
            name: name of the object, below the raw folder of its source.
            start: the start of the name, up to the end of the shard's name.

        Returns:
            The name of an object that it clashes with; None if no such object has been seen.
        """
        stems, key = self.stems, f"{snapshot}/{shard}"
        while stems and not name.startswith(stems[-1][0]):
            stems.pop()
        found = self.claims.get(key) if self.claims else None
        needed = self._claim_shard_name(snapshot, shard, name) if ".json" in shard or ".xxh128" in shard else ()
        for _, earlier, other in stems:
            if found is None and (earlier == key or earlier in needed):
                found = other
        stems.append((start, key, name))
        return found

    def _claim_shard_name(self, snapshot: str, shard: str, name: str) -> set[str]:
        """Remembers, and returns, the snapshot and name of each shard with a file where this one needs a folder."""
        needed = {f"{snapshot}/{host}" for host in shards_in_the_way(shard)}
        for host in needed:
            if len(self.claims) < MOST:
                self.claims.setdefault(host, name)
        return needed
