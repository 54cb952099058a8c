"""`run [LAKE] [TARGET ...]`: does what `make` does, through Dagster, whose UI shows each run.

It tells Dagster which snapshots are there, shows what the lake holds already, and then launches a run for each part of
the plan that is due. `gristmill ui` need not run.
"""

from argparse import ArgumentParser, Namespace

from gristmill.commands._shared.targets import add_targets, asked_for
from gristmill.commands._shared.terminal import add_options, add_shelves, lake_of_arguments, print_line
from gristmill.dashboard.home import chosen_environment, database_in_words, lock_home, prepare_home
from gristmill.environment import read_environment
from gristmill.installation import load_location
from gristmill.pipeline.planner import Planner
from gristmill.reports.sizes import number_and_noun

HELP = "make what is missing through Dagster, so that its UI shows the runs"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_targets(parser)
    add_options(parser)
    add_shelves(parser)


def run(arguments: Namespace) -> int:
    """Makes the targets. Returns 0 if all is made, 1 if something is refused or wrong.

    Raises:
        RecipeError: a word is no target, or a recipe is wrong.
        DataError: a run failed. What was finished before is kept.
        StoreError: the lake or Dagster's database does not answer.
    """
    shelves, catalogue, targets = asked_for(arguments)
    lake = lake_of_arguments(arguments)
    environment = chosen_environment(read_environment(), lake, shelves)
    home = prepare_home(environment)
    with lock_home(home, print_line), database_in_words(home):
        planner = Planner(catalogue, shelves, lake, targets)
        planner.check_something()
        build = load_location("definitions").build
        say = load_location("assets.support.progress").TimedLines(print_line)
        mill = load_location("assets.support.mill").open_mill(build, environment, say)
        mill.run("sync")
        left = mill.make(planner)
    for line in left:
        print_line(line)
    if not mill.runs - 1:
        print_line("everything is up to date" if not left else "nothing else is due")
    else:
        checks = f"{sum(mill.checks)} of {len(mill.checks)} checks passed"
        print_line(f"{number_and_noun(mill.runs - 1, 'run')}; {checks}; `gristmill ui` shows them")
    return 1 if left else 0
