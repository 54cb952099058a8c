"""Makes the rows of the concurrency pools in Dagster's database: `python -m resources.pools`, once, before any run.

Dagster makes the row of a pool when a run first claims a slot of it. If two runs do so at once over Postgres, Dagster
1.13 goes on in a transaction that the database has given up, and one of the runs fails (`InFailedSqlTransaction`). All
runs fail in the same way if `default_limit` in dagster.yaml has changed since the row was made.
"""

import sys
import threading
from collections.abc import Collection
from typing import Any

from dagster import DagsterInstance
from sqlalchemy.exc import SQLAlchemyError

POOLS = ("audit", "convert", "export", "mix", "prepare", "tag", "tokenize", "train")
"""The pools of all ops that this code defines."""

_ONE = threading.Lock()
"""The daemon launches runs in several threads."""


def make_pools(instance: DagsterInstance, pools: Collection[str] = POOLS) -> list[str]:
    """Makes the rows that are missing, and gives those with the default limit the limit of today's dagster.yaml.

    Limits that people have set stay. Several processes may do this at once.

    Args:
        instance: Dagster's.
        pools: the pools that a run may claim a slot of.

    Returns:
        The pools whose row was made or changed. None are, if dagster.yaml has no `default_limit`: then a pool without a
        row has no limit, and Dagster makes none.
    """
    default = instance.global_op_concurrency_default_limit
    log: Any = instance.event_log_storage
    if default is None or not log.supports_global_concurrency_limits:
        return []
    with _ONE:
        before = {pool.name: pool for pool in log.get_pool_limits()}
        due = sorted(pool for pool in set(pools) if not _is_settled(before.get(pool), default))
        for pool in due:
            if pool in before:  # Dagster's way to change a row fails over Postgres; to make one succeeds
                log.delete_concurrency_limit(pool)
            _make(log, pool, default)
    return due


def _is_settled(row: Any, default: int) -> bool:
    """Whether a row is as it should be: with the limit of today's dagster.yaml, or with one that people have set."""
    return row is not None and (not row.from_default or row.limit == default)


def _make(log: Any, pool: str, default: int) -> None:
    """Makes a row and its slots. If another process makes it at the same time, Dagster fails, and the row is there."""
    try:
        log.initialize_concurrency_limit_to_default(pool)
    except SQLAlchemyError:
        made = {row.name: row for row in log.get_pool_limits()}
        if not _is_settled(made.get(pool), default):
            raise
    log.assign_pending_steps([pool] * default)  # one step for each new slot


def main() -> None:
    """Makes the rows in the database of DAGSTER_HOME, and says which."""
    with DagsterInstance.get() as instance:
        made = make_pools(instance)
        limit = instance.global_op_concurrency_default_limit
    words = f"{', '.join(made)}: {limit} slots each" if made else "nothing to do"
    sys.stdout.write(f"pools of Dagster's database: {words}\n")


if __name__ == "__main__":
    main()
