"""Leftovers: objects of documents, attributes and mixes that a ledger names no longer, left for who may read them."""

from collections.abc import Iterator
from dataclasses import dataclass

from gristmill.execution.claim import others_at_work
from gristmill.execution.work import Say
from gristmill.lake.address import Place
from gristmill.lake.ledger.files import list_ledgers, read_ledger
from gristmill.lake.ledger.receipts import objects_of, read_note
from gristmill.lake.store.protocol import Entry, Store
from gristmill.stages.garbage import is_busy


@dataclass(frozen=True)
class Leftovers:
    """What one partition's last run has left.

    Attributes:
        place: the partition.
        entries: the objects.
    """

    place: Place
    entries: tuple[Entry, ...]

    @property
    def bytes(self) -> int:
        """All of its objects."""
        return sum(entry.size for entry in self.entries)


def find_leftovers(store: Store, say: Say) -> list[Leftovers]:
    """What could go. Snapshots at which a run is at work are passed over, and said.

    Raises:
        DataError: a ledger cannot be read: then nobody knows what it names.
        StoreError: the lake does not answer.
    """
    found: list[Leftovers] = []
    for here in _places(store):
        left = read_note(store, here).left
        entries = tuple(entry for path in left if (entry := store.head(path)) is not None)
        if not entries:
            continue
        free = _free(store, here, entries)
        if free is None:
            say(f"{here.asset} ({here.snapshot}): a run is at work that may read it, or was killed: nothing is touched")
        elif free:
            found.append(Leftovers(here, free))
    return found


def _places(store: Store) -> Iterator[Place]:
    """Listed where ledgers lie: raw data and shards may be millions of objects."""
    for source in store.folders("sources/"):
        for version in store.folders(source):
            yield from list_ledgers(store, f"{version}ledgers/")
    for mix in store.folders("mixes/"):
        yield from list_ledgers(store, f"{mix}ledgers/")


def _free(store: Store, here: Place, entries: tuple[Entry, ...]) -> tuple[Entry, ...] | None:
    """Those that the ledger does not name; None while a run may read them."""
    if is_busy(store, here) or others_at_work(store, here, ""):
        return None
    named = {path for row in read_ledger(store, here)[1] for path, _, _ in objects_of(row, here)}
    return tuple(entry for entry in entries if entry.path not in named)


def remove_leftovers(store: Store, leftovers: Leftovers) -> bool:
    """Removes them, unless a run has come to the snapshot meanwhile.

    Raises:
        StoreError: the lake does not answer.
    """
    free = _free(store, leftovers.place, leftovers.entries)
    if free is None:
        return False
    store.delete([entry.path for entry in free])
    return True
