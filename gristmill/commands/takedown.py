"""`takedown LAKE --ids FILE`: finds every place of documents, and adds them to a blocklist.

With --prove it shows, after the mixes were made again, that the documents are gone. Exit codes: 0 if all places were
searched, and a blocklist reaches every mix with a document; 1 if not, or if a document was found nowhere; 2 if the
command could not run.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

import msgspec

from gristmill.commands._shared.targets import chosen_lake
from gristmill.commands._shared.terminal import add_lake, add_shelves, shelves_of, show
from gristmill.lake.address import blocklist_path, check_name
from gristmill.lake.rows.blocklist import add_to_blocklist
from gristmill.lake.store.protocol import Store
from gristmill.takedowns.due import DueSlice, due_slices
from gristmill.takedowns.finder import Finder
from gristmill.takedowns.places import Search
from gristmill.takedowns.proof import proof
from gristmill.takedowns.wanted import REASON, Wanted, read_wanted
from gristmill.tracing.raw import Shelves

HELP = "find every place of documents, add them to a blocklist, and prove that they are gone"

BLOCKLIST = "takedowns"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake(parser, alone=True)
    parser.add_argument(
        "--ids",
        metavar="FILE",
        required=True,
        help='the documents: JSON lines {"source","id"}, with "reason" if you like',
    )
    parser.add_argument("--blocklist", default=BLOCKLIST, metavar="NAME", help="the list to add to (%(default)s)")
    parser.add_argument("--reason", default=REASON, help="of lines that have none (%(default)s)")
    parser.add_argument("--prove", action="store_true", help="prove that the documents are gone, and add nothing")
    parser.add_argument("--dry-run", action="store_true", help="show the places, and add nothing")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    add_shelves(parser)


def run(arguments: Namespace) -> int:
    """Shows the places, and adds the documents to the blocklist. Returns the exit code.

    Raises:
        DataError: the file of ids or the blocklist is wrong.
        RecipeError: the name of the blocklist is wrong.
        StoreError: the lake does not answer.
    """
    name = check_name(arguments.blocklist, "blocklist")
    lake = chosen_lake(arguments)
    store, shelves = lake.store(), Shelves(shelves_of(arguments), lake.options)
    wanted = Wanted(read_wanted(arguments.ids, arguments.reason))
    if arguments.prove:
        return _prove(store, wanted, name, shelves, as_json=arguments.json)
    search = Finder(store, wanted, shelves).run()
    due = list(due_slices(store, search, name))
    new = [] if arguments.dry_run else add_to_blocklist(store, name, wanted.reasons)
    nowhere = [pair for pair in wanted.reasons if not search.of(pair)]
    if arguments.json:
        for each in search.found:
            show(msgspec.json.encode(each).decode())
    for line in () if arguments.json else (*_places(wanted, search), *_due(due, name)):
        show(line)
    for skipped in search.unsearched:
        show(f"not searched: {skipped.what}")
    if not arguments.json:
        verb = "would be added to" if arguments.dry_run else "added to"
        count = len(wanted) if arguments.dry_run else len(new)
        show(f"{count} of {len(wanted)} documents {verb} {blocklist_path(name)}")
    return 1 if search.unsearched or nowhere or any(not each.by for each in due) else 0


def _prove(store: Store, wanted: Wanted, blocklist: str, shelves: Shelves, *, as_json: bool) -> int:
    """Shows the lines of the proof. Returns 0 if the documents are nowhere where training could read them, else 1."""
    code = 0
    for line in proof(store, wanted, blocklist, shelves):
        show(msgspec.json.encode(line).decode() if as_json else str(line))
        code |= not line.good
    return int(code)


def _places(wanted: Wanted, search: Search) -> Iterator[str]:
    for source, name in wanted.reasons:
        found = search.of((source, name))
        yield f"{name!r} of {source!r}: {len(found)} places"
        yield from (f"  {place.area:<12}  {place.where}" for place in found)


def _due(due: Sequence[DueSlice], blocklist: str) -> Iterator[str]:
    for each in due:
        if each.by == each.place.asset:
            yield f"due: {each}"
        elif each.by:
            yield f"due after {each.by}: {each}"
        else:
            yield f'WRONG: {each}: its recipe does not name the blocklist; add blocklists=("{blocklist}",) to it'
