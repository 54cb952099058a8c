"""Tags of assets and runs: source, mix and layer. Dagster's catalogue and its list of runs filter by them."""

import re
from collections.abc import Iterable, Mapping

import dagster as dg

from assets.support.keys import address_of
from gristmill.lake.asset_kinds import kind_of, names_in_asset_address, report_rank

SOURCE, MIX, LAYER = "gristmill/source", "gristmill/mix", "gristmill/layer"

PARTITION, BACKFILL = "dagster/partition", "dagster/backfill"
RETRY_NUMBER, WILL_RETRY, RETRIED_BY = "dagster/retry_number", "dagster/will_retry", "dagster/auto_retry_run_id"
"""Tags that Dagster itself gives to runs. Its UI shows them, and its documents name them; it exports no constants."""

_VALUE = re.compile(r"[A-Za-z0-9_.-]{1,63}")
"""What Dagster takes as the value of an asset's tag."""


def asset_tags(address: str, source: str = "") -> dict[str, str]:
    """The tags of an asset.

    Args:
        address: address of the asset.
        source: the source whose snapshots are its partitions, if the address does not name it.

    >>> asset_tags("token_caches/starter/bpe-1/web", "crawl")
    {'gristmill/source': 'crawl', 'gristmill/mix': 'starter', 'gristmill/layer': 'tokens'}
    """
    kind, names = kind_of(address), names_in_asset_address(address)
    found = {
        SOURCE: source or names.get("source", ""),
        MIX: names.get("mix", ""),
        LAYER: (kind.closes or kind).layer if kind else "",
    }
    return {key: value for key, value in found.items() if _VALUE.fullmatch(value)}


def run_tags(addresses: Iterable[str], sources: Mapping[str, str]) -> dict[str, str]:
    """The tags of a run that makes these assets: those of all of them, each value once.

    Args:
        addresses: addresses of the assets, in the order in which their values are named.
        sources: the source whose snapshots are the partitions, by address.

    >>> run_tags(["sources/crawl/v0/documents", "sources/crawl/v0/attributes/length-1"], {})
    {'gristmill/source': 'crawl', 'gristmill/layer': 'documents, attributes'}
    """
    values: dict[str, dict[str, None]] = {SOURCE: {}, MIX: {}, LAYER: {}}
    for address in addresses:
        for key, value in asset_tags(address, sources.get(address, "")).items():
            values[key][value] = None
    return {key: ", ".join(found) for key, found in values.items() if found}


def made_together_tag(address: str) -> str:
    """The key of the tag of those runs that make an asset together with one of its inputs.

    Args:
        address: address of the asset.
    """
    return f"gristmill/makes/{address}"


def tag_run(context: dg.OpExecutionContext, sources: Mapping[str, str]) -> None:
    """Gives a run the tags of the assets that it was asked for, unless it has them, by its job or its sensor say.

    Assets that the run makes together with an input have a tag each: automation sees by it that the run knows of the
    new input. A run that is executed again has the tags of its parent, though perhaps only some of the assets.

    Args:
        context: context of an op of the run.
        sources: sources by the addresses of assets, as for run_tags().
    """
    layer = context.job_def.asset_layer
    asked = context.run.asset_selection or layer.selected_asset_keys
    tags: dict[str, str] = {}
    if LAYER not in context.run.tags:
        tags = run_tags(sorted(map(address_of, asked), key=report_rank), sources)
    for key in asked:
        if layer.asset_graph.get(key).parent_keys & asked:
            tags[made_together_tag(address_of(key))] = ""
    if tags.keys() - context.run.tags.keys():
        context.instance.add_run_tags(context.run_id, tags)
