"""Makes the rows of the concurrency pools in Dagster's database: `python -m resources.pools`, once, before any run.

Dagster makes the row of a pool when a run first claims a slot of it. If two runs do so at once over Postgres, Dagster
1.13 goes on in a transaction that the database has given up, and one of the runs fails (`InFailedSqlTransaction`). All
runs fail in the same way if `default_limit` in dagster.yaml has changed since the row was made.
"""

import sys
import threading
from collections.abc import Collection
from contextlib import suppress

from dagster import DagsterInstance
from dagster._core.storage.event_log.schema import ConcurrencyLimitsTable
from dagster._core.storage.event_log.sql_event_log import (  # type: ignore[attr-defined]  # it does not export db_exc
    SqlEventLogStorage,
    db_exc,
)

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
    log = instance.event_log_storage
    if default is None or not isinstance(log, SqlEventLogStorage) or not log.supports_global_concurrency_limits:
        return []
    with _ONE:
        settled = {pool.name for pool in log.get_pool_limits() if not pool.from_default or pool.limit == default}
        due = sorted(set(pools) - settled)
        for pool in due:
            with suppress(
                db_exc.IntegrityError
            ):  # another process has made the row meanwhile, with all that belongs to it
                _settle(log, pool, default)
    return due


def _settle(log: SqlEventLogStorage, pool: str, limit: int) -> None:
    """Makes or changes a row and its slots, in one transaction: the row's lock keeps others waiting."""
    with log.index_transaction() as connection:
        ours = (ConcurrencyLimitsTable.c.concurrency_key == pool) & ConcurrencyLimitsTable.c.using_default_limit
        if not connection.execute(ConcurrencyLimitsTable.update().where(ours).values(limit=limit)).rowcount:
            row = {"concurrency_key": pool, "limit": limit, "using_default_limit": True}
            connection.execute(ConcurrencyLimitsTable.insert().values(row))
        new = log._allocate_concurrency_slots(connection, pool, limit)  # noqa: SLF001 - Dagster has no public way
    if new:
        log.assign_pending_steps(new)


def main() -> None:
    """Makes the rows in the database of DAGSTER_HOME, and says which."""
    with DagsterInstance.get() as instance:
        made = make_pools(instance)
        limit = instance.global_op_concurrency_default_limit
    words = f"{', '.join(made)}: {limit} slots each" if made else "nothing to do"
    sys.stdout.write(f"pools of Dagster's database: {words}\n")


if __name__ == "__main__":
    main()
