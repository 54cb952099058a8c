"""`ui [LAKE]`: starts Dagster on a lake: its UI, its sensors and its queue, until Ctrl-C.

It needs no further setting: Dagster's folder is made in the project. At first it shows in Dagster what the lake holds,
also what `gristmill make` made. The UI listens on this machine alone, behind a guard.
"""

import sys
from argparse import ArgumentParser, Namespace

from gristmill.commands._shared.chosen_lake import lake_without_targets
from gristmill.commands._shared.terminal import add_lake_arguments, add_shelves_option, print_line, shelf_packages
from gristmill.dashboard.home import (
    child_process_variables,
    environment_of_arguments,
    missing_dagster_settings,
    prepare_dagster_home,
)
from gristmill.dashboard.processes import Dashboard
from gristmill.environment import read_environment
from gristmill.extras import check_installed, needs

HELP = "start Dagster on a lake: UI, sensors, queue"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    add_lake_arguments(parser, alone=True)
    parser.add_argument("-p", "--port", type=int, default=3000, help="port of the UI (%(default)s)")
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (%(default)s); others need GRISTMILL_UI_HOSTS"
    )
    parser.add_argument("--no-sync", action="store_true", help="do not show at first what the lake holds")
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Runs until SIGINT or SIGTERM. Returns 0.

    Raises:
        RecipeError: no recipes are named, the port is taken, or the extra `ui` is not installed.
        GristmillError: one of its processes ended.
    """
    check_installed(needs("dagster_webserver", "starlette", "uvicorn"), "gristmill ui")
    environment = environment_of_arguments(
        read_environment(), lake_without_targets(arguments), shelf_packages(arguments)
    )
    home = prepare_dagster_home(environment)
    sync = [] if arguments.no_sync else [sys.executable, "-m", "gristmill", "sync", environment.lake]
    print_line(f"the lake is {environment.lake}; Dagster's files are in {home}")
    if old := missing_dagster_settings(home):
        print_line(old)
    Dashboard(home, child_process_variables(environment), arguments.host, arguments.port, print_line).run(sync)
    return 0
