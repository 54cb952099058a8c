"""Exports: one slice for each stream and snapshot of a mix, and an index. Dagster shows them; no stage makes them."""

from collections.abc import Iterator

import dagster as dg

from assets.support.keys import key_of, plain, snapshots_of
from gristmill.lake.address import export_asset, export_index, mix_asset
from gristmill.recipes.export import Export
from gristmill.recipes.mix import Mix


def export_specs(mix: Mix, export: Export) -> Iterator[dg.AssetSpec]:
    """The slices of an export, and their index. The job `sync` reports those that the lake holds."""
    words = export.description or f"{mix.name} as {export.format}"
    slices = {stream: export_asset(mix.name, export.name, stream.key) for stream in mix.streams}
    for stream, address in slices.items():
        yield dg.AssetSpec(
            key_of(address),
            deps=[key_of(mix_asset(mix.name, stream.key))],
            description=f"{words}: {stream.key}",
            group_name=f"exports_{plain(mix.name)}",
            kinds={export.format},
            owners=list(export.owners),
            partitions_def=snapshots_of(stream.source),
        )
    yield dg.AssetSpec(
        key_of(export_index(mix.name, export.name)),
        deps=[key_of(address) for address in slices.values()],
        description=f"{words}: its slices, and which are absent",
        group_name=f"exports_{plain(mix.name)}",
        kinds={export.format},
        owners=list(export.owners),
    )
