"""How many characters a mix leaves out if it drops, or cuts out, all that a dedupe recipe marks."""

from collections.abc import Sequence

from gristmill.lake.address import attributes_asset, place
from gristmill.lake.asset_kinds import FINGERPRINTS, MARKS
from gristmill.lake.ledger.files import find_head_and_table
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import SentenceUnits
from gristmill.stages.dedupe.labels.marked_rows import COUNT, OVERLAPPING, MarkedRows
from gristmill.stages.dedupe.resolution import Resolution, ResolvedSnapshot
from gristmill.stages.fingerprints.binary_part import read_part_file
from gristmill.stages.fingerprints.spans import SpanTable
from gristmill.text.natural_order import natural_sort_key


def duplicate_characters(store: Store, recipe: Dedupe, resolution: Resolution) -> list[int | None]:
    """The duplicate characters (code points) of each snapshot by rank; None if its set is not made from these marks.

    A character in several spans counts once.

    Args:
        store: the lake.
        recipe: the dedupe recipe.
        resolution: its result.

    Raises:
        DataError: a ledger is damaged.
    """
    return [_snapshot_duplicate_characters(store, recipe, each) for each in resolution.snapshots]


def numbers_of_taken_snapshots(resolution: Resolution, numbers: Sequence[int | None]) -> list[int | None]:
    """The numbers of the snapshots that a mix takes: of the editions of a `replace` source it takes the newest.

    Args:
        resolution: the result of a dedupe recipe.
        numbers: one of each snapshot, by rank.
    """
    filled = [each for each in resolution.snapshots if each.edition and each.counts.get("documents")]
    current = {each.source: each.snapshot for each in sorted(filled, key=lambda each: natural_sort_key(each.snapshot))}
    ranked = zip(resolution.snapshots, numbers, strict=True)
    return [number for each, number in ranked if not each.edition or current.get(each.source) == each.snapshot]


def _snapshot_duplicate_characters(store: Store, recipe: Dedupe, resolved: ResolvedSnapshot) -> int | None:
    version = recipe.versions.get(resolved.source)
    if version is None:
        return None
    found = find_head_and_table(
        store, place(attributes_asset(resolved.source, version, recipe.name), resolved.snapshot)
    )
    marks = MARKS.at(dedupe=recipe.name, source=resolved.source)
    if found is None or (marks, resolved.marks) not in {(up.asset, up.fingerprint) for up in found[0].inputs}:
        return None
    if isinstance(recipe.unit, SentenceUnits) and any(OVERLAPPING not in row.counts for row in found[1]):
        return _count_from_marks(store, recipe, resolved)
    return sum(row.counts.get(COUNT, 0) for row in found[1])


def _count_from_marks(store: Store, recipe: Dedupe, resolved: ResolvedSnapshot) -> int | None:
    """The number by the marks: in the ledger of an older set, overlaps count twice. None if the documents changed."""
    names = {"dedupe": recipe.name, "source": resolved.source}
    prints, marks = (
        find_head_and_table(store, place(kind.at(**names), resolved.snapshot)) for kind in (FINGERPRINTS, MARKS)
    )
    if not prints or not marks or prints[0].fingerprint != resolved.fingerprints:
        return None
    total, printed = 0, {row.name: row for row in prints[1]}
    for row in marks[1]:
        spans = SpanTable.decode(read_part_file(store, printed[row.name], prints[0].asset, "spans"), prints[0].asset)
        marked = read_part_file(store, row, marks[0].asset, "marks")
        total += MarkedRows.of(recipe, spans, marked, marks[0].asset).counts[COUNT]
    return total
