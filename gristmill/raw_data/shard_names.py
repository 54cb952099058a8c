"""Which raw objects cannot be shards side by side: two of one shard, or a shard that has the place of a folder.

The files of a shard `00` are `00.jsonl.gz`, `00.json` and `00.xxh128`. So a shard `00.json/b` needs a folder where the
shard `00` has a file.
"""

from collections.abc import Iterator, Mapping

import msgspec

from gristmill.lake.address import SHARD_SUFFIX

FILES = (SHARD_SUFFIX, ".json", ".xxh128")
"""The endings of a shard's files: its rows, its receipt, its id index."""

MOST = 1000
"""Most folders with such an ending that a scan remembers."""


def hosts(shard: str) -> Iterator[str]:
    """The shards with a file where this shard needs a folder.

    >>> list(hosts("a/00.json/b"))
    ['a/00']
    """
    parts = shard.split("/")
    for depth in range(1, len(parts)):
        folder = "/".join(parts[:depth])
        yield from (folder.removesuffix(end) for end in FILES if folder.endswith(end))


def clash(names: Mapping[str, str]) -> tuple[str, str] | None:
    """Two raw objects of which one needs a folder where the other has a file; None if there are none.

    Args:
        names: a raw object of each shard, by shard.
    """
    for shard, name in names.items():
        for host in hosts(shard):
            if host in names:
                return names[host], name
    return None


class NameWatch(msgspec.Struct):
    """Looks for clashes among the objects of a listing in the order of names, and remembers only few of them.

    Two names that clash begin with the same stem, and a listing gives all names that begin with it one after another.

    Attributes:
        stems: (start of the name, shard) of the objects that the next name may begin with, each the start of the next.
        claims: the first object that needs a folder where a shard has a file, by snapshot and shard.
    """

    stems: list[tuple[str, str, str]] = []
    claims: dict[str, str] = {}

    def look(self, snapshot: str, shard: str, name: str, start: str) -> str | None:
        """Looks at the next object.

        Args:
            snapshot: that it belongs to.
            shard: that it becomes.
            name: of the object, below the raw folder of its source.
            start: the start of the name, up to the end of the shard's name.

        Returns:
            The name of an object that it clashes with; None if no such object has been seen.
        """
        while self.stems and not name.startswith(self.stems[-1][0]):
            self.stems.pop()
        found = self.claims.get(f"{snapshot}/{shard}")
        needed = set(hosts(shard)) if ".json" in shard or ".xxh128" in shard else set()
        for _, key, other in self.stems:
            if key == f"{snapshot}/{shard}" or key.removeprefix(f"{snapshot}/") in needed:
                found = found or other
        for host in needed:
            if len(self.claims) < MOST:
                self.claims.setdefault(f"{snapshot}/{host}", name)
        self.stems.append((start, f"{snapshot}/{shard}", name))
        return found
