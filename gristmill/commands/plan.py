"""`plan [LAKE] [TARGET ...]`: shows what would be made, and why. It reads ledgers and listings, and changes nothing.

Targets are those of `make`, which makes what this command shows. Exit codes: 0 if everything that can be made is
finished; 1 if something would be made, is refused or wrong, or was asked for by name and waits; 2 if the command could
not run. What waits for something that no command can make now, such as raw data, does not count by itself.
"""

from argparse import ArgumentParser, Namespace

from gristmill.commands._plan import show_plan
from gristmill.commands._targets import add_targets, asked_for
from gristmill.commands._terminal import add_options, add_shelves, lake_of
from gristmill.lake.asset_kinds import names_of
from gristmill.pipeline.dry_run import Prospect
from gristmill.pipeline.planner import Planner
from gristmill.recipes.catalogue import Catalogue, known

HELP = "show what would be made, and why; exit code 1 if there is anything"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_targets(parser)
    add_options(parser)
    parser.add_argument("--source", help="show only partitions that are made from this source")
    parser.add_argument("--mix", help="show only the slices, token caches and indexes of this mix")
    parser.add_argument("--all", action="store_true", help="list the finished partitions too")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    add_shelves(parser)


def run(arguments: Namespace) -> int:
    """Shows a line for each partition, tokenizer and index that is not finished. Returns the exit code.

    Raises:
        RecipeError: there is no such target on the shelves, the lake holds nothing of it, or no such snapshot.
        DataError: the snapshot's key is not valid.
        StoreError: the lake does not answer: try again.
    """
    shelves, catalogue, targets = asked_for(arguments)
    for kind, shelf in (("source", catalogue.sources), ("mix", catalogue.mixes)):
        if getattr(arguments, kind):
            known(kind, shelf, getattr(arguments, kind), f"--{kind}")
    planner = Planner(catalogue, shelves, lake_of(arguments), targets)
    planner.check_something()
    return show_plan(planner, lambda prospect: _chosen(arguments, catalogue, prospect), arguments)


def _chosen(arguments: Namespace, catalogue: Catalogue, prospect: Prospect) -> bool:
    """Whether --source and --mix let a partition be shown. An index and a tokenizer are of no source."""
    names = names_of(prospect.asset)
    source = names.get("source") or dict(catalogue.slices()).get(prospect.asset)
    return arguments.source in {None, source} and arguments.mix in {None, names.get("mix")}
