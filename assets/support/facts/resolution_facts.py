"""The metadata of a resolution: who repeats whom, how often units occur, where the most frequent ones are.

It has no text of the data. `gristmill report` shows excerpts.
"""

from typing import Any

import dagster as dg

from assets.support.facts.pictures import markdown_image
from assets.support.facts.tables import metadata_table, warnings_metadata
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.reports.duplicate_matrix import draw_matrix, draw_occurrences
from gristmill.stages.dedupe.duplicate_characters import duplicate_characters, numbers_of_taken_snapshots
from gristmill.stages.dedupe.resolution import Resolution, resolution_path
from gristmill.stages.dedupe.round_facts import doubtful_result_line


def resolution_facts(store: Store, dedupe: Dedupe, resolution: Resolution) -> dict[str, Any]:
    """Describes a resolution for people.

    Args:
        store: the lake.
        dedupe: the recipe.
        resolution: its result.

    Returns:
        The metadata by name: drawings, tables and numbers.
    """
    names = [f"{each.source}/{each.snapshot}" for each in resolution.snapshots]
    totals = [each.counts.get("compared", 0) for each in resolution.snapshots]
    matrix = {(rank, first): units for rank, first, units in resolution.matrix}
    rows = [
        {
            "rank": rank,
            "snapshot": name,
            "round": each.round,
            "rows": each.counts.get("documents", 0),
            f"{dedupe.hashed} compared": each.counts.get("compared", 0),
            dedupe.repeated: each.counts.get("duplicates", 0),
        }
        for rank, (name, each) in enumerate(zip(names, resolution.snapshots, strict=True))
    ]
    doubtful = doubtful_result_line(each.counts for each in resolution.snapshots)
    taken = numbers_of_taken_snapshots(resolution, duplicate_characters(store, dedupe, resolution))
    characters = [each for each in taken if each is not None]
    return {
        "who repeats whom": _drawn(draw_matrix(names, totals, matrix, dedupe.hashed)),
        "occurrences": _drawn(draw_occurrences(resolution.occurrences, dedupe.hashed, resolution.order.round_count)),
        "snapshots by rank": metadata_table(rows),
        "largest clusters" if dedupe.near else "most frequent units": metadata_table(
            [each.cluster_facts(near=dedupe.near) for each in resolution.largest]
        ),
        **(
            {dedupe.repeated_characters: sum(characters)} if characters else {}
        ),  # known when the attribute sets are made
        "scope": dedupe.scope,
        **warnings_metadata(filter(None, [doubtful])),
        "result": dg.MetadataValue.path(f"{store.url}/{resolution_path(dedupe.name)}"),
    }


def _drawn(svg: str) -> Any:
    return dg.MetadataValue.md(markdown_image("plot", svg))
