"""The mill of this checkout, for scripts: the lines of their runs have the seconds since the start in front."""

from assets.support.mill import Mill
from assets.support.mill import open_mill as _open
from definitions import build
from gristmill.environment import Environment, read_environment
from scripts.progress import say


def open_mill(environment: Environment | None = None) -> Mill:
    """The mill of an environment, by default of that of this process."""
    return _open(build, environment or read_environment(), say)
