"""Finds and removes packing plans that no trainer can read any more.

Two kinds are left behind: plans of streams or splits that a mix no longer has, and plans of a length that was asked for
once, or that a mix declared once, whose slices have changed since. A reader refuses them, so nothing is lost.
"""

import hashlib
from dataclasses import dataclass

from gristmill.errors import DataError, NewerSchema
from gristmill.execution.work import Say
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME
from gristmill.lake.asset_kinds import PACKING, ledger_of_object
from gristmill.lake.ledger.index_ledger import IndexLedger, read_index_ledger
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.protocol import Entry, Store
from gristmill.maintenance.folder_objects import FolderObjects
from gristmill.stages.packing.plans import PackingPlan, decode_plan


@dataclass(kw_only=True)
class OldPlans(FolderObjects):
    """The plans of one length that no trainer can read.

    Attributes:
        ledger: the ledger of all plans of this length, as it was read.
        path: path of this ledger.
    """

    ledger: IndexLedger
    path: str


def find_old_plans(store: Store, say: Say) -> list[OldPlans]:
    """The packing plans that can be removed, by token cache and length.

    A length whose ledger is missing is left: a run may be writing its first plans, and `verify` names it otherwise.

    Args:
        store: the lake.
        say: function that receives a line for each length that is left because a file of it is damaged.

    Returns:
        If all plans of the length were made for other merged ledgers than the lake has, all objects of the length, with
        its ledger last. Else the objects of the length that its ledger does not name.

    Raises:
        NewerSchema: a newer version of Gristmill wrote a plan or its ledger.
        StoreError: the lake does not answer.
    """
    found: list[OldPlans] = []
    for path, entries in sorted(_plan_objects_by_ledger(store).items()):
        try:
            ledger = read_index_ledger(store, path)
            kept = set() if ledger is None or _is_old(store, ledger) else {path, *ledger.files}
        except NewerSchema:
            raise
        except DataError as error:
            say(f"{path}: nothing of this length is touched, because a file is damaged: {error}")
            continue
        unread = sorted((each for each in entries if each.path not in kept), key=lambda each: each.path == path)
        if ledger is not None and unread:
            found.append(OldPlans(path.removesuffix(".json"), unread, ledger=ledger, path=path))
    return found


def _plan_objects_by_ledger(store: Store) -> dict[str, list[Entry]]:
    """The objects of all packing plans, by the path of the ledger of their length."""
    found: dict[str, list[Entry]] = {}
    for folder in list_assets(store, PACKING):
        for entry in store.list(f"{folder}/"):
            if path := ledger_of_object(entry.path):
                found.setdefault(path, []).append(entry)
    return found


def _is_old(store: Store, ledger: IndexLedger) -> bool:
    """Whether each plan was made for another merged ledger of its split than the lake has: no trainer reads one."""
    paths = (path for path in ledger.files if path.endswith(".json"))
    stored = ((path, store.read_tagged(path)) for path in paths)
    return not any(tagged is not None and _is_current(store, decode_plan(tagged[0], path)) for path, tagged in stored)


def _is_current(store: Store, plan: PackingPlan) -> bool:
    merged = store.read_tagged(f"{plan.cache}/{plan.split}/{LEDGER_NAME}")
    return merged is not None and hashlib.sha256(merged[0]).hexdigest() == plan.ledger


def remove_old_plans(store: Store, old: OldPlans) -> bool:
    """Removes old plans of one length, unless a run has written its plans again meanwhile.

    Returns:
        Whether they were removed.

    Raises:
        StoreError: the lake does not answer.
    """
    if read_index_ledger(store, old.path) != old.ledger:
        return False
    store.delete([entry.path for entry in old.entries], lambda: read_index_ledger(store, old.path) == old.ledger)
    return True
