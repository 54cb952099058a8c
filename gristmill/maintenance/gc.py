"""Garbage: parts of token caches and exports that no ledger, merged ledger, index or release names any longer."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

from gristmill.errors import DataError
from gristmill.execution.claim import others_at_work
from gristmill.execution.work import Say
from gristmill.lake.address import Place, part_at
from gristmill.lake.asset_kinds import KINDS, PARTITIONED, in_ledgers
from gristmill.lake.ledger.files import list_ledgers, read_ledger
from gristmill.lake.ledger.receipts import objects_of, read_note
from gristmill.lake.ledger.walk import ledger_folders
from gristmill.lake.store.protocol import Entry, Store

_NAME = re.compile(rb"part-[0-9]+-[0-9a-f]+")
TOPS = tuple(dict.fromkeys(kind.top for kind in KINDS if kind.immutable))


@dataclass
class Garbage:
    """One part that nobody names.

    Attributes:
        place: its slice.
        folder: its folder, with the closing slash.
        entries: its objects.
    """

    place: Place
    folder: str
    entries: list[Entry] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.folder.rstrip("/").rpartition("/")[2]

    @property
    def bytes(self) -> int:
        """All of its objects."""
        return sum(entry.size for entry in self.entries)


def find_garbage(store: Store, say: Say) -> list[Garbage]:
    """The parts that could go. Slices at which a run is at work are passed over, and said.

    Parts are named by their folder's name, which carries the digest of all they were made from; who mentions it
    anywhere (a ledger, the merged ledger of a split, an index, a release) keeps it.

    Raises:
        DataError: a ledger or a release cannot be read: then nobody knows what it names.
        StoreError: the lake does not answer.
    """
    parts: dict[str, Garbage] = {}
    for entry in _entries(store):  # listed first: what is made from now on is not among them
        found = part_at(entry.path)
        if found:
            here, folder = found
            parts.setdefault(folder, Garbage(here, folder)).entries.append(entry)
    busy = {here for here in {part.place for part in parts.values()} if is_busy(store, here)}
    for here in sorted(busy, key=lambda each: each.ledger):
        say(f"{here.asset} ({here.snapshot}): a run is at work there, or was killed: nothing of it is touched")
    named = set(_named(store))
    free = [part for part in parts.values() if part.place not in busy]
    held = {here: _folders(store, here) for here in {part.place for part in free}}
    unnamed = [p for p in free if p.folder not in held[p.place] and p.name not in named]
    return sorted(unnamed, key=lambda part: part.folder)


def is_busy(store: Store, here: Place) -> bool:
    """Whether receipts or a claim lie at a slice."""
    return next(iter(store.list(here.receipts)), None) is not None


def _entries(store: Store) -> Iterator[Entry]:
    """All objects of the kinds that have parts."""
    return (entry for top in TOPS for entry in store.list(top))


def _folders(store: Store, here: Place) -> frozenset[str]:
    """The folders of the parts that a slice's ledger names."""
    if store.head(here.ledger) is None:
        return frozenset()
    folders: set[str] = set()
    for row in read_ledger(store, here)[1]:
        found = {each[1] for path, _, _ in objects_of(row, here) if (each := part_at(path))}
        if not found:
            raise DataError(f"{here.table}: part {row.name}: its row names no folders; make the slice again")
        folders |= found
    return frozenset(folders)


def _named(store: Store) -> Iterator[str]:
    """Names of parts that merged ledgers, indexes and releases mention."""
    for entry in _entries(store):
        if entry.path.endswith((".json", ".yaml")) and not part_at(entry.path) and not in_ledgers(entry.path):
            yield from _names_in(store, entry.path)
    for entry in store.list("releases/"):
        if entry.path.endswith(".json"):
            yield from _names_in(store, entry.path)


def _names_in(store: Store, path: str) -> Iterator[str]:
    data = store.read(path)
    if path.endswith(".json"):
        try:
            data = orjson.dumps(orjson.loads(data))  # one spelling for each name
        except orjson.JSONDecodeError as error:
            raise DataError(f"{path}: not valid JSON ({error}); restore it") from error
    yield from (found.decode() for found in _NAME.findall(data))


def remove(store: Store, garbage: Garbage) -> bool:
    """Removes one part, unless a run has come to its slice meanwhile, or its ledger names it now.

    Raises:
        StoreError: the lake does not answer.
    """
    if is_busy(store, garbage.place) or garbage.folder in _folders(store, garbage.place):
        return False
    store.delete([entry.path for entry in garbage.entries])
    return True


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
    for top in ledger_folders(store, *(kind for kind in PARTITIONED if not kind.immutable)):
        yield from list_ledgers(store, top)


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
