"""Reports to Dagster: metadata of partitions, and the conversion of errors into Dagster's failures."""

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dagster as dg

from assets.support.facts.pictures import in_short, markdown_image
from assets.support.facts.tables import metadata_table
from assets.support.facts.totals import dropped_facts, totals_facts
from assets.support.next_steps import beside_result, failure_metadata
from gristmill.errors import DataError, RecipeError, StoreError, Superseded, TooManyRefused, error_in_words, is_failure
from gristmill.execution.checks import Verdict
from gristmill.lake.address import Place
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.store.protocol import Store
from gristmill.recipes.drift.drop_reasons import QUARANTINE
from gristmill.reports.histogram import Histogram, draw_histogram, trim_histogram
from gristmill.reports.sizes import percentage
from gristmill.reports.small_plot import MOST, draw_small
from gristmill.stages.conversion.examples import refused_examples
from gristmill.stages.token_cache.part import part_records
from gristmill.stages.token_cache.statistics import TokenStatistics, add_statistics, length_bucket_edges
from resources.lake import LakeResource

_RETRIES = 2


@contextmanager
def convert_errors(lake: LakeResource, where: str = "") -> Iterator[None]:
    """Converts errors: those of data and recipes fail at once, and an op whose lake did not answer is tried again.

    Args:
        lake: its `retry_delay` is the time to wait.
        where: the partition; it is put before messages, which may name only a shard.

    Raises:
        dagster.Failure: the error must not be tried again.
        dagster.RetryRequested: the lake did not answer. A retry policy would not do: Dagster 1.13 also applies it to
            cancelled runs, which then continue.
    """
    lead = f"{where}: " if where else ""
    try:
        yield
    except (DataError, RecipeError, Superseded) as error:
        raise dg.Failure(
            description=str(error) if where and str(error).startswith(where) else f"{lead}{error}",
            metadata={**failure_metadata(error), **_refused(error)},
            allow_retries=False,
        ) from error
    except StoreError as error:
        tried = dg.OpExecutionContext.get().retry_number
        if tried >= _RETRIES:  # Dagster would begin its message with RetryRequested
            raise dg.Failure(
                description=f"{lead}{error} (tried {_RETRIES + 1} times; re-execute from failure later)",
                metadata=failure_metadata(error),
                allow_retries=False,
            ) from error
        wait = lake.retry_delay * (2 ** (tried + 1) - 1)
        raise dg.RetryRequested(max_retries=_RETRIES, seconds_to_wait=wait) from error
    except (dg.Failure, GeneratorExit):  # GeneratorExit: Dagster reads no more of an op's results
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise dg.Failure(
            description=f"{error_in_words(error)} (a bug: see the trace in the log; a retry does not help)",
            metadata=failure_metadata(error),
            allow_retries=False,
        ) from error


def _refused(error: Exception) -> dict[str, Any]:
    """The reasons for which too many rows were refused, as a table with the place of one example each."""
    if not isinstance(error, TooManyRefused):
        return {}
    return {"refused by reason": metadata_table([each._asdict() for each in error.reasons])}


def check_result(verdict: Verdict, key: dg.AssetKey) -> dg.AssetCheckResult:
    """The verdict as Dagster's result of a check."""
    return dg.AssetCheckResult(
        passed=verdict.passed,
        asset_key=key,
        check_name=verdict.name,
        description=verdict.description,
        metadata={
            **beside_result(verdict.name, passed=verdict.passed),
            **_drawn(verdict),
            **verdict.metadata,
        },
        severity=dg.AssetCheckSeverity.ERROR if verdict.blocks else dg.AssetCheckSeverity.WARN,
    )


def _drawn(verdict: Verdict) -> dict[str, Any]:
    drawn = dg.MetadataValue.md(markdown_image(verdict.name, verdict.picture))
    return {"last snapshots": drawn} if verdict.picture else {}


def record_check(
    context: dg.OpExecutionContext, result: dg.AssetCheckResult, *, blocking: bool
) -> Iterator[dg.AssetCheckResult]:
    """Records the result of a check, also in a run that did not select the check.

    Automation selects the checks of documents and not those of attribute sets in the same run, because a run may make
    some of the sets alone. A result that is not selected would bring a warning into the run's log, so it is an event.

    Args:
        context: context of the op that did the check.
        result: the result.
        blocking: whether the partition is published only if it passes.

    Yields:
        The result, if the run has selected the check.
    """
    name, asset = result.check_name or "", result.asset_key
    if asset is None or dg.AssetCheckKey(asset, name) in context.selected_asset_check_keys:
        yield result
        return
    evaluation = dg.AssetCheckEvaluation(
        asset_key=asset,
        check_name=name,
        passed=result.passed,
        metadata=result.metadata,
        description=result.description,
        severity=result.severity,
        blocking=blocking,
        partition=context.partition_key,
    )
    context.log_event(evaluation)  # type: ignore[arg-type]  # it takes evaluations too


def ledger_facts(store: Store, place: Place, ledger: Ledger, shards: Sequence[Shard] = ()) -> dict[str, Any]:
    """The metadata of a partition from its ledger's head.

    Args:
        store: the lake.
        place: the partition.
        ledger: the head.
        shards: rows of the ledger's table. With them, each reason of refused rows has the place of an example.
    """
    totals, rows = ledger.totals, ledger.totals.get("rows", 0)
    metadata: dict[str, Any] = {"dagster/row_count": rows}
    if place.kind.documents or ledger.dropped:
        metadata |= dropped_facts(rows, ledger.dropped)
    metadata |= totals_facts(totals, str(ledger.recipe.parameters.get("unit", "")))
    metadata["shards"] = totals.get("shards", 0)
    if totals.get("shards"):
        metadata["ledger"] = dg.MetadataValue.path(f"{store.url}/{place.ledger}")
        metadata["folder"] = dg.MetadataValue.path(f"{store.url}/{_folder(place)}")
    else:  # its files go, and so does its ledger when nothing made from it is left
        metadata["empty"] = "its raw data have vanished, or nothing of them was kept: it has no files"
    metadata["fingerprint"] = ledger.fingerprint
    if any(reason.startswith(QUARANTINE) for reason in ledger.dropped):
        metadata["quarantine"] = dg.MetadataValue.path(f"{store.url}/{place.quarantine_folder}")
    if ledger.dropped:
        places = {QUARANTINE + reason: row.place for reason, row in refused_examples(store, place, shards).items()}
        metadata["dropped by reason"] = metadata_table(
            [
                {
                    "reason": reason,
                    "rows": count,
                    "share (%)": percentage(count, rows + sum(ledger.dropped.values())),
                    **({"example": places.get(reason, "")} if places else {}),
                }
                for reason, count in sorted(ledger.dropped.items(), key=lambda i: -i[1])
            ]
        )
    return metadata


def _folder(place: Place) -> str:
    """The folder of the objects: the snapshot's, or that of the asset if the snapshot has several folders."""
    return f"{place.asset}/" if place.kind.splits else place.folder


def histogram_image(histogram: Histogram, title: str, unit: str) -> str:
    """A histogram as an image in Markdown that contains its data."""
    data = base64.b64encode(draw_histogram(histogram, title, unit).encode()).decode()
    return f"![{title}](data:image/svg+xml;base64,{data})"


def cache_facts(parts: Sequence[Shard]) -> dict[str, Any]:
    """The metadata over the parts of a slice; empty if no part has statistics."""
    facts = facts_of(parts)
    tokens = sum(part.counts.get("tokens", 0) for part in parts)
    if not facts.lengths or not tokens:
        return {}
    histogram = Histogram(tuple(length_bucket_edges(len(facts.lengths))), facts.lengths)
    return {
        **({"bytes of text a token": round(facts.bytes / tokens, 3)} if facts.bytes else {}),  # prebuilt rows: no text
        "tokens inside a character (%)": percentage(facts.fragments, tokens),
        "unknown tokens (%)": percentage(facts.unknown, tokens),
        "lengths in short": _lengths_in_short(histogram, tokens),
        "document lengths": dg.MetadataValue.md(histogram_image(histogram, "document lengths", "documents by tokens")),
    }


def _lengths_in_short(histogram: Histogram, tokens: int) -> dg.MarkdownMetadataValue:
    shown = trim_histogram(histogram)
    words = (
        f"{histogram.value_count:,} documents by their tokens; on average {tokens / histogram.value_count:,.0f} tokens"
    )
    svg = draw_small(shown.counts[-MOST:], f"{shown.edges[-MOST - 1 :][0]:,}", f"{shown.edges[-1]:,}")
    return in_short(words, "document lengths", svg)


def facts_of(parts: Sequence[Shard]) -> TokenStatistics:
    """The sum of the statistics of all shards in some parts."""
    return add_statistics(shard.facts for record in part_records(parts).values() for shard in record.shards.values())
