"""`sync [LAKE]`: shows in Dagster what the lake holds, as the job `sync` does. It makes nothing again.

Use it after `gristmill make`, after a restore, or with a new DAGSTER_HOME. `gristmill ui` does it at its start.
"""

from argparse import ArgumentParser, Namespace

from gristmill.commands._shared.chosen_lake import chosen_lake
from gristmill.commands._shared.terminal import add_lake, add_shelves, print_line, shelf_packages
from gristmill.dashboard.home import chosen_environment, database_in_words, prepare_home
from gristmill.environment import read_environment
from gristmill.installation import load_location

HELP = "show in Dagster what the lake holds"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake(parser, alone=True)
    add_shelves(parser)


def run(arguments: Namespace) -> int:
    """Runs the job `sync`. Returns 0.

    Raises:
        RecipeError: no recipes are named, or a declaration is wrong.
        DataError: the run failed.
        StoreError: the lake or Dagster's database does not answer.
    """
    environment = chosen_environment(read_environment(), chosen_lake(arguments), shelf_packages(arguments))
    home = prepare_home(environment)
    build = load_location("definitions").build
    with database_in_words(home):
        mill = load_location("assets.support.mill").open_mill(build, environment, lambda _: None)
        mill.run("sync")
    print_line(f"Dagster in {home} shows the lake {environment.lake}")
    return 0
