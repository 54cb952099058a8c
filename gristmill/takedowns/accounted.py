"""The objects of a lake that no current ledger names. Nobody knows which documents they have.

Such objects are parts and releases that were replaced, what a run left or has not finished, files of an index that was
not made again, and files that are not of the lake.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from gristmill.errors import DataError, GristmillError, StoreError
from gristmill.execution.mend import how_to_reindex
from gristmill.formats.levanter.checksums import CHECKSUMS
from gristmill.lake.address import part_at, place
from gristmill.lake.asset_kind import LEDGERS, pattern_as_regex
from gristmill.lake.asset_kinds import (
    KINDS,
    RAW,
    kind_of,
    ledger_of_object,
    whole_asset_of,
)
from gristmill.lake.ledger.adopted import root_path
from gristmill.lake.ledger.files import list_ledgers, read_head, read_ledger
from gristmill.lake.ledger.folders.pinned_upload import RELEASES, name_of_release
from gristmill.lake.ledger.index_ledger import TEXTS, content_digest, read_index_ledger
from gristmill.lake.ledger.receipts import objects_of_row, read_run_note
from gristmill.lake.store.adopted import Root
from gristmill.lake.store.hashing import hash_object
from gristmill.lake.store.json_object import NOT_DECODED, decode_object
from gristmill.lake.store.protocol import Entry, ObjectVersion, Store
from gristmill.releases.moved import lake_named_in_file
from gristmill.releases.pins import named_by_indexes, pinned_by_releases
from gristmill.stages.export.index import release_folder
from gristmill.takedowns.own_objects import why_not_own
from gristmill.takedowns.places import TRAINED
from gristmill.takedowns.raw_objects import RawObjects

_TRAINED = tuple({kind.top_folder for kind in KINDS if kind.area in TRAINED})

_RECEIPTS = re.compile(rf"{LEDGERS}.*\.receipts/")
_RAW = re.compile(f"{pattern_as_regex(RAW.address)}/")

_AT_WORK = "a run is at work there, or was killed: make it, or run again"
_REPLACED = (
    "it is not the object that its ledger names, such as a copy that was put back; gristmill make makes it again"
)
_OLD = "no ledger names it; remove it with gristmill gc"
_UNNAMED = "no ledger names it; gristmill gc removes what runs left; move other files out of the lake"


class UnreadObjects(NamedTuple):
    """What a search through ledgers does not read: why, by path. Of a part or a release, the path of its folder.

    Attributes:
        old: unread objects in the places of what training reads.
        strays: unread objects in other places of the lake; what is not finished; and what is not the object that its
            ledger names.
        foreign: the paths of files that are not of the lake.
        raw: raw objects that no document was made from as they are now.
        elsewhere: the raw assets that documents were made from, and that have no such object in the lake.
    """

    old: dict[str, str]
    strays: dict[str, str]
    foreign: list[str]
    raw: dict[str, str]
    elsewhere: list[str]


class _NamedFiles(msgspec.Struct):
    files: dict[str, str] = {}


class _Made(NamedTuple):
    """An object that a ledger names: the digest there, and its version in the run's note."""

    digest: str
    version: ObjectVersion | None = None


def find_unread_objects(store: Store, read: Collection[str]) -> UnreadObjects:
    """The objects of a lake that nobody has read and no current ledger proves by its digest, each with the reason.

    Args:
        store: the lake.
        read: the objects that a search has read: `Search.read`.

    Raises:
        StoreError: the lake does not answer.
    """
    odd: dict[str, str] = {}
    tables, roots, made, raw = _objects_named_by_ledgers(store)
    found = UnreadObjects({}, {}, [], {}, [])
    indexes = _Indexes(store)
    unnamed: dict[str, str] = {}
    for entry in store.list(
        "", "", lambda each: odd.update({each.path: each.reason})
    ):  # may be millions of raw objects
        path = entry.path
        if path in made:
            found.strays.update(_replaced_object_reasons(store, entry, made[path]))
            continue
        if path in read or path in tables:
            continue
        own = why_not_own(store, path, Root if path in roots else None)
        if own is not None:
            found.strays.update({path: own} if own else {})
            continue
        if _RAW.match(path):
            if why := raw.why_unread(entry):
                found.raw[path] = why
            continue
        ledger = ledger_of_object(path)
        if ledger is None:
            found.foreign.append(path)
            continue
        why = _AT_WORK if _RECEIPTS.search(path) else _UNNAMED
        if whole_asset_of(ledger) is not None:
            why, digest = indexes.why_unread(path, ledger)
            if digest:
                found.strays.update(_replaced_object_reasons(store, entry, _Made(digest)))
                continue
        unnamed.setdefault(_folder_to_name(path), _OLD if part_at(path) else why)
    _add_unnamed_objects(store, found, unnamed)
    found.elsewhere.extend(raw.assets_outside())
    found.raw.update({path: why for path, why in odd.items() if _RAW.match(f"{path}/")})
    found.strays.update({path: why for path, why in odd.items() if path not in found.raw})
    found.strays.update({each.path: "a file that is not finished: " + _AT_WORK for each in store.unfinished()})
    return found


def _folder_to_name(path: str) -> str:
    """What to name for an object that no ledger names: its path, or the folder of its part or release."""
    part = part_at(path)
    return part[1] if part else release_folder(path) or path


def _add_unnamed_objects(store: Store, found: UnreadObjects, unnamed: Mapping[str, str]) -> None:
    """Adds objects and folders that no ledger names, and why, by path: of parts also why `gc` keeps them."""
    pinned = pinned_by_releases(store, damaged=True) if unnamed else {}
    indexed = named_by_indexes(store, damaged=True) if unnamed else {}
    for path, why in unnamed.items():
        name = path.rstrip("/").rpartition("/")[2]
        sort = found.old if path.startswith(_TRAINED) and why != _AT_WORK else found.strays
        sort[path] = _kept_part_reason(pinned.get(name, ()), indexed.get(name, ())) or why


def _kept_part_reason(releases: Sequence[str], indexes: Sequence[str]) -> str:
    """Why `gc` keeps a part, and the mend; empty if neither a file of a release nor one of an index names it.

    `make` tells what holds an index back, such as an edition with less than half of what those before had.
    """
    mends: list[str] = []
    if releases:
        names = [name for path in releases if (name := name_of_release(path)) is not None]
        mends.append(" and ".join(f"gristmill erase --release {name}" for name in names) or "remove these files")
    if indexes:
        mends.append("gristmill make, which makes this index or tells what holds it back")
    files = ", ".join([*releases, *dict.fromkeys(path.rpartition("/")[0] for path in indexes)])
    return f"no ledger names it, but {files}, so gc keeps it; {', '.join(mends)}, then gristmill gc" if mends else ""


def _replaced_object_reasons(store: Store, entry: Entry, made: _Made) -> dict[str, str]:
    """Why an object is not the one that its ledger names, by its path; empty if it is.

    The object is read if its version is not that of the run's note.
    """
    if made.version is not None and made.version.same(entry):
        return {}
    try:
        return {} if _has_digest(store, entry.path, made.digest) else {entry.path: _REPLACED}
    except StoreError as error:
        return {entry.path: f"it cannot be read ({str(error).removeprefix(f'{entry.path}: ')})"}


def _has_digest(store: Store, path: str, digest: str) -> bool:
    """Whether an object has a sha256, or the content digest of a text that names the root of this or another lake."""
    if not path.endswith(TEXTS):
        return hash_object(store, path) == digest
    data = store.read(path)
    try:
        return digest in {hashlib.sha256(data).hexdigest(), content_digest(data, path, store.url)} or bool(
            lake_named_in_file(data, path, digest)
        )
    except DataError:
        return False


def _objects_named_by_ledgers(store: Store) -> tuple[set[str], set[str], dict[str, _Made], RawObjects]:
    """What ledgers name. A ledger that cannot be read names nothing.

    Returns:
        The tables, which have the digests in their heads; what says where adopted files are; the objects of shards and
        the files of releases; and the raw objects that documents were made from.
    """
    tables: set[str] = set()
    roots: set[str] = set()
    made: dict[str, _Made] = {}
    raw = RawObjects(store)
    for there in list_ledgers(store):
        try:
            rows = read_ledger(store, there)[1]
        except GristmillError:
            continue
        tables.add(there.table)
        roots.add(root_path(there))
        stamps = read_run_note(store, there).stamps
        for row in rows:
            made.update((path, _Made(sha256, stamps.get(path))) for path, sha256, _ in objects_of_row(row, there))
        raw.add(there, rows)
    for entry in store.list(RELEASES):
        if name_of_release(entry.path):
            made.update((path, _Made(digest)) for path, digest in _files_named_by_object(store, entry.path).items())
    return tables, roots, made, raw


def _files_named_by_object(store: Store, path: str) -> Mapping[str, str]:
    """The files that the object of a release, a tokenizer, a model or a labelled set names; none if it is damaged."""
    tagged = store.read_tagged(path)
    try:
        return msgspec.json.decode(tagged[0], type=_NamedFiles).files if tagged else {}
    except NOT_DECODED:
        return {}


class _Indexes:
    """What the ledgers of indexes, tokenizers, models and labelled sets name. Each is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[Mapping[str, str], str]] = {}

    def why_unread(self, path: str, ledger: str) -> tuple[str, str]:
        """Why an object in the folder of an index is not known to be current; or the digest that it must have."""
        if ledger not in self._known:
            self._known[ledger] = _index_file_digests(self._store, ledger)
        files, why = self._known[ledger]
        if not why and path in files:
            return "", files[path]
        return why or "its index does not name it; remove it with gristmill gc", ""


def _index_file_digests(store: Store, path: str) -> tuple[Mapping[str, str], str]:
    """The digests of the files that an index names, by path, and why they are not current; empty if they are."""
    asset = whole_asset_of(path) or ""
    kind = kind_of(asset)
    if kind is None or kind.closes is None:
        return {f"{asset}/{name}": sha256 for name, sha256 in _files_named_by_object(store, path).items()}, ""
    try:
        ledger = read_index_ledger(store, path)
        if ledger is None:
            return {}, f"{path} is missing; {how_to_reindex(store, path)}"
        for upstream in ledger.inputs if kind.top_folder in _TRAINED else ():
            head = read_head(store, place(upstream.asset, upstream.snapshot))
            if head is None or head.fingerprint != upstream.fingerprint:
                made = f"its index was made from another {upstream.asset} ({upstream.snapshot})"
                why = f"{made}; {how_to_reindex(store, path)}"
                return ledger.files, why
        return {**ledger.files, **_copied_object_digests(store, ledger.files)}, ""
    except GristmillError as error:
        return {}, str(error)


def _copied_object_digests(store: Store, files: Mapping[str, str]) -> dict[str, str]:
    """The digests of the objects of consolidated copies, which the index names by their files of checksums."""
    found: dict[str, str] = {}
    for path in files:
        folder, _, name = path.rpartition("/")
        if name == CHECKSUMS:
            sums = decode_object(store.read(path), dict[str, str], path, "checksums", "make the index")
            found.update({f"{folder}/{each}": sha256 for each, sha256 in sums.items()})
    return found
