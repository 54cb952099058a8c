"""Raw objects beside what the ledgers say that documents were made from: only what was read is known to be searched."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from gristmill.errors import GristmillError, StoreError
from gristmill.lake.address import Place
from gristmill.lake.asset_kinds import DOCUMENTS, RAW, kind_of
from gristmill.lake.ledger.files import list_ledgers, read_ledger
from gristmill.lake.ledger.model import Shard
from gristmill.lake.ledger.receipts import RawVersion, raw_stamps
from gristmill.lake.rows.raw_parts import PartEdges, sha256_of_part
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.protocol import Entry, Store
from gristmill.raw_data.erasures import ErasedObject, read_erasures
from gristmill.raw_data.scan import list_raw_objects, raw_top
from gristmill.recipes.source import Source
from gristmill.stages.conversion.parts import recorded_part_edges

UNUSED = "no document was made from it"
NEVER_READ = f"{UNUSED}, and none will be: no recipe takes such a name"
CHANGED = "it has changed since documents were made from it"


class _RawReading(NamedTuple):
    """One reading of a raw object, or of a part of it: the sha256 in the ledger, and the version in the run's note."""

    sha256: str
    version: RawVersion | None
    part: PartEdges | None


class RawObjects:
    """The raw objects that documents were made from.

    Args:
        store: the lake.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, dict[tuple[Place, str], list[_RawReading]]] = {}
        self._sources: set[str] = set()
        self._here: set[str] = set()

    def add(self, there: Place, rows: Iterable[Shard]) -> None:
        """Takes the raw objects that the table of a partition names.

        Args:
            there: the partition.
            rows: its table.
        """
        versions: dict[str, RawVersion] | None = None
        for row in rows:
            part = recorded_part_edges(row, there.table) if there.kind is DOCUMENTS else None
            for read in row.inputs:
                if kind_of(read.asset) is not RAW:
                    continue
                if versions is None:
                    versions = raw_stamps(self._store, there)
                self._sources.add(read.asset)
                name = part.object if part else read.shard
                reading = _RawReading(read.content, versions.get(read.shard), part)
                for path in (f"{read.asset}/{there.snapshot}/{name}", f"{read.asset}/{name}"):
                    self._read.setdefault(path, {}).setdefault((there, name), []).append(reading)

    def why_unread(self, entry: Entry) -> str:
        """The reason why nobody knows the documents of a raw object; empty if documents were made from it as it is now.

        Args:
            entry: entry of the object. It is read only if its version is not the one that was read.
        """
        read = self._read.get(entry.path)
        if read is None:
            return UNUSED
        self._here.update(asset for asset in self._sources if entry.path.startswith(f"{asset}/"))
        try:
            same = any(all(self._is_same(entry, each) for each in readings) for readings in read.values())
        except StoreError as error:
            return f"it cannot be read ({str(error).removeprefix(f'{entry.path}: ')})"
        return "" if same else CHANGED

    def _is_same(self, entry: Entry, reading: _RawReading) -> bool:
        version, part = reading.version, reading.part
        if version is not None and version.sha256 == reading.sha256 and version.same(entry):
            return True
        if part is None:
            return hash_object(self._store, entry.path) == reading.sha256
        return entry.size == part.size and sha256_of_part(self._store, entry.path, part.part) == reading.sha256

    def is_cut(self, path: str, cuts: Iterable[ErasedObject | None]) -> bool:
        """Whether an object is what an erasure has left of the one that documents were made from.

        Args:
            path: path of the object.
            cuts: records of erasures about the object; None where an erasure has none.
        """
        made = {each.sha256 for readings in self._read.get(path, {}).values() for each in readings}
        left = {sha256 for cut in cuts if cut and cut.before in made for sha256 in (cut.after, cut.coming) if sha256}
        return bool(left) and hash_object(self._store, path) in left

    def assets_outside(self) -> list[str]:
        """The raw assets of which no object was asked for that documents were made from: they lie outside of the lake,
        or are gone.
        """
        return sorted(self._sources - self._here)


def never_read_objects(sources: Iterable[Source], paths: Iterable[str]) -> Iterator[str]:
    """The raw objects that `make` never reads: hidden ones, those of no snapshot, and those that `select` leaves out.

    Objects of sources without a recipe are not named: a recipe of another package may read them.

    Args:
        sources: the recipes.
        paths: paths of raw objects in the lake.
    """
    tops = {top: source for source in sources if (top := raw_top(source))}
    for path in paths:
        for top, source in tops.items():
            if path.startswith(top) and not _takes_object(source, path.removeprefix(top)):
                yield path


def _takes_object(source: Source, name: str) -> bool:
    split = source.partition.split(name)
    return split is not None and source.wants(name.removeprefix(source.partition.prefix(split[0])))


def unaccounted_raw_objects(store: Store, sources: Iterable[Source]) -> Iterator[tuple[str, str]]:
    """The raw objects of the lake that recipes read, and of which nobody knows the documents: path, and why.

    What an erasure has left of an object counts as known if documents were made from the object of before: it has the
    same documents but for those that were cut.

    Args:
        store: the lake.
        sources: the recipes.

    Raises:
        DataError: the record of an erasure is wrong.
        StoreError: the lake does not answer.
    """
    raw, cuts = RawObjects(store), [record.objects for _, record in read_erasures(store)]
    for there in list_ledgers(store):
        with suppress(GristmillError):  # a ledger that cannot be read makes nothing known
            raw.add(there, read_ledger(store, there)[1])
    for source in sources:
        top = raw_top(source)
        for entry in list_raw_objects(source, store, top, "", lambda _: None) if top else ():
            if not _takes_object(source, entry.path.removeprefix(top)):
                continue
            why = raw.why_unread(entry)
            if why and not (why == CHANGED and raw.is_cut(entry.path, [each.get(entry.path) for each in cuts])):
                yield entry.path, why
