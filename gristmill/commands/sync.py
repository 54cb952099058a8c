"""`sync [LAKE]`: shows in Dagster what the lake holds, as the job `sync` does. It makes nothing again.

Use it after `gristmill make`, after a restore, or with a new DAGSTER_HOME. `gristmill ui` does it at its start.
"""

from argparse import ArgumentParser, Namespace

from gristmill.commands._shared.chosen_lake import lake_without_targets
from gristmill.commands._shared.terminal import add_lake_arguments, add_shelves_option, print_line, shelf_packages
from gristmill.dashboard.home import database_in_words, environment_of_arguments, prepare_dagster_home
from gristmill.environment import read_environment
from gristmill.installation import import_location_module

HELP = "show in Dagster what the lake holds"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake_arguments(parser, alone=True)
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Runs the job `sync`. Returns 0.

    Raises:
        RecipeError: no recipes are named, or a declaration is wrong.
        DataError: the run failed.
        StoreError: the lake or Dagster's database does not answer.
    """
    environment = environment_of_arguments(
        read_environment(), lake_without_targets(arguments), shelf_packages(arguments)
    )
    home = prepare_dagster_home(environment)
    build = import_location_module("definitions").build
    with database_in_words(home):
        mill = import_location_module("assets.support.mill").open_mill(build, environment, lambda _: None)
        mill.run("sync")
    print_line(f"Dagster in {home} shows the lake {environment.lake}")
    return 0
