"""`erase LAKE --ids FILE`: cuts documents out of the raw data of the lake, where a law asks for more than a takedown.

It adds the documents to the blocklist first, so no later snapshot brings them back. Then `make` makes everything again
without them. Exit codes: 0 if everything was erased; 1 if something could not be erased or searched, or a document or
the release was found nowhere; 2 if the command could not run.
"""

from argparse import ArgumentParser, Namespace

from gristmill.commands._shared.chosen_lake import lake_without_targets
from gristmill.commands._shared.terminal import add_lake_arguments, add_shelves_option, print_line, shelf_packages
from gristmill.commands.takedown import BLOCKLIST
from gristmill.lake.address import check_name
from gristmill.lake.rows.blocklists.blocklist import add_to_blocklist
from gristmill.releases.withdrawal import withdraw_release
from gristmill.takedowns.erasing.erasure import erase_documents, was_erased_before
from gristmill.takedowns.erasing.erasure_plan import ErasurePlan, plan_erasure, unsearched_objects
from gristmill.takedowns.finder import Finder
from gristmill.takedowns.known import unknown_document_lines, unknown_documents
from gristmill.takedowns.wanted import REASON, Wanted, read_wanted
from gristmill.tracing.raw import Shelves

HELP = "cut documents out of the lake's raw data, and keep a record of it"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake_arguments(parser, alone=True)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--ids", metavar="FILE", help='JSON lines {"source","id"}, with "reason" if you like')
    what.add_argument("--release", metavar="NAME", help="withdraw this release, so that gc removes its old parts")
    parser.add_argument("--blocklist", default=BLOCKLIST, metavar="NAME", help="the list to add to (%(default)s)")
    parser.add_argument("--reason", default=REASON, help="of lines that have none (%(default)s)")
    parser.add_argument("--dry-run", action="store_true", help="show what would be cut, and change nothing")
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Erases the documents. Returns the exit code.

    Raises:
        Unknown: the lake has no such release.
        DataError: the file of ids, the blocklist, a ledger or a release is wrong.
        RecipeError: the name of the blocklist or of the release is wrong.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    name = check_name(arguments.blocklist, "blocklist")
    lake = lake_without_targets(arguments)
    if arguments.release is not None:
        record = withdraw_release(lake.store(), arguments.release)
        print_line(f"withdrawn {arguments.release}: its list of objects is kept as {record}; next: gristmill gc")
        return 0
    store, shelves = lake.store(), Shelves(shelf_packages(arguments), lake.options)
    asked = Wanted(read_wanted(arguments.ids, arguments.reason))
    search = Finder(store, asked, shelves, proven=True, left_out=True).run()
    nobody = unknown_documents(store, asked, search)
    wanted = Wanted({pair: reason for pair, reason in asked.reasons.items() if pair not in nobody})
    for line in unknown_document_lines(nobody, search):
        print_line(f"not erased: {line}")
    unsearched = [each.what for each in search.unsearched] + [
        f"{path}: {why}" for path, why in (*search.unread_raw.items(), *search.unread_rows.items())
    ]
    for line in unsearched:
        print_line(f"not searched: {line}")
    if not wanted:
        return 1
    plan = plan_erasure(store, wanted, search, shelves)
    plan.impossible.extend(unsearched_objects(store, wanted, search, shelves))
    nowhere = (
        []
        if was_erased_before(store, wanted)
        else [pair for pair in wanted.reasons if not search.places_of_document(pair)]
    )
    _print_documents_cut_twice(plan)
    if not arguments.dry_run:
        add_to_blocklist(store, name, wanted.reasons)
    left = erase_documents(store, wanted, search, plan, print_line, dry_run=arguments.dry_run)
    for line in dict.fromkeys(f"not erased: {each.where}: {each.why}" for each in left):
        print_line(line)
    for source, id_ in nowhere:
        print_line(
            f"not found: {id_!r} of {source!r}: no place of the lake has it, so nothing was cut; correct source or id"
        )
    if plan.objects and not arguments.dry_run:
        print_line(f"next: gristmill make, gristmill gc, gristmill takedown --prove --ids {arguments.ids}")
    return 1 if left or unsearched or nowhere or nobody else 0


def _print_documents_cut_twice(plan: ErasurePlan) -> None:
    """Names each document that is cut from several raw objects: they may be different texts with one id."""
    for (source, id_), paths in plan.in_several():
        print_line(f"{id_!r} of {source!r} is in {len(paths)} raw objects, and is cut from each: {', '.join(paths)}")
