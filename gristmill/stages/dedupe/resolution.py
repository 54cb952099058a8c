"""The resolution of a dedupe recipe: it puts new snapshots in the order, and makes their verdicts and marks.

fingerprints of all snapshots -> order.json -> hash runs -> verdicts by round -> marks -> resolution.json, its ledger
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext

import msgspec

from gristmill.errors import Conflict, DataError, NewerSchema
from gristmill.execution.claim import Claimant, release_claims
from gristmill.execution.step import Step, make
from gristmill.execution.survey import survey_step
from gristmill.execution.work import Engine, ProgressLine, Say
from gristmill.lake.address import attributes_asset, ledger_folder, place
from gristmill.lake.asset_kinds import (
    CLUSTERS,
    DOCUMENTS,
    FINGERPRINTS,
    MARKS,
    RESOLUTION,
    VERDICTS,
    kind_of,
)
from gristmill.lake.ledger.files import as_json, list_ledgers, read_head, read_ledger
from gristmill.lake.ledger.index_ledger import IndexWriter, index_differences, read_indexed
from gristmill.lake.ledger.model import Upstream
from gristmill.lake.store.json_object import Integer, decode_object
from gristmill.lake.store.open import Lake
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.stages.dedupe.largest_clusters import LargestCluster, largest_clusters
from gristmill.stages.dedupe.marks.step import MarksStep
from gristmill.stages.dedupe.round_facts import comparison_totals
from gristmill.stages.dedupe.runs.step import RunsStep
from gristmill.stages.dedupe.verdicts.step import VerdictsStep
from gristmill.stages.fingerprints.order import Order, Ranked, check_order, dedupe_order_path, parse_dedupe_order
from gristmill.stages.near_duplicates.marks.step import NearMarksStep
from gristmill.stages.near_duplicates.step import ClustersStep

RESOLVED = "resolution.json"
"""The name of the file beside the ledger of a resolution."""


class ResolvedSnapshot(msgspec.Struct, frozen=True):
    """One snapshot as it was resolved.

    Attributes:
        source: name of the source.
        snapshot: its key.
        round: number of the resolution that added it to the order.
        edition: whether it is an edition of a `replace` source.
        documents: the fingerprint of its documents' ledger.
        fingerprints: the fingerprint of the ledger of its fingerprints.
        marks: the fingerprint of the ledger of its marks.
        counts: documents, units that were compared, and duplicates among them.
    """

    source: str
    snapshot: str
    round: Integer
    edition: bool
    documents: str
    fingerprints: str
    marks: str
    counts: dict[str, Integer]


class Resolution(msgspec.Struct, frozen=True):
    """The result of a resolution.

    Attributes:
        snapshots: the snapshots by rank.
        matrix: (rank, first rank, units): how many units of a snapshot occurred first in another one, or in itself.
        occurrences: number of different units of a round that occur 2**k to 2**(k + 1) - 1 times, by k, added up over
            the rounds. A unit counts in each round that has it; there, an earlier snapshot that has it counts as one
            occurrence.
        largest: the ten units that occur most often, or the ten largest clusters of near duplicates.
        schema: 1.
    """

    snapshots: tuple[ResolvedSnapshot, ...]
    matrix: tuple[tuple[Integer, Integer, Integer], ...] = ()
    occurrences: tuple[Integer, ...] = ()
    largest: tuple[LargestCluster, ...] = ()
    schema: Integer = 1

    def find_resolved_snapshot(self, source: str, snapshot: str) -> ResolvedSnapshot | None:
        """One snapshot; None if it was not resolved."""
        return next((each for each in self.snapshots if (each.source, each.snapshot) == (source, snapshot)), None)

    @property
    def order(self) -> Order:
        """The order that was resolved."""
        return Order(tuple(Ranked(each.source, each.snapshot, each.round, each.edition) for each in self.snapshots))


def read_assets(dedupe: Dedupe) -> tuple[str, ...]:
    """The assets that a resolution reads: the fingerprints, and the sets whose score chooses what a cluster keeps."""
    prints = (FINGERPRINTS.at(dedupe=dedupe.name, source=source) for source in dedupe.versions)
    return *prints, *(attributes_asset(*each, name) for each in dedupe.versions.items() for name in dedupe.scored_by)


def resolution_path(dedupe: str) -> str:
    """The path of the file with the result of a resolution.

    >>> resolution_path("dedupe-1")
    'dedupe/dedupe-1/resolution/resolution.json'
    """
    return f"{RESOLUTION.at(dedupe=dedupe)}/{RESOLVED}"


def read_dedupe_order(store: Store, dedupe: str) -> tuple[Order, str | None]:
    """The order of a recipe, and the etag of its file. If the file is lost, the order is that of the last resolution.

    Ranks decide which copy stays. So an order that does not continue the one that was resolved is refused.

    Returns:
        The order; it is empty if there was no resolution yet. The etag is None if there is no file.

    Raises:
        DataError: the file is no order, or its beginning is not the order of the last resolution; or the order is lost,
            and the result of the last resolution is lost or damaged too.
    """
    path = dedupe_order_path(dedupe)
    # The result is read first: a resolution that ends meanwhile has written its order before.
    damage: DataError | None = None
    try:
        resolution = read_resolution(store, dedupe)
    except DataError as error:  # a damaged result is made again, from the order
        resolution, damage = None, error
    tagged = store.read_tagged(path)
    if tagged is None:
        if damage:
            raise damage
        return (resolution.order if resolution else Order()), None
    order = parse_dedupe_order(tagged[0], path)
    known = resolution.order.entries if resolution else ()
    if order.entries[: len(known)] != known:
        raise DataError(
            f"{path}: its snapshots are not those of the last resolution, in their order; restore it from a backup, or"
            f" remove it: the next run restores it from {resolution_path(dedupe)}"
        )
    return order, tagged[1]


def read_resolution(store: Store, dedupe: str) -> Resolution | None:
    """The last resolution of a recipe; None if there was none.

    Raises:
        DataError: its file is missing or damaged, or is not the one that its ledger names.
    """
    asset, path = RESOLUTION.at(dedupe=dedupe), resolution_path(dedupe)
    found = read_indexed(store, asset, path, f"run {asset} again")
    return decode_object(found[1], Resolution, path, "the result of a resolution") if found else None


def fingerprinted_snapshots(store: Store, recipe: Dedupe) -> list[tuple[str, str]]:
    """The sources and snapshots that have fingerprints, in the order in which newcomers are ranked."""
    return [
        (source, each.snapshot)
        for source in recipe.versions
        for each in list_ledgers(store, ledger_folder(FINGERPRINTS.at(dedupe=recipe.name, source=source)))
    ]


def order_with_new_snapshots(store: Store, recipe: Dedupe, editions: Collection[str]) -> Order:
    """The order with all snapshots that have fingerprints; the new ones are one round. It is stored.

    Args:
        store: the lake.
        recipe: the recipe.
        editions: names of the `replace` sources.

    Raises:
        Conflict: another resolution wrote the order at the same time; run again.
        RecipeError: the recipes of its sources are not those of the order.
    """
    order, etag = read_dedupe_order(store, recipe.name)
    check_order(order, recipe, editions)
    known = {(each.source, each.snapshot) for each in order.entries}
    new = [(*pair, pair[0] in editions) for pair in fingerprinted_snapshots(store, recipe) if pair not in known]
    if not new and (etag or not order.entries):
        return order
    order = order.with_round(new)
    store.put_if(dedupe_order_path(recipe.name), as_json(order), etag)
    return order


def steps_of_resolution(recipe: Dedupe, order: Order, shelves: tuple[str, ...]) -> Iterator[Step]:
    """The steps of a resolution: those of snapshots that are as they were keep all that they have made."""
    pairs = [(each.source, each.snapshot) for each in order.entries]
    for source, snapshot in pairs:
        yield RunsStep(recipe, source, snapshot, shelves)
    for number in range(1, order.round_count + 1):
        yield VerdictsStep(recipe, order, number, shelves)
        if recipe.near:
            yield ClustersStep(recipe, order, number, shelves)
    marks: Callable[[Dedupe, Order, str, str, tuple[str, ...]], Step] = NearMarksStep if recipe.near else MarksStep
    for source, snapshot in pairs:
        yield marks(recipe, order, source, snapshot, shelves)


def resolve_duplicates(
    lake: Lake,
    recipe: Dedupe,
    editions: Collection[str],
    shelves: tuple[str, ...],
    engine: Engine,
    token: str,
    say: Say,
    *,
    force: bool = False,
    by: Claimant | None = None,
) -> Resolution:
    """Resolves a recipe over all snapshots that have fingerprints. What has not changed is kept.

    Args:
        lake: the lake.
        recipe: the recipe.
        editions: names of the `replace` sources: their snapshots are editions.
        shelves: the packages that hold the recipes.
        engine: engine that grinds the shards of the steps.
        token: names this run; no two runs use the same token.
        say: function that takes lines of progress.
        force: make everything again.
        by: the process of a run that asks before it takes a claim.

    Returns:
        The result, which is stored too.

    Raises:
        AtWork: another process is making the marks of a snapshot.
        DataError: fingerprints are missing, or not those of their documents.
        GristmillError: a step failed, or another run has added snapshots. The next run keeps what was made.
    """
    order = order_with_new_snapshots(store := lake.store(), recipe, editions)
    for number, step in enumerate(steps_of_resolution(recipe, order, shelves)):
        if not force and all(each.finished for each in survey_step(step, store)):
            continue
        where = f"{step.makes[0]} ({step.snapshot})"
        say(where)
        run = f"{token}-{number}"
        with release_claims(store, step.makes, step.snapshot, run) if by else nullcontext():
            make(step, lake, engine, run, _prefix_progress(say, where), force=force, by=by)
    writer = IndexWriter(store, RESOLUTION.at(dedupe=recipe.name))
    if read_dedupe_order(store, recipe.name)[0].entries != order.entries:
        raise Conflict(f"{dedupe_order_path(recipe.name)}: another run has added snapshots meanwhile; run again")
    result, marks = compose_resolution(store, recipe.name, order)
    writer.put(resolution_path(recipe.name), as_json(result))
    writer.close(marks)
    return result


def _prefix_progress(say: Say, where: str) -> Say:
    def told(line: str) -> None:
        say(ProgressLine(f"{where}: {line}"))

    return told


def unresolved_reasons(store: Store, recipe: Dedupe, editions: Collection[str]) -> tuple[str, ...]:
    """The reasons why the recipe would be resolved again; no reasons if the lake has the resolution.

    Args:
        store: the lake.
        recipe: the recipe.
        editions: names of the `replace` sources.

    Raises:
        DataError: a ledger or the order is wrong.
        RecipeError: the recipes of its sources are not those of the order.
    """
    order, etag = read_dedupe_order(store, recipe.name)
    check_order(order, recipe, editions)
    if order.entries and etag is None:
        return (f"{dedupe_order_path(recipe.name)} is lost; it is restored from the last resolution",)
    known = {(each.source, each.snapshot) for each in order.entries}
    new = [pair for pair in fingerprinted_snapshots(store, recipe) if pair not in known]
    if new:
        shown = ", ".join("/".join(pair) for pair in new[:3]) + (" and others" if len(new) > 3 else "")
        return (f"never resolved with {shown}",)
    try:
        before = read_resolution(store, recipe.name)
    except NewerSchema:
        raise
    except DataError as error:  # what it says is composed again from the ledgers
        return (str(error),)
    if before is None:
        return ("never made",) if order.entries else ()
    if [(each.source, each.snapshot) for each in before.snapshots] != [(e.source, e.snapshot) for e in order.entries]:
        return ("a run was killed before it wrote the result",)
    changed = [each for each in before.snapshots if _has_changed_recipe(store, recipe, each)]
    if changed:
        return tuple(f"the fingerprints of {each.source}/{each.snapshot} changed" for each in changed[:3])
    # We stop at the first: a later step cannot be planned if what it reads is lost.
    for step in steps_of_resolution(recipe, order, ()):
        if not all(each.finished for each in survey_step(step, store)):
            return (f"{step.makes[0]} ({step.snapshot}) is not up to date",)
    result, marks = compose_resolution(store, recipe.name, order)
    files = {resolution_path(recipe.name): as_json(result)}
    return tuple(index_differences(store, RESOLUTION.at(dedupe=recipe.name), marks, files))


def _has_changed_recipe(store: Store, recipe: Dedupe, resolved: ResolvedSnapshot) -> bool:
    asset = FINGERPRINTS.at(dedupe=recipe.name, source=resolved.source)
    head = read_head(store, place(asset, resolved.snapshot))
    return head is None or head.fingerprint != resolved.fingerprints


def compose_resolution(store: Store, dedupe: str, order: Order) -> tuple[Resolution, list[Upstream]]:
    """The result of a resolution whose steps are done, from their ledgers; and the marks that it closes.

    Args:
        store: the lake.
        dedupe: name of the recipe.
        order: the order that was resolved.

    Raises:
        DataError: a ledger is missing or damaged.
    """
    snapshots: list[ResolvedSnapshot] = []
    closed: list[Upstream] = []
    shards: list[list[str]] = []
    near = False
    for each in order.entries:
        names = {"dedupe": dedupe, "source": each.source}
        prints, printed = read_ledger(store, place(FINGERPRINTS.at(**names), each.snapshot))
        marks, marked = read_ledger(store, place(MARKS.at(**names), each.snapshot))
        documents = next((up.fingerprint for up in prints.inputs if kind_of(up.asset) is DOCUMENTS), "")
        counts = {
            "documents": prints.totals.get("rows", 0),
            "compared": sum(row.counts.get("hashes", 0) for row in printed),
            "duplicates": sum(row.rows for row in marked),
        }
        ranked = (each.source, each.snapshot, each.round, each.edition)
        snapshots.append(ResolvedSnapshot(*ranked, documents, prints.fingerprint, marks.fingerprint, counts))
        closed.append(marks.upstream)
        shards.append(sorted(row.name for row in printed))
        near = near or any(kind_of(up.asset) is CLUSTERS for up in marks.inputs)
    compared, repeated = comparison_totals(store, dedupe, order, near=near)
    largest = largest_clusters(repeated, order, shards, (CLUSTERS if near else VERDICTS).at(dedupe=dedupe))
    return Resolution(tuple(snapshots), *compared, largest), closed
