"""The objects of a lake that no current ledger names. Nobody knows which documents they have.

Such objects are parts and releases that were replaced, what a run left or has not finished, files of an index that was
not made again, and files that are not of the lake.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from gristmill.errors import GristmillError, StoreError
from gristmill.lake.address import part_at, place
from gristmill.lake.asset_kind import LEDGERS, expression_of
from gristmill.lake.asset_kinds import (
    CONSOLIDATED,
    EXPORT,
    MIX,
    PACKING,
    RAW,
    TOKEN_CACHE,
    kind_of,
    ledger_of_object,
    whole_asset_of,
)
from gristmill.lake.ledger.adopted import root_path
from gristmill.lake.ledger.derived import columns_path, examples_path
from gristmill.lake.ledger.files import list_ledgers, read_head, read_ledger
from gristmill.lake.ledger.index_ledger import read_index_ledger
from gristmill.lake.ledger.lake_id import LAKE_FILE
from gristmill.lake.ledger.receipts import objects_of, read_run_note
from gristmill.lake.store.hashing import sha256_of
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Entry, ObjectVersion, Store
from gristmill.releases.pinned import RELEASES, name_of_release
from gristmill.releases.pins import pins
from gristmill.stages.export.index import release_folder
from gristmill.takedowns.raw_objects import RawObjects
from gristmill.takedowns.side_files import ROWS

TRAINED_KINDS = (MIX, TOKEN_CACHE, EXPORT)
"""The kinds of assets that training reads."""

_TRAINED = tuple(kind.top for kind in TRAINED_KINDS)
_WHOLE = (CONSOLIDATED, PACKING)
"""The kinds of indexes that account for everything in their folder, if they are current."""

_RECEIPTS = re.compile(rf"{LEDGERS}.*\.receipts/")
_RAW = re.compile(f"{expression_of(RAW.address)}/")
_OWN = re.compile(
    rf"{re.escape(LAKE_FILE)}|blocklists/[^/]+\.jsonl|withdrawn/[0-9a-f]{{16}}\.json|withdrawn/releases/[^/]+\.json"
    r"|dedupe/[^/]+/order\.json"
)
"""Objects of the lake that have no ledger, and no text of a document."""

_AT_WORK = "a run is at work there, or was killed: make it, or run again"
_REPLACED = (
    "it is not the object that its ledger names, such as a copy that was put back; gristmill make makes it again"
)
_OLD = "no ledger names it; remove it with gristmill gc"
_UNNAMED = "no ledger names it; gristmill gc removes what runs left; move other files out of the lake"


class UnreadObjects(NamedTuple):
    """What a search through ledgers does not read: why, by path. Of a part or a release, the path of its folder.

    Attributes:
        old: in the places of what training reads.
        strays: in other places of the lake; what is not finished; and what is not the object that its ledger names.
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


def unread(store: Store) -> UnreadObjects:
    """Lists a whole lake, and finds what no current ledger names.

    Args:
        store: the lake.

    Raises:
        StoreError: the lake does not answer.
    """
    odd: dict[str, str] = {}
    named, made, raw = _named(store)
    found = UnreadObjects({}, {}, [], {}, [])
    pinned = pins(store, damaged=True)
    indexes: dict[str, tuple[Mapping[str, str] | None, str]] = {}
    for entry in store.list(
        "", "", lambda each: odd.update({each.path: each.reason})
    ):  # may be millions of raw objects
        path = entry.path
        if path in made:
            found.strays.update(_replaced(store, entry, *made[path]))
            continue
        if path in named or _OWN.fullmatch(path) or ROWS.fullmatch(path):
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
            if ledger not in indexes:
                indexes[ledger] = _index(store, ledger)
            why = _why_unread(path, ledger, *indexes[ledger])
        if why:
            part = part_at(path)
            sort = found.old if path.startswith(_TRAINED) and why != _AT_WORK else found.strays
            place_of = part[1] if part else release_folder(path) or path
            keeping = pinned.get(place_of.rstrip("/").rpartition("/")[2], [])
            sort.setdefault(place_of, _kept_for(keeping) if keeping else _OLD if part else why)
    found.elsewhere.extend(raw.elsewhere())
    found.raw.update({path: why for path, why in odd.items() if _RAW.match(f"{path}/")})
    found.strays.update({path: why for path, why in odd.items() if path not in found.raw})
    found.strays.update({each.path: "a file that is not finished: " + _AT_WORK for each in store.unfinished()})
    return found


def _kept_for(files: Sequence[str]) -> str:
    names = [name for path in files if (name := name_of_release(path)) is not None]
    withdraw = " and ".join(f"gristmill erase --release {name}" for name in names) or "remove these files"
    return f"no ledger names it, but {', '.join(files)}, so gc keeps it; {withdraw}, then gristmill gc"


def _replaced(store: Store, entry: Entry, sha256: str, version: ObjectVersion | None) -> dict[str, str]:
    """Why an object is not the one that its ledger names, by its path; empty if it is.

    The object is read if its version is not that of the run's note.
    """
    if version is not None and version.same(entry):
        return {}
    try:
        return {} if sha256_of(store, entry.path) == sha256 else {entry.path: _REPLACED}
    except StoreError as error:
        return {entry.path: f"it cannot be read ({str(error).removeprefix(f'{entry.path}: ')})"}


def _named(store: Store) -> tuple[set[str], dict[str, tuple[str, ObjectVersion | None]], RawObjects]:
    """What ledgers name. A ledger that cannot be read names nothing.

    Returns:
        Ledgers, releases and what is derived; the objects of shards, with their sha256 and the version in the run's
        note; and the raw objects that documents were made from.
    """
    named: set[str] = set()
    made: dict[str, tuple[str, ObjectVersion | None]] = {}
    raw = RawObjects(store)
    for there in list_ledgers(store):
        named |= {there.ledger, there.table, there.run}
        try:
            rows = read_ledger(store, there)[1]
        except GristmillError:
            continue
        named |= {examples_path(there), root_path(there)}
        stamps = read_run_note(store, there).stamps
        for row in rows:
            made.update((path, (sha256, stamps.get(path))) for path, sha256, _ in objects_of(row, there))
            named.add(columns_path(there, row.name))
        raw.add(there, rows)
    for entry in store.list(RELEASES):
        if name_of_release(entry.path):
            named |= {entry.path, *_files(store, entry.path)}
    return named, made, raw


def _files(store: Store, path: str) -> Mapping[str, str]:
    """The files that the object of a release, a tokenizer, a model or a labelled set names; none if it is damaged."""
    tagged = store.read_tagged(path)
    try:
        return msgspec.json.decode(tagged[0], type=_NamedFiles).files if tagged else {}
    except NOT_DECODED:
        return {}


def _index(store: Store, path: str) -> tuple[Mapping[str, str] | None, str]:
    """The files that an index names, by path, and why they are not current; empty if they are.

    None: everything in its folder is its own.
    """
    asset = whole_asset_of(path) or ""
    kind = kind_of(asset)
    if kind is None or kind.closes is None:
        return {f"{asset}/{name}": sha256 for name, sha256 in _files(store, path).items()}, ""
    try:
        ledger = read_index_ledger(store, path)
        if ledger is None:
            return {}, f"{path} is missing; make the index"
        for upstream in ledger.inputs if kind.top in _TRAINED else ():
            head = read_head(store, place(upstream.asset, upstream.snapshot))
            if head is None or head.fingerprint != upstream.fingerprint:
                why = f"its index was made from another {upstream.asset} ({upstream.snapshot}); make the index"
                return ledger.files, why
    except GristmillError as error:
        return {}, str(error)
    return None if kind in _WHOLE else ledger.files, ""


def _why_unread(path: str, ledger: str, files: Mapping[str, str] | None, why: str) -> str:
    """Why an object in the folder of an index is not known to be current; empty if it is."""
    if why or files is None or path == ledger or path in files:
        return why
    return "its index does not name it; remove it with gristmill gc"
