"""Proves that documents are gone, a line for each part of the lake.

Id indexes are read whole and compared with their digests. What is made from a shard is searched through this shard. So
an object that no current ledger names proves nothing, and is named. A document that nobody knows is never proven to be
gone: its name may be misspelt.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import Place, blocklist_path, place
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.ledger.folders.pinned_upload import objects_by_release
from gristmill.lake.rows.blocklists.blocklist import read_blocklist
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import read_catalogue
from gristmill.releases.pins import pinned_by_releases
from gristmill.stages.mixing.unmade import mend_of_unmade, unmade
from gristmill.takedowns.accounted import find_unread_objects
from gristmill.takedowns.due import due_slices, list_for_mix
from gristmill.takedowns.erasing.erasure import unfinished_erasures
from gristmill.takedowns.finder import Finder
from gristmill.takedowns.foreign import ForeignFiles, search_foreign, why_not_in_rows
from gristmill.takedowns.known import unknown_document_lines, unknown_documents
from gristmill.takedowns.learnt import models_that_learnt
from gristmill.takedowns.places import TRAINED, Area, FoundPlace, Search
from gristmill.takedowns.raw_objects import NEVER_READ, UNUSED, never_read_objects
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.raw import Shelves

State = Literal["listed", "absent", "found", "not proven", "remains"]
_NAMED = 3
"""Places that a line names."""

NOT_SEARCHED = "data outside of the lake, earlier versions of objects that a bucket keeps"
"""What no proof covers."""

_KEPT: Sequence[tuple[str, tuple[Area, ...], Area]] = (
    ("versions and sets", ("documents", "attributes", "columns", "dedupe"), "documents"),
    ("excerpts and labels", ("examples", "labels"), "attributes"),
    ("quarantine", ("quarantine",), "documents"),
)
"""What a takedown leaves: lines of the proof, their areas, and the area whose partitions were searched for them."""

_TAKEN = {"raw", *TRAINED, *(area for _, areas, _ in _KEPT for area in areas)}
"""The areas that a line of the proof is written for. Each other area gets a line of its own, so that none is lost."""


class ProofLine(msgspec.Struct, frozen=True):
    """What is proven of a part of the lake.

    Attributes:
        what: the part of the lake.
        state: `listed` on the blocklist; `absent`; `found`, where it must not be; `not proven`; or `remains`, where a
            takedown leaves it.
        why: description of what was searched, or the places.
    """

    what: str
    state: State
    why: str

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to do before training may go on."""
        return self.state in {"listed", "absent", "remains"}

    def __str__(self) -> str:
        return f"{self.what}: {self.state}: {self.why}"


def proof_lines(
    store: Store,
    wanted: Wanted,
    blocklist: str,
    shelves: Shelves,
    *,
    scan: bool = False,
    exclude: Sequence[str] = (),
) -> Iterator[ProofLine]:
    """The lines of the proof.

    Args:
        store: the lake.
        wanted: the documents.
        blocklist: name of the list that must name them.
        shelves: recipes.
        scan: whether the rows of files that are not of the lake are read.
        exclude: files that are not of the lake, or folders of them, that nobody needs to search.

    Raises:
        DataError: the record of an erasure is wrong.
        StoreError: the lake does not answer.
    """
    search = Finder(store, wanted, shelves, proven=True, left_out=True).run()
    if (nobody_knows := _unknown_documents_line(store, wanted, search)) is not None:
        yield nobody_knows
        return
    yield _blocklist_line(store, wanted, blocklist)
    unreached = [each.place.asset for each in due_slices(store, search, blocklist) if not each.by]
    mend = f"; {', '.join(unreached)}: names no {blocklist}, and {list_for_mix(blocklist)}" if unreached else ""
    without = unmade(store, shelves.packages)
    yield _training_data_line(store, search, without, mend)
    left = find_unread_objects(store, search.read)
    yield _old_parts_line(left.old)
    yield _pinning_releases_line(store, left.old)
    refused = search_foreign(store, search.unread_rows, wanted, scan=False, exclude=exclude)
    for what, areas, searched in _KEPT:
        yield _quarantine_line_with_rows(_kept_places_line(what, search, areas, searched), refused)
    yield from _packaged(store, search, without, exclude)
    yield _trained_models_line(store, search)
    made_ids = why_not_in_rows(wanted, shelves.packages, {each.asset for each in list_ledgers(store)}) if scan else ""
    never = _mark_never_read(shelves, left.raw)
    unread_raw = search_foreign(store, left.raw, wanted, scan=scan, exclude=exclude, raw=True, made_ids=made_ids)
    left_out = search_foreign(store, search.unread_raw | search.unread_rows, wanted, scan=False, exclude=exclude)
    unread_raw.excluded += left_out.excluded
    yield _raw_data_line(search, unread_raw, left_out.unread, left.elsewhere, unfinished_erasures(store, wanted), never)
    yield _stray_objects_line(left.strays)
    foreign = dict.fromkeys(left.foreign, "not a file of the lake")
    yield _foreign_files_line(search_foreign(store, foreign, wanted, scan=scan, exclude=exclude, made_ids=made_ids))


def _unknown_documents_line(store: Store, wanted: Wanted, search: Search) -> ProofLine | None:
    """The line on documents that nobody knows; None if all are known."""
    what = "asked for"
    try:
        nobody = unknown_documents(store, wanted, search)
    except DataError as error:  # a list or a record that nobody can read may name them
        return ProofLine(what, "not proven", str(error))
    if not nobody:
        return None
    skipped = [f"not searched: {_first_words([each.what for each in search.unsearched])}"] if search.unsearched else []
    return ProofLine(what, "not proven", "; ".join([_first_words(unknown_document_lines(nobody, search)), *skipped]))


def _blocklist_line(store: Store, wanted: Wanted, name: str) -> ProofLine:
    path = blocklist_path(name)
    try:
        reasons = read_blocklist(store, name).reasons
    except (RecipeError, DataError) as error:
        return ProofLine("blocklist", "not proven", str(error))
    missing = [f"{id_!r} of {source!r}" for source, id_ in wanted.reasons if (source, id_) not in reasons]
    if missing:
        return ProofLine(
            "blocklist", "not proven", f"{path} does not name {_first_words(missing)}; take them down first"
        )
    return ProofLine("blocklist", "listed", f"{path} names all {len(wanted)}, so mixes that name it leave them out")


def _training_data_line(store: Store, search: Search, without: Mapping[Place, str], unreached: str) -> ProofLine:
    """The line on what training reads; what no recipe makes any more needs another mend than `make`."""
    what = "live lake"
    found = [each for each in search.found if each.area in TRAINED]
    skipped = search.skipped_in_words(("documents", *TRAINED))
    if found:
        slices = {place(each.asset, each.snapshot) for each in found}
        remake = "; make these slices" if slices - without.keys() else ""
        why = f"{_places_in_words(found)}{unreached or remake}{_left_documents_in_words(store, without, slices)}"
        return ProofLine(what, "found", f"{why}; not searched: {_first_words(skipped)}" if skipped else why)
    if skipped:
        return ProofLine(
            what,
            "not proven",
            f"{_first_words(skipped)}{_left_documents_in_words(store, without, _told(without, skipped))}",
        )
    searched = ", ".join(f"{search.searched.get(area, 0)} of {area}" for area in TRAINED)
    return ProofLine(what, "absent", f"no shard of the finished slices has them: {searched}")


def _told(without: Mapping[Place, str], skipped: Sequence[str]) -> set[Place]:
    """The partitions without a recipe that the words on what was not searched name."""
    return {each for each in without if any(f"{each.asset} ({each.snapshot})" in words for words in skipped)}


def _left_documents_in_words(store: Store, without: Mapping[Place, str], wanted: Container[Place]) -> str:
    left = {each: documents for each, documents in without.items() if each in wanted}
    mend = mend_of_unmade(left, objects_by_release(store)) if left else ""
    return f"; {mend}" if mend else ""


def _old_parts_line(old: Mapping[str, str]) -> ProofLine:
    what = "old parts and releases of exports"
    if old:
        return ProofLine(what, "not proven", _first_words([f"{path}: {why}" for path, why in old.items()]))
    return ProofLine(what, "absent", "ledgers that are current name every object of mixes, token caches and exports")


def _pinning_releases_line(store: Store, old: Mapping[str, str]) -> ProofLine:
    """Which releases name an old part: `gc` keeps it for them."""
    files = [entry.path for entry in store.list("releases/") if entry.path.endswith(".json")]
    pinned = pinned_by_releases(store, damaged=True)
    pinning = sorted({file for path in old for file in pinned.get(path.rstrip("/").rpartition("/")[2], ())})
    if pinning:
        names = _first_words(pinning)
        why = f"{names}: they name old parts, which may have them; withdraw them (gristmill erase), then gc"
        return ProofLine("releases", "not proven", why)
    return ProofLine("releases", "absent", f"{len(files)} files of releases, which name no old part")


def _kept_places_line(what: str, search: Search, areas: tuple[Area, ...], searched: Area) -> ProofLine:
    found = [each for each in search.found if each.area in areas]
    if found:
        there = ProofLine(what, "remains", f"{_places_in_words(found)}; a takedown leaves these")
        left = search.skipped_in_words(areas)
        return _line_with_unsearched(there, f"not searched: {_first_words(left)}") if left else there
    skipped = search.skipped_in_words((*areas, searched))
    if skipped:
        return ProofLine(what, "not proven", _first_words(skipped))
    return ProofLine(what, "absent", f"searched with {_count_places(search, searched)}")


def _packaged(
    store: Store, search: Search, without: Mapping[Place, str], exclude: Sequence[str]
) -> Iterator[ProofLine]:
    """A line for each area that no other line takes: of the kinds that packages add.

    The area of a package that is not installed is its folder. If a person has excluded it, the line on foreign files
    tells so.
    """
    excluded = {f"{name.rstrip('/')}/" for name in exclude}
    areas = {*search.searched, *(each.area for each in search.found), *(each.area for each in search.unsearched)}
    for area in sorted(areas - _TAKEN - excluded):
        line = _kept_places_line(area, search, (area,), "documents")
        mend = _left_documents_in_words(store, without, _told(without, search.skipped_in_words([area])))
        yield msgspec.structs.replace(line, why=line.why + mend)


def _quarantine_line_with_rows(line: ProofLine, refused: ForeignFiles) -> ProofLine:
    """The line of the quarantine, with the rows of which nobody knows whether they are of the documents."""
    if line.what != "quarantine":
        return line
    if refused.unread:
        unsearched = _unsearched_line(
            line.what, refused.unread, "; look there, and name these objects by --exclude PATH"
        )
        return unsearched if line.state == "absent" else _line_with_unsearched(line, unsearched.why)
    left = f"; not searched: {_first_words(refused.excluded)}, excluded by name" if refused.excluded else ""
    return msgspec.structs.replace(line, why=line.why + left)


def _trained_models_line(store: Store, search: Search) -> ProofLine:
    """Which tokenizers and models were trained on the documents: words of their texts may be in them."""
    what = "tokenizers and models"
    try:
        found = list(models_that_learnt(store, search))
    except DataError as error:
        return ProofLine(what, "not proven", str(error))
    if found:
        return ProofLine(
            what, "remains", f"{_first_words(found)}; so words of theirs may be in them; a takedown leaves these"
        )
    return ProofLine(what, "absent", "none was trained on data that have them")


def _count_places(search: Search, area: Area) -> str:
    return f"{search.searched.get(area, 0)} partitions of {area}"


def _raw_data_line(
    search: Search,
    files: ForeignFiles,
    left_out: Mapping[str, str],
    elsewhere: Sequence[str],
    half_erased: Mapping[str, Sequence[str]],
    never: Container[str],
) -> ProofLine:
    """What raw data have. Objects that are as they were read are searched through the rows that were made of them."""
    what = "raw"
    if files.found:
        return ProofLine(
            what, "found", f"{_first_words(files.found)}; remove these objects, or make them and then erase"
        )
    if half_erased:
        told = [f"{path}: its erasure has not ended: {_first_words(words)}" for path, words in half_erased.items()]
        return ProofLine(
            what, "not proven", f"{_first_words(told)}; run gristmill erase again with the documents of the record"
        )
    if files.unread:
        is_never = all(path in never for path in files.unread)
        mend = (
            "look there, and remove them"
            if is_never
            else "make those that a recipe takes (gristmill make), or remove them"
        )
        mend += "; --scan reads rows with an id, --exclude PATH leaves a file or a folder out"
        return _unsearched_line(what, files.unread, f"; {mend}")
    line = _kept_places_line(what, search, ("raw",), "documents")
    if left_out:
        unsearched = _unsearched_line(what, left_out, "; look there, and name these objects by --exclude PATH")
        return unsearched if line.state == "absent" else _line_with_unsearched(line, unsearched.why)
    if line.state != "absent":
        return line
    read = f", and {len(files.read)} other objects have no row with these ids" if files.read else ""
    skipped = [
        *(f"{path}, excluded by name" for path in files.excluded),
        *(f"{asset}, which is outside of the lake or gone" for asset in elsewhere),
    ]
    left = "; ".join([*([_first_words(skipped)] if skipped else []), NOT_SEARCHED])
    why = f"no row of {_count_places(search, 'documents')} was made of them{read}; not searched: {left}"
    return ProofLine(what, "absent", why)


def _mark_never_read(shelves: Shelves, raw: dict[str, str]) -> set[str]:
    """The raw objects that `make` never reads, after `raw` has this reason of them; none without readable recipes."""
    try:
        sources = read_catalogue(shelves.packages).sources if raw else {}
    except RecipeError:
        return set()
    never = {*never_read_objects(sources.values(), [path for path, why in raw.items() if why == UNUSED])}
    raw.update(dict.fromkeys(never, NEVER_READ))
    return never


def _line_with_unsearched(line: ProofLine, unsearched: str) -> ProofLine:
    """A line that also tells what was not searched: more may be there, so it proves nothing."""
    return ProofLine(line.what, "not proven", f"{line.why}; {unsearched}")


def _unsearched_line(what: str, unread: Mapping[str, str], mend: str = "") -> ProofLine:
    words = _first_words([f"{path}: {why}" for path, why in unread.items()])
    return ProofLine(what, "not proven", f"not searched: {words}{mend}")


def _stray_objects_line(strays: Mapping[str, str]) -> ProofLine:
    what = "strays"
    if strays:
        return _unsearched_line(what, strays)
    return ProofLine(what, "absent", "every other object in the places of the lake has a ledger, and all are finished")


def _foreign_files_line(files: ForeignFiles) -> ProofLine:
    what = "foreign files"
    if files.found:
        return ProofLine(what, "found", f"{_first_words(files.found)}; move these files out of the lake")
    if files.unread:
        mend = "--scan reads files with rows of documents, --exclude PATH leaves a file or a folder out"
        return _unsearched_line(what, files.unread, f"; {mend}")
    read = f"{len(files.read)} files have no row with these ids"
    unread = f"; not read, but excluded by name: {_first_words(files.excluded)}" if files.excluded else ""
    return ProofLine(what, "absent", f"{read}{unread}" if files.read or unread else "the lake has none")


def _places_in_words(found: Sequence[FoundPlace]) -> str:
    return _first_words([each.where for each in found])


def _first_words(words: Sequence[str]) -> str:
    more = f"; and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return "; ".join(words[:_NAMED]) + more
