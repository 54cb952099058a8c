"""The lake that Dagster's database shows. The database is a view of one lake, and must not be used with another."""

import dagster as dg

from gristmill.errors import RecipeError
from gristmill.lake.ledger.lake_id import is_new, make_lake_id, read_lake_id
from gristmill.lake.store.protocol import Store

SHOWN = "gristmill/lake"
"""The key of the id of the shown lake in Dagster's own storage."""

UNSHOWN = "this Dagster does not show this lake: run the job `sync`"
"""The skip reason of a sensor until the job has run."""


def shown_lake(instance: dg.DagsterInstance) -> str | None:
    """The id of the lake that Dagster shows; None if it has never shown one."""
    return instance.daemon_cursor_storage.get_cursor_values({SHOWN}).get(SHOWN)


def show_lake(instance: dg.DagsterInstance, store: Store) -> None:
    """Records that Dagster shows this lake from now on."""
    instance.daemon_cursor_storage.set_cursor_values({SHOWN: make_lake_id(store).id})


def is_shown(instance: dg.DagsterInstance, store: Store) -> bool:
    """Whether Dagster shows this lake. A new Dagster shows the first lake without ledgers that it is used with.

    Raises:
        StoreError: there is no lake. An unmounted disk must not pass as an empty lake.
    """
    shown, lake_id = shown_lake(instance), read_lake_id(store)
    if lake_id is None:
        any(store.folders(""))
    if shown is None and is_new(store):
        show_lake(instance, store)
        return True
    return lake_id is not None and lake_id.id == shown


def check_lake(instance: dg.DagsterInstance, store: Store) -> None:
    """Stops a run whose lake is not the one that Dagster shows: it would mix two lakes, or make everything again.

    Raises:
        RecipeError: Dagster shows another lake, or has never shown this one.
        StoreError: there is no lake.
    """
    if is_shown(instance, store):
        return
    shown, lake_id = shown_lake(instance), read_lake_id(store)
    named = f"lake {lake_id.id[:8]}" if lake_id else "a lake without an id"
    if shown is None:
        raise RecipeError(f"{store.url} is {named}, which this Dagster has never seen: run the job `sync` first")
    raise RecipeError(
        f"{store.url} is {named}, but this Dagster shows lake {shown[:8]}: run the job `sync`, after which it"
        " shows this one, or set GRISTMILL_LAKE back"
    )
