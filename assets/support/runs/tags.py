"""Tags of assets and runs: source, mix and layer. Dagster's catalogue and its list of runs filter by them."""

import re
from collections.abc import Iterable, Mapping

import dagster as dg

from assets.support.keys import address_of
from gristmill.lake import asset_kinds as kinds
from gristmill.lake.asset_kind import AssetKind

SOURCE, MIX, LAYER = "gristmill/source", "gristmill/mix", "gristmill/layer"

_LAYERS: Mapping[AssetKind, str] = {
    kinds.RAW: "raw",
    kinds.DOCUMENTS: "documents",
    kinds.ATTRIBUTES: "attributes",
    kinds.FINGERPRINTS: "duplicates",
    kinds.RESOLUTION: "duplicates",
    kinds.LABELS: "models",
    kinds.MODEL: "models",
    kinds.MIX: "mix",
    kinds.MIX_INDEX: "mix",
    kinds.TOKENIZER: "tokenizer",
    kinds.TOKEN_CACHE: "tokens",
    kinds.TOKEN_CACHE_INDEX: "tokens",
    kinds.PACKING: "tokens",
    kinds.EXPORT: "exports",
    kinds.EXPORT_INDEX: "exports",
}
_VALUE = re.compile(r"[A-Za-z0-9_.-]{1,63}")
"""What Dagster takes as the value of an asset's tag."""


def asset_tags(address: str, source: str = "") -> dict[str, str]:
    """The tags of an asset.

    Args:
        address: of the asset.
        source: the source whose snapshots are its partitions, if the address does not name it.

    >>> asset_tags("token_caches/starter/bpe-1/web", "crawl")
    {'gristmill/source': 'crawl', 'gristmill/mix': 'starter', 'gristmill/layer': 'tokens'}
    """
    kind, names = kinds.kind_of(address), kinds.names_of(address)
    found = {
        SOURCE: source or names.get("source", ""),
        MIX: names.get("mix", ""),
        LAYER: _LAYERS.get(kind, "") if kind else "",
    }
    return {key: value for key, value in found.items() if _VALUE.fullmatch(value)}


def run_tags(addresses: Iterable[str], sources: Mapping[str, str]) -> dict[str, str]:
    """The tags of a run that makes these assets: those of all of them, each value once.

    Args:
        addresses: of the assets, in the order in which their values are named.
        sources: the source whose snapshots are the partitions, by address.

    >>> run_tags(["sources/crawl/v0/documents", "sources/crawl/v0/attributes/length-1"], {})
    {'gristmill/source': 'crawl', 'gristmill/layer': 'documents, attributes'}
    """
    values: dict[str, dict[str, None]] = {SOURCE: {}, MIX: {}, LAYER: {}}
    for address in addresses:
        for key, value in asset_tags(address, sources.get(address, "")).items():
            values[key][value] = None
    return {key: ", ".join(found) for key, found in values.items() if found}


def tag_run(context: dg.OpExecutionContext, sources: Mapping[str, str]) -> None:
    """Gives a run the tags of the assets that it was asked for, unless its job or sensor has given it all of them.

    Args:
        context: of an op of the run.
        sources: as for run_tags().
    """
    if LAYER not in context.run.tags:
        asked = map(address_of, context.run.asset_selection or context.selected_asset_keys)
        context.instance.add_run_tags(context.run_id, run_tags(sorted(asked, key=kinds.rank_of), sources))
