"""`run [LAKE] [TARGET ...]`: does what `make` does, through Dagster, whose UI shows each run.

It tells Dagster which snapshots are there, shows what the lake holds already, and then launches a run for each part of
the plan that is due. `gristmill ui` need not run.
"""

from argparse import ArgumentParser, Namespace

from gristmill.commands._shared.targets import add_target_arguments, read_target_arguments
from gristmill.commands._shared.terminal import add_bucket_options, add_shelves_option, lake_of_arguments, print_line
from gristmill.dashboard.home import (
    database_in_words,
    environment_of_arguments,
    lock_dagster_home,
    prepare_dagster_home,
)
from gristmill.environment import read_environment
from gristmill.installation import import_location_module
from gristmill.pipeline.planner import Planner
from gristmill.reports.sizes import number_and_noun

HELP = "make what is missing through Dagster, so that its UI shows the runs"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_target_arguments(parser)
    add_bucket_options(parser)
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Makes the targets. Returns 0 if all is made, 1 if something is refused or wrong.

    Raises:
        RecipeError: a word is no target, or a recipe is wrong.
        DataError: a run failed. What was finished before is kept.
        StoreError: the lake or Dagster's database does not answer.
    """
    shelves, catalogue, targets = read_target_arguments(arguments)
    lake = lake_of_arguments(arguments)
    environment = environment_of_arguments(read_environment(), lake, shelves)
    home = prepare_dagster_home(environment)
    with lock_dagster_home(home, print_line), database_in_words(home):
        planner = Planner(catalogue, shelves, lake, targets)
        planner.check_something()
        build = import_location_module("definitions").build
        say = import_location_module("assets.support.progress").TimedLines(print_line)
        mill = import_location_module("assets.support.mill").open_mill(build, environment, say)
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
