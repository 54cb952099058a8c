"""Shared by the indexes of mixes and of token caches: the known snapshots, and the metadata for people."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.support.keys import snapshots_of
from gristmill.formats.levanter.mixture_weights import shares
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix
from gristmill.stages.mixing.index import Index


def known_snapshots(context: dg.AssetExecutionContext, mix: Mix) -> dict[str, list[str]]:
    """The snapshots of each stream's source that Dagster has recorded, by the stream's key."""
    return {
        stream.key: list(context.instance.get_dynamic_partitions(snapshots_of(stream.source).name or ""))
        for stream in mix.streams
    }


def index_result(store: Store, index: Index, more: Mapping[str, Any] | None = None) -> dg.MaterializeResult[None]:
    """The materialization of an index, with further metadata."""
    facts = index_facts(store, index) | dict(more or {})
    return dg.MaterializeResult(data_version=dg.DataVersion(index.fingerprint), metadata=facts)


def streams_facts(mix: Mix, index: Index) -> dict[str, Any]:
    """Metadata for trainers: for each stream, its tokens, its sequences per block, and its epochs."""
    tokens: dict[str, int] = {}
    for entry in index.slices:
        tokens[entry.stream] = tokens.get(entry.stream, 0) + entry.totals.get("train tokens", 0)
    by_stream = shares(mix.weights, tokens, mix.block, mix.token_budget)
    rows = [
        dg.TableRecord(
            {
                "stream": name,
                "train tokens": share.tokens,
                "weight": round(share.weight, 6),
                f"sequences of {mix.block}": share.sequences,
                "epochs": "-" if share.epochs is None else f"{share.epochs:.3g}",
            }
        )
        for name, share in by_stream.items()
    ]
    return {"streams in training": dg.MetadataValue.table(rows)}


def index_facts(store: Store, index: Index) -> dict[str, Any]:
    """The content of an index as metadata for people."""
    slices = [dg.TableRecord({"stream": s.stream, "snapshot": s.snapshot, **_shown(s.totals)}) for s in index.slices]
    return {
        "dagster/row_count": index.totals.get("rows", 0),
        **{name: number for name, number in index.totals.items() if name != "rows"},
        "slices": dg.MetadataValue.table(slices) if slices else "none",
        "absent slices": ", ".join(index.absent) or "none",
        "older editions left out": ", ".join(index.left) or "none",
        "index": dg.MetadataValue.path(f"{store.url}/{index.asset}/index.json"),
    }


def _shown(totals: dict[str, int]) -> dict[str, int]:
    return {name: totals.get(name, 0) for name in ("rows", "bytes", "tokens")}
