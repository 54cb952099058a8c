"""Shared by the indexes of mixes and of token caches: the known snapshots, and the metadata for people."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.support.facts.tables import table
from assets.support.facts.totals import totals_facts
from assets.support.keys import snapshots_of
from gristmill.formats.levanter.mixture_weights import sequences_of
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix
from gristmill.recipes.mixture.declared_tokens import declared_tokens
from gristmill.recipes.mixture.token_shares import Reading
from gristmill.recipes.source import Source
from gristmill.reports.sizes import size_in_words
from gristmill.stages.mixing.index import Index, Slice
from gristmill.stages.token_cache.index import cache_reading, tokens_by_stream


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


def streams_facts(mix: Mix, index: Index, sources: Mapping[str, Source]) -> dict[str, Any]:
    """Metadata for trainers: for each stream, its tokens, its sequences in a block, and its epochs."""
    return reading_facts(mix, cache_reading(mix, index)) | declared_facts(mix, index, sources)


def reading_facts(mix: Mix, reading: Reading) -> dict[str, Any]:
    """How training reads each stream of a mix."""
    blocks = sequences_of(mix.train_weights(reading), mix.block)
    rows = [
        dg.TableRecord(
            {
                "stream": each.stream,
                "train tokens": each.tokens,
                "weight": each.share,
                f"sequences of {mix.block}": blocks[each.stream],
                "tokens read": each.read,
                "rate": f"{each.rate:.3g}",
                "epochs": f"{each.epochs:.3g}",
            }
        )
        for each in reading.streams
    ]
    warned = {"warnings": "; ".join([*reading.shortages, *reading.warnings])}
    facts = {"streams in training": dg.MetadataValue.table(rows), "tokens in training": reading.total}
    return facts | (warned if warned["warnings"] else {})


def declared_facts(mix: Mix, index: Index, sources: Mapping[str, Source]) -> dict[str, Any]:
    """The tokens of a token cache by licence and by language, if sources declare any."""
    facts: dict[str, Any] = {}
    declared = declared_tokens(mix.streams, sources, tokens_by_stream(index))
    for what, counts in (("licence", declared.licences), ("language", declared.languages)):
        if counts:
            table = [dg.TableRecord({what: name, "train tokens": tokens}) for name, tokens in counts.items()]
            facts[f"tokens by {what}"] = dg.MetadataValue.table(table)
    return facts


def index_facts(store: Store, index: Index) -> dict[str, Any]:
    """The content of an index as metadata for people."""
    tokens = any("tokens" in each.totals for each in index.slices)  # a mix has none before they are made
    return {
        **totals_facts(index.totals),
        "slices": table([_shown(each, tokens=tokens) for each in index.slices]),
        "absent slices": ", ".join(index.absent) or "none",
        "older editions left out": ", ".join(index.left) or "none",
        "index": dg.MetadataValue.path(f"{store.url}/{index.asset}/index.json"),
    }


def _shown(part: Slice, *, tokens: bool) -> dict[str, Any]:
    shown = {
        "stream": part.stream,
        "snapshot": part.snapshot,
        "rows": part.totals.get("rows", 0),
        "size": size_in_words(part.totals.get("bytes", 0)),
    }
    return {**shown, "tokens": part.totals.get("tokens", 0)} if tokens else shown
