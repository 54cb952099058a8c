"""The patience of a run with Dagster's database: a server that is started again must not fail the runs that meet it."""

import sys
import time
from typing import Any

from sqlalchemy import Engine, event

LONGEST = 900.0
"""Seconds that a run waits for the database. Dagster itself gives up after about six."""
PAUSE = 1.0
"""Seconds between two attempts."""
LINE = 10.0
"""Seconds between two lines that say so."""


def be_patient() -> None:
    """From now on, this process waits for a database server that takes no connection."""
    event.listen(Engine, "do_connect", _connect)


def _connect(dialect: Any, _record: object, arguments: list[Any], named: dict[str, Any]) -> Any:
    """A connection, as SQLAlchemy asks for one.

    Raises:
        OperationalError: that of the driver, after LONGEST seconds.
    """
    begin = said = time.monotonic()
    while True:
        try:
            return dialect.connect(*arguments, **named)
        except dialect.loaded_dbapi.OperationalError as error:
            now = time.monotonic()
            if now - begin > LONGEST:
                raise
            if now - said > LINE:
                said = now
                sys.stderr.write(f"the database has not answered for {now - begin:.0f} s, this run waits: {error}\n")
        time.sleep(PAUSE)
