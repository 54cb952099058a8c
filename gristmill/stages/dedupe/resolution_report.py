"""The report of a resolution as one HTML page: who repeats whom, what would be dropped, and the largest clusters."""

from gristmill.lake.asset_kinds import RESOLUTION
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.reports.duplicate_matrix import draw_matrix, draw_occurrences
from gristmill.reports.sizes import number_and_noun
from gristmill.reports.table_page import page_of_tables
from gristmill.stages.dedupe.cluster_excerpts import ClusterExcerpt, read_cluster_excerpts
from gristmill.stages.dedupe.duplicate_characters import duplicate_characters, numbers_of_taken_snapshots
from gristmill.stages.dedupe.resolution import Resolution
from gristmill.stages.near_duplicates.shared_numbers import shared_cluster_numbers_line


def resolution_report(store: Store, recipe: Dedupe, resolution: Resolution) -> str:
    """The page.

    Args:
        store: the lake.
        recipe: the dedupe recipe.
        resolution: its result.

    Raises:
        DataError: a file is damaged, or a blocklist cannot be read.
    """
    names = [f"{each.source}/{each.snapshot}" for each in resolution.snapshots]
    totals = [each.counts.get("compared", 0) for each in resolution.snapshots]
    matrix = {(rank, first): units for rank, first, units in resolution.matrix}
    characters = duplicate_characters(store, recipe, resolution)
    taken = numbers_of_taken_snapshots(resolution, characters)
    made = [each for each in taken if each is not None]
    snapshots = [
        {
            "rank": str(rank),
            "snapshot": names[rank],
            "round": str(each.round),
            "documents": f"{each.counts.get('documents', 0):,}",
            f"{recipe.hashed} compared": f"{totals[rank]:,}",
            recipe.repeated: f"{each.counts.get('duplicates', 0):,}",
            recipe.repeated_characters: _format_number(characters[rank]),
        }
        for rank, each in enumerate(resolution.snapshots)
    ]
    lead = f"{recipe.description or recipe.name}. Scope: {recipe.scope}."
    if not recipe.numbered:
        older = len(names) - len(taken)
        lead += (
            f" A mix that drops all duplicates leaves out {sum(made):,} characters"
            f" of the {len(made)} of {len(taken)} snapshots whose attribute sets are made."
        )
        lead += f" It takes none of {number_and_noun(older, 'older edition')}." if older else ""
    rounds, what = resolution.order.round_count, recipe.hashed
    if alike := shared_cluster_numbers_line(store, recipe.name, rounds):
        lead += f" {alike}."
    plots = [draw_matrix(names, totals, matrix, what), draw_occurrences(resolution.occurrences, what, rounds)]
    clusters = [_cluster_table_row(each, near=recipe.near) for each in read_cluster_excerpts(store, recipe, resolution)]
    tables = {"Snapshots by rank": snapshots, "The largest clusters": clusters}
    return page_of_tables(f"{RESOLUTION.top_folder}{recipe.name}", lead, plots, tables)


def _format_number(number: int | None) -> str:
    return "not made" if number is None else f"{number:,}"


def _cluster_table_row(each: ClusterExcerpt, *, near: bool) -> dict[str, str]:
    cluster = each.cluster
    where = f"{cluster.source}/{cluster.snapshot} {cluster.shard}"
    (times, number), (place, value) = (list(cluster.cluster_facts(near=near).items())[at] for at in (0, -1))
    if each.row is None:
        where, text = f"{where} {place} {value}", "(the documents changed; resolve the recipe again)"
    else:
        where = f"{where} row {each.row} [{each.start}, {each.end})"
        text = "(a blocklist names this document)" if each.excerpt is None else each.excerpt
    return {times: f"{number:,}", "kept" if near else "one of them": where, "text": text}
