"""Shared by the indexes of mixes and of token caches: the known snapshots, and the metadata for people."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets.support.facts.tables import metadata_table, warnings_metadata
from assets.support.facts.totals import totals_facts
from assets.support.keys import key_of, snapshots_of
from assets.support.next_steps import OF_ABSENT
from gristmill.errors import GristmillError, escape_controls
from gristmill.formats.levanter.mixture_weights import sequences_by_stream
from gristmill.lake.asset_kinds import TOKEN_CACHE_INDEX, kind_of, names_in_asset_address
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix
from gristmill.recipes.mixture.declared_tokens import declared_tokens
from gristmill.recipes.mixture.token_shares import Reading
from gristmill.recipes.source import Source
from gristmill.reports.sizes import number_and_noun, percentage, size_in_words
from gristmill.stages.cache_index.index import cache_cuts, cache_reading, tokens_by_stream
from gristmill.stages.mixing.index import Index, Slice

PRESENT = "slices_present"
NAMED = 20
"""Largest number of absent slices that are named."""


def known_snapshots(context: dg.AssetExecutionContext, mix: Mix) -> dict[str, list[str]]:
    """The snapshots of each stream's source that Dagster has recorded, by the stream's key."""
    return {
        stream.key: list(context.instance.get_dynamic_partitions(snapshots_of(stream.source).name or ""))
        for stream in mix.streams
    }


def slices_present(address: str) -> dg.AssetCheckSpec:
    """The check of an index that warns if it was closed without some slices; it blocks nothing.

    Args:
        address: address of the index.
    """
    claim = "each snapshot that Dagster knows of a stream's source has its slice in the index"
    return dg.AssetCheckSpec(PRESENT, asset=key_of(address), description=claim)


def index_result(
    context: dg.AssetExecutionContext, store: Store, index: Index, more: Mapping[str, Any] | None = None
) -> dg.MaterializeResult[None]:
    """The materialization of an index, with further metadata, and its check if the run was asked for it."""
    facts = index_facts(store, index) | dict(more or {})
    check = dg.AssetCheckKey(key_of(index.asset), PRESENT)
    is_asked = check in context.op_execution_context.selected_asset_check_keys
    return dg.MaterializeResult(
        data_version=dg.DataVersion(index.fingerprint),
        metadata=facts,
        check_results=[_presence(check, index.absent)] if is_asked else [],
    )


def _presence(check: dg.AssetCheckKey, absent: Sequence[str]) -> dg.AssetCheckResult:
    named = ", ".join(absent[:NAMED]) + (", ..." if len(absent) > NAMED else "")
    return dg.AssetCheckResult(
        asset_key=check.asset_key,
        check_name=check.name,
        passed=not absent,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"{number_and_noun(len(absent), 'slice')} not made yet: {named}"
        if absent
        else "no slice is absent",
        metadata={"run next": OF_ABSENT} if absent else {},
    )


def streams_facts(store: Store, mix: Mix, index: Index, sources: Mapping[str, Source]) -> dict[str, Any]:
    """The metadata for trainers: for each stream, its tokens, its sequences in a block, and its epochs."""
    reading = reading_facts(mix, cache_reading(store, mix, index), cache_cuts(store, mix, index))
    return reading | declared_facts(mix, index, sources)


def reading_facts(mix: Mix, reading: Reading, cuts: Sequence[str] = ()) -> dict[str, Any]:
    """The metadata on how training reads each stream of a mix. `cuts` warn of documents that are too long."""
    blocks = sequences_by_stream(mix.train_weights(reading), mix.block)
    rows = [
        dg.TableRecord(
            {
                "stream": each.stream,
                "train tokens": each.tokens,
                **(
                    {}
                    if each.sequences is None
                    else {"sequences": each.sequences, "tokens in sequences": each.sequence_tokens}
                ),
                "weight": each.weight,
                f"sequences in a block of {mix.block}": blocks[each.stream],
                **({} if each.share is None else {"share of tokens (%)": percentage(each.share)}),
                **({} if each.read is None else {"tokens read": each.read}),
                **({} if each.rate is None else {"rate": float(f"{each.rate:.3g}")}),
                **({} if each.epochs is None else {"epochs": float(f"{each.epochs:.3g}")}),
            }
        )
        for each in reading.streams
    ]
    told = {
        "tokens in training": reading.total,
        "sequence length": reading.sequence_length,
        "sequences in training": reading.total_sequences,
        "bounded by": ", ".join(mix.bounding_streams(reading)) or None,
    }
    return {
        "streams in training": dg.MetadataValue.table(rows),
        **{name: fact for name, fact in told.items() if fact is not None},
        **warnings_metadata([*reading.shortage_sentences, *reading.warnings, *cuts]),
    }


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
        "slices": metadata_table([_shown(each, tokens=tokens) for each in index.slices]),
        "absent slices": ", ".join(index.absent) or "none",
        "older editions left out": ", ".join(index.left) or "none",
        "index": dg.MetadataValue.path(f"{store.url}/{index.asset}/index.json"),
    }


def read_index_facts(store: Store, catalogue: Catalogue, index: Index) -> dict[str, Any]:
    """The metadata of an index that others have made: that of a token cache also says how training reads it.

    Args:
        store: the lake.
        catalogue: the recipes.
        index: the index.
    """
    facts = index_facts(store, index)
    if kind_of(index.asset) is TOKEN_CACHE_INDEX:
        mix = catalogue.mixes[names_in_asset_address(index.asset)["mix"]]
        sources = {stream.key: catalogue.sources[stream.source] for stream in mix.streams}
        try:
            facts |= streams_facts(store, mix, index, sources)
        except GristmillError as error:  # the index is of another recipe of the mix, say
            facts |= warnings_metadata([escape_controls(str(error))])
    return facts


def _shown(part: Slice, *, tokens: bool) -> dict[str, Any]:
    shown = {
        "stream": part.stream,
        "snapshot": part.snapshot,
        "rows": part.totals.get("rows", 0),
        "size": size_in_words(part.totals.get("bytes", 0)),
    }
    return {**shown, "tokens": part.totals.get("tokens", 0)} if tokens else shown
