"""Which raw objects of a snapshot are new, changed or gone since its documents were last made."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from gristmill.errors import GristmillError
from gristmill.lake.address import documents_asset, place
from gristmill.lake.ledger.receipts import RawVersion, raw_stamps
from gristmill.lake.rows.raw_parts import object_name_and_offset
from gristmill.lake.store.protocol import Entry, Store
from gristmill.raw_data.listing import list_raw
from gristmill.raw_data.scan import Seen
from gristmill.recipes.source import Source, Split

Stamp = TypeVar("Stamp", RawVersion, Entry)

MOST = 20_000
"""Most objects of a snapshot that are compared: a tick of a sensor has no time for more."""


WORDS = {"again": "to look at (other stamp, same size)"}
"""Words for changes whose fields are not words for people."""


class RawChanges(NamedTuple):
    """The names of raw objects below their snapshot, sorted.

    Attributes:
        new: objects that the documents were not made from.
        changed: objects with another size, or with other bytes, as a look at the snapshot has found.
        gone: objects that the documents were made from, and that are there no longer.
        again: objects with another stamp and the same size, as in a copied lake: only a run that reads them can tell
            whether they have changed.
    """

    new: Sequence[str] = ()
    changed: Sequence[str] = ()
    gone: Sequence[str] = ()
    again: Sequence[str] = ()

    @property
    def named(self) -> Mapping[str, Sequence[str]]:
        """The names of the objects, by what happened to them, in words."""
        return {WORDS.get(field, field): names for field, names in self._asdict().items()}

    def __str__(self) -> str:
        """The numbers in words, without those that are 0.

        >>> str(RawChanges(["b.jsonl"], [], ["c.jsonl", "d.jsonl"]))
        '1 file new, 2 gone'
        >>> str(RawChanges([], [], ["c.jsonl", "d.jsonl"]))
        '2 files gone'
        >>> str(RawChanges(again=["c.jsonl", "d.jsonl"]))
        '2 files to look at (other stamp, same size)'
        """
        counts = [(len(names), what) for what, names in self.named.items() if names]
        words = [f"{count:,} {what}" for count, what in counts]
        if counts:
            (count, what), plural = counts[0], "" if counts[0][0] == 1 else "s"
            words[0] = f"{count:,} file{plural} {what}"
        return ", ".join(words)

    def rows(self, most: int) -> Iterator[Mapping[str, str]]:
        """A row for each object, at most so many: its name, and what happened to it."""
        named = [(name, what) for what, names in self.named.items() for name in names]
        yield from ({"file": name, "change": what} for name, what in sorted(named)[:most])


def find_changes(source: Source, lake: Store, raw: Store, snapshot: str, seen: Seen) -> RawChanges | None:
    """Compares the raw objects of a snapshot with those that its documents were made from.

    Args:
        source: the recipe.
        lake: store of the notes of the runs that read the objects.
        raw: store of the raw objects.
        snapshot: its key.
        seen: objects that a scan saw of the snapshot.

    Returns:
        The changes. None if no run has made the documents, if there are more than MOST objects, or if the objects
        cannot be listed now: a report must not fail because it cannot say more.
    """
    if seen.objects > MOST:
        return None
    try:
        read = _stamps_by_object(
            source, raw_stamps(lake, place(documents_asset(source.name, source.versions[0]), snapshot))
        )
        entries = _stamps_by_object(source, list_raw(source, raw, snapshot).entries) if read and seen.objects else {}
    except GristmillError:
        return None
    if not read:
        return None
    both = sorted(entries.keys() & read.keys())
    differ = [name for name in both if not _is_same(read[name], entries[name], seen)]
    again = [name for name in differ if _is_unsure(read[name], entries[name])]
    changed = sorted(set(differ) - set(again))
    return RawChanges(sorted(entries.keys() - read.keys()), changed, sorted(read.keys() - entries.keys()), again)


def _stamps_by_object(source: Source, named: Mapping[str, Stamp]) -> Mapping[str, Stamp]:
    """By the names of objects; those of a source that cuts large objects are by the names of their parts."""
    return (
        {object_name_and_offset(name)[0]: each for name, each in named.items()}
        if isinstance(source.shards, Split)
        else named
    )


def _is_same(read: RawVersion, entry: Entry, seen: Seen) -> bool:
    """Whether an object is as it was read. If a look has found other bytes of the same size, the ctime tells."""
    return read.same(entry) if seen.rewritten else (read.size, read.etag) == (entry.size, entry.etag)


def _is_unsure(read: RawVersion, entry: Entry) -> bool:
    """Whether only the bytes of an object that differs can tell: its tag is another, but not its size."""
    return read.size == entry.size and read.etag != entry.etag
