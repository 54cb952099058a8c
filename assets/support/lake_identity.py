"""Which lake Dagster's database shows: it is a view of one lake, and must not be taken for one of another."""

import dagster as dg

from gristmill.errors import RecipeError
from gristmill.lake.ledger.lake_id import is_new, nameplate, read_nameplate
from gristmill.lake.store.protocol import Store

SHOWN = "gristmill/lake"
"""The key under which Dagster's own storage keeps the id of the lake that it shows."""

UNSHOWN = "this Dagster does not show this lake: run the job `sync`"
"""What a sensor says that waits for it."""


def shown_lake(instance: dg.DagsterInstance) -> str | None:
    """The id of the lake that Dagster shows; None if it has never seen one."""
    return instance.daemon_cursor_storage.get_cursor_values({SHOWN}).get(SHOWN)


def show_lake(instance: dg.DagsterInstance, store: Store) -> None:
    """From now on Dagster shows this lake."""
    instance.daemon_cursor_storage.set_cursor_values({SHOWN: nameplate(store).id})


def is_shown(instance: dg.DagsterInstance, store: Store) -> bool:
    """Whether Dagster shows this lake. A Dagster that has never seen one takes a lake in which nothing was made yet.

    Raises:
        StoreError: there is no lake; an unmounted disk must not be taken for an empty one.
    """
    shown, plate = shown_lake(instance), read_nameplate(store)
    if plate is None:
        any(store.folders(""))
    if shown is None and is_new(store):
        show_lake(instance, store)
        return True
    return plate is not None and plate.id == shown


def check_lake(instance: dg.DagsterInstance, store: Store) -> None:
    """Stops whoever would mix two lakes up, or make anew what Dagster does not know to be there.

    Raises:
        RecipeError: Dagster shows another lake, or has never seen this one.
        StoreError: there is no lake.
    """
    if is_shown(instance, store):
        return
    shown, plate = shown_lake(instance), read_nameplate(store)
    here = f"lake {plate.id[:8]}" if plate else "a lake without a nameplate"
    if shown is None:
        raise RecipeError(f"{store.url} is {here}, which this Dagster has never seen: run the job `sync` first")
    raise RecipeError(
        f"{store.url} is {here}, but this Dagster shows lake {shown[:8]}: run the job `sync`, after which it"
        " shows this one, or set GRISTMILL_LAKE back"
    )
