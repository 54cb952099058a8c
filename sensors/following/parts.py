"""Requests of many snapshots, in parts that the daemon follows with little memory."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from resources.pages.launches import MOST, part_tags


def in_parts(request: dg.RunRequest, most: int = MOST) -> Iterator[dg.RunRequest]:
    """The request, or several for the same assets and snapshots, in the order of their names.

    What is made of a snapshot is in one part, because nothing is made from another snapshot of the source.

    Args:
        request: request that Dagster's conditions ask for.
        most: snapshots of a part.
    """
    whole: Any = request.asset_graph_subset
    if whole is None:
        yield request
        return
    names = snapshots_in(request)
    if len(names) <= most:
        yield request
        return
    wanted = {key: set(each.get_partition_keys()) for key, each in whole.partitions_subsets_by_asset_key.items()}
    others = whole.non_partitioned_asset_keys
    begins = range(0, len(names), most)
    for begin, own in zip(begins, part_tags(len(begins)), strict=True):
        named = set(names[begin : begin + most])
        subsets = {
            key: whole.get_partitions_subset(key).empty_subset().with_partition_keys(sorted(keys & named))
            for key, keys in wanted.items()
            if keys & named
        }
        last = begin + most >= len(names)
        part = type(whole)(
            partitions_subsets_by_asset_key=subsets, non_partitioned_asset_keys=others if last else set()
        )
        yield dg.RunRequest.for_asset_graph_subset(part, tags={**request.tags, **own})


def snapshots_in(request: dg.RunRequest) -> list[str]:
    """The snapshots of a request that is a backfill, in the order of their names."""
    whole: Any = request.asset_graph_subset
    return sorted(
        {name for each in whole.partitions_subsets_by_asset_key.values() for name in each.get_partition_keys()}
    )
