"""`takedown LAKE --ids FILE`: finds every place of documents, and adds them to a blocklist.

Documents are chosen by their ids, their URL, or the digest of their text; and with --near also what is near to them.

With --prove it shows, after the mixes were made again, that the documents are gone. Exit codes: 0 if all places were
searched, and a blocklist reaches every mix with a document; 1 if not, or if a document was found nowhere; 2 if the
command could not run. A document that nobody knows is not added: see gristmill/takedowns/known.py.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from gristmill.commands._shared.chosen_lake import lake_without_targets
from gristmill.commands._shared.terminal import add_lake_arguments, add_shelves_option, print_line, shelf_packages
from gristmill.lake.address import Place, blocklist_path, check_name, place
from gristmill.lake.asset_kinds import names_in_asset_address
from gristmill.lake.ledger.folders.pinned_upload import objects_by_release
from gristmill.lake.rows.blocklists.blocklist import (
    add_to_blocklist,
    lost_entries,
    pairs_not_on_blocklist,
    take_off_blocklist,
)
from gristmill.lake.rows.blocklists.blocklist_files import blocklist_record_path, blocklist_rows, recorded_entries
from gristmill.lake.store.protocol import Store
from gristmill.stages.mixing.unmade import mend_of_unmade, unmade
from gristmill.takedowns.chosen import find_documents_by_digest, find_documents_by_url, url_matcher
from gristmill.takedowns.due import DueSlice, due_slices, list_for_mix
from gristmill.takedowns.finder import Finder
from gristmill.takedowns.known import pairs_with_similar_id, similar_urls, unknown_document_lines, unknown_documents
from gristmill.takedowns.near import near_documents
from gristmill.takedowns.places import TRAINED, Search, Unsearched
from gristmill.takedowns.proof import proof_lines
from gristmill.takedowns.wanted import REASON, Wanted, read_wanted
from gristmill.tracing.raw import Shelves

HELP = "find every place of documents, add them to a blocklist, and prove that they are gone"

BLOCKLIST = "takedowns"
_EXCLUDE = "with --prove: a file or folder, foreign, raw or a quarantine, that need not be read; may be repeated"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake_arguments(parser, alone=True)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--ids", metavar="FILE", help='JSON lines {"source","id"}, with "reason" if you like')
    which.add_argument("--url", metavar="PATTERN", help="documents whose metadata.url is this; * is any text")
    which.add_argument("--lost", action="store_true", help="documents whose lines the blocklist has lost")
    which.add_argument("--content", metavar="DIGEST", help="documents with this text: its XXH3-128 in hexadecimal")
    parser.add_argument("--near", action="store_true", help="also the near duplicates of these documents")
    parser.add_argument("--scan", action="store_true", help="read rows: of shards without an index, of foreign files")
    parser.add_argument("--exclude", action="append", default=[], metavar="PATH", help=_EXCLUDE)
    parser.add_argument("--blocklist", default=BLOCKLIST, metavar="NAME", help="the list to add to (%(default)s)")
    parser.add_argument("--reason", default=REASON, help="of lines that have none (%(default)s)")
    verb = parser.add_mutually_exclusive_group()
    verb.add_argument("--prove", action="store_true", help="prove that the documents are gone, and add nothing")
    verb.add_argument("--retract", action="store_true", help="take the documents off the blocklist: they come back")
    parser.add_argument("--dry-run", action="store_true", help="show the places, and add nothing")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Shows the places, and adds the documents to the blocklist. Returns the exit code.

    Raises:
        DataError: the file of ids or the blocklist is wrong.
        RecipeError: the name of the blocklist is wrong.
        StoreError: the lake does not answer.
    """
    name = check_name(arguments.blocklist, "blocklist")
    lake = lake_without_targets(arguments)
    store, shelves = lake.store(), Shelves(shelf_packages(arguments), lake.options)
    wanted, skipped = _wanted_documents(arguments, store, shelves)
    if not wanted:
        print_line(_nothing_found_line(arguments, store, skipped))
        return 0 if arguments.lost else _print_unsearched(skipped)
    if arguments.retract:
        return _retract_from_blocklist(store, wanted, name, dry=arguments.dry_run)
    if arguments.prove:
        return _print_proof(store, wanted, skipped, name, shelves, arguments)
    search = Finder(store, wanted, shelves, scan=arguments.scan).run()
    search.unsearched += skipped
    for path, why in search.unread_rows.items():
        search.note_skipped("quarantine", path, why)
    due = list(due_slices(store, search, name))
    without = _lines_without_recipe(store, search, due, shelves)
    nobody = {} if arguments.lost else unknown_documents(store, wanted, search)  # what was listed is put back as it was
    listed = {pair: reason for pair, reason in wanted.reasons.items() if pair not in nobody}
    new = pairs_not_on_blocklist(store, name, listed) if arguments.dry_run else add_to_blocklist(store, name, listed)
    nowhere = [pair for pair in wanted.reasons if not search.places_of_document(pair) and not arguments.lost]
    if arguments.json:
        for found in search.found:
            print_line(msgspec.json.encode(found).decode())
    for line in () if arguments.json else (*_place_lines(wanted, search), *_due_lines(store, due, without, name)):
        print_line(line)
    _print_unsearched(search.unsearched)
    for line in unknown_document_lines(nobody, search):
        print_line(f"not added: {line}")
    if not arguments.json:
        verb = "would be added to" if arguments.dry_run else "added to"
        print_line(f"{len(new)} of {len(wanted)} documents {verb} {blocklist_path(name)}")
    wrong = without or not all(slice_.by for slice_ in due)
    return 1 if search.unsearched or nowhere or nobody or wrong else 0


def _print_unsearched(skipped: Sequence[Unsearched]) -> int:
    """Shows what was not searched. Returns 1, the exit code if nothing was found."""
    for each in skipped:
        print_line(f"not searched: {each.what}")
    return 1


def _nothing_found_line(arguments: Namespace, store: Store, skipped: Sequence[Unsearched]) -> str:
    """A line for people whose URL or digest no document has, of those that were searched."""
    if arguments.lost:
        record = blocklist_record_path(arguments.blocklist)
        return f"{blocklist_path(arguments.blocklist)} has lost no entry that {record} has"
    document = "searched document" if skipped else "document"
    if arguments.url is None:
        return f"unknown: no {document} has a text of the digest {arguments.content}"
    near = "--scan searches all" if skipped and not arguments.scan else similar_urls(store, arguments.url)
    return (
        f"unknown: no {document} has a metadata.url like {arguments.url}, and no blocklist or record of an erasure"
        f" has an id like it; {near}; --ids takes ids that are addresses"
    )


def _wanted_documents(arguments: Namespace, store: Store, shelves: Shelves) -> tuple[Wanted, list[Unsearched]]:
    """The documents that the arguments choose, and what was not searched for them.

    Raises:
        DataError: the file of ids is wrong.
        RecipeError: the digest is wrong.
    """
    search = Search()
    if arguments.ids:
        reasons = read_wanted(arguments.ids, arguments.reason)
    elif arguments.lost:
        reasons = lost_entries(store, arguments.blocklist)
    else:
        choose, what = (
            (find_documents_by_url, arguments.url)
            if arguments.url is not None
            else (find_documents_by_digest, arguments.content)
        )
        reasons = dict.fromkeys(choose(store, what, search, scan=arguments.scan), str(arguments.reason))
        if arguments.prove and arguments.url is not None:  # after an erasure no document has the URL any longer
            reasons |= dict.fromkeys(
                pairs_with_similar_id(store, url_matcher(arguments.url).fullmatch), str(arguments.reason)
            )
    if arguments.near:
        first = Finder(store, Wanted(reasons), shelves, scan=arguments.scan).run()
        search.found = first.found
        near = near_documents(store, search, reasons.keys())
        reasons |= dict.fromkeys(near - reasons.keys(), f"near: {arguments.reason}")
    return Wanted(reasons), search.unsearched


def _retract_from_blocklist(store: Store, wanted: Wanted, name: str, *, dry: bool) -> int:
    """Takes documents off the blocklist and out of its record. Returns 1 if one of them was in neither, else 0."""
    listed = blocklist_rows(store, blocklist_path(name)).keys() | recorded_entries(store, name).keys()
    gone = sorted(listed & wanted.reasons.keys()) if dry else take_off_blocklist(store, name, wanted.reasons)
    for source, id_ in (pair for pair in wanted.reasons if pair not in gone):
        print_line(f"not on the list: {id_!r} of {source!r}")
    verb = "would be taken off" if dry else "taken off"
    print_line(
        f"{len(gone)} of {len(wanted)} documents {verb} {blocklist_path(name)}; gristmill make takes them up again"
    )
    return 0 if len(gone) == len(wanted) else 1


def _print_proof(
    store: Store,
    wanted: Wanted,
    skipped: Sequence[Unsearched],
    blocklist: str,
    shelves: Shelves,
    arguments: Namespace,
) -> int:
    """Shows the lines of the proof. Returns 0 if the documents are nowhere where training could read them, else 1."""
    _print_unsearched(skipped)
    code = bool(skipped)
    for line in proof_lines(store, wanted, blocklist, shelves, scan=arguments.scan, exclude=arguments.exclude):
        print_line(msgspec.json.encode(line).decode() if arguments.json else str(line))
        code |= not line.is_settled
    return int(code)


def _place_lines(wanted: Wanted, search: Search) -> Iterator[str]:
    for source, name in wanted.reasons:
        found = search.places_of_document((source, name))
        yield f"{name!r} of {source!r}: {len(found)} places"
        yield from (f"  {each.area:<12}  {each.where}" for each in found)


def _lines_without_recipe(store: Store, search: Search, due: Sequence[DueSlice], shelves: Shelves) -> dict[Place, str]:
    """What no recipe makes any more of that which a takedown must reach, and what was made from it."""
    now, slices = unmade(store, shelves.packages), {each.place for each in due}
    there = {place(each.asset, each.snapshot) for each in search.found if each.area in TRAINED} | slices
    streams = {_stream_of_place(each) for each in slices & now.keys()}
    return {each: read for each, read in now.items() if each in there or _stream_of_place(each) in streams}


def _due_lines(store: Store, due: Sequence[DueSlice], without: Mapping[Place, str], blocklist: str) -> Iterator[str]:
    told: set[Place] = set()
    releases = objects_by_release(store) if without else {}
    for each in due:
        if each.place in without:
            alike = {
                other: now for other, now in without.items() if _stream_of_place(other) == _stream_of_place(each.place)
            }
            told |= alike.keys()
            yield f"WRONG: {each}: {mend_of_unmade(alike, releases)}"
        elif each.by == each.place.asset:
            yield f"due: {each}"
        elif each.by:
            yield f"due after {each.by}: {each}"
        else:
            yield f"WRONG: {each}: its recipe does not name the blocklist, and {list_for_mix(blocklist)}"
    for other in (each for each in without if each not in told):
        yield f"WRONG: {other.asset} ({other.snapshot}): {mend_of_unmade({other: without[other]}, releases)}"


def _stream_of_place(here: Place) -> tuple[str, str, str]:
    names = names_in_asset_address(here.asset)
    return names.get("mix", here.asset), names.get("stream", ""), here.snapshot
