"""How many characters a mix leaves out if it drops, or cuts out, all that a dedupe recipe marks."""

from gristmill.lake.address import attributes_asset, place
from gristmill.lake.asset_kinds import MARKS
from gristmill.lake.ledger.files import find_ledger
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.stages.dedupe.resolution import Resolution, ResolvedSnapshot


def duplicate_characters(store: Store, recipe: Dedupe, resolution: Resolution) -> list[int | None]:
    """The duplicate characters (code points) of each snapshot by rank; None if its set is not made from these marks.

    Args:
        store: the lake.
        recipe: the dedupe recipe.
        resolution: its result.

    Raises:
        DataError: a ledger is damaged.
    """
    return [_of_snapshot(store, recipe, each) for each in resolution.snapshots]


def _of_snapshot(store: Store, recipe: Dedupe, resolved: ResolvedSnapshot) -> int | None:
    version = recipe.versions.get(resolved.source)
    if version is None:
        return None
    found = find_ledger(store, place(attributes_asset(resolved.source, version, recipe.name), resolved.snapshot))
    marks = MARKS.at(dedupe=recipe.name, source=resolved.source)
    if found is None or (marks, resolved.marks) not in {(up.asset, up.fingerprint) for up in found[0].inputs}:
        return None
    return sum(row.counts.get("duplicate characters", 0) for row in found[1])
