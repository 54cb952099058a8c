"""Dagster's web server behind our guard: `python -m resources.guarded_webserver -w workspace.yaml`.

It takes the place of `dagster-webserver`, which does what any page in a browser of this machine asks. The guard wraps
Dagster's app in the same process, so that no second port leads around it.
"""

import logging
import signal
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import uvicorn
from dagster import DagsterInstance
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.webserver import DagsterWebserver

from gristmill.environment import Environment, read_environment
from resources.health import Looker
from resources.pages.answers import corrected_schema
from resources.pages.health_page import HealthPage, Last
from resources.ui_guard import UiGuard
from resources.watchman import Watchman

POLL = 2000
"""Milliseconds between two questions of an open page, as with `dagster-webserver`."""

DATABASE = {"statement_timeout": 15_000, "pool_recycle": 3600, "max_overflow": 20}
"""For connections to the database: milliseconds of a statement, seconds of a connection, connections above the pool's
size; as with `dagster-webserver`."""


class HonestWebserver(DagsterWebserver[Any, Any]):
    """Dagster's web server with our answers."""

    def build_graphql_schema(self) -> Any:
        """The schema of Dagster with our answers."""
        return corrected_schema(super().build_graphql_schema())


def guarded_app(context: WorkspaceProcessContext, prefix: str, environment: Environment, last: Last) -> UiGuard:
    """The app of Dagster, wrapped.

    Args:
        context: context of Dagster's instance and its code.
        prefix: prefix of all paths, such as `/dagster`; empty: none.
        environment: environment that has further values of the header Host, and the token of `/healthz`.
        last: function that reads what the watchman found last.
    """
    app = HonestWebserver(context, prefix, POLL).create_asgi_app()
    return UiGuard(HealthPage(app, f"{prefix}/healthz", last, environment.health_token), environment.ui_hosts)


def serve_parser() -> ArgumentParser:
    """The arguments; those of `dagster-webserver` that a deployment needs."""
    parser = ArgumentParser(prog="python -m resources.guarded_webserver", description=__doc__, add_help=False)
    parser.add_argument("-w", "--workspace", required=True, help="the workspace.yaml that names the code")
    parser.add_argument("-h", "--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("-p", "--port", type=int, default=3000, help="port to listen on (%(default)s)")
    parser.add_argument("--path-prefix", default="", help="of all paths, such as /dagster")
    parser.add_argument("--read-only", action="store_true", help="launches and changes nothing")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Serves until SIGINT or SIGTERM.

    Raises:
        RecipeError: a variable of the environment has a value that is not valid.
    """
    given = serve_parser().parse_args(arguments)
    environment = read_environment()
    logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))  # else it ends before it has ended its code servers
    with DagsterInstance.get() as instance:
        instance.optimize_for_webserver(**DATABASE)
        target = WorkspaceFileTarget([given.workspace])
        with WorkspaceProcessContext(
            instance,
            version=version(DagsterWebserver.__module__.partition(".")[0]),
            read_only=given.read_only,
            workspace_load_target=target,
        ) as context:
            looker = Looker(
                instance,
                lambda: context.create_request_context().get_code_location_entries(),
                environment,
                writes=not given.read_only,
            )
            watchman = Watchman(instance, looker, environment, tells=not given.read_only)
            app = guarded_app(context, given.path_prefix, environment, watchman.last_look)
            watchman.start()
            with suppress(KeyboardInterrupt):  # uvicorn raises the signal again, after its own end
                uvicorn.run(app, host=given.host, port=given.port, log_level="warning")


if __name__ == "__main__":
    main()
