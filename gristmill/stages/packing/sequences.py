"""The sequences that the streams of a mix give a trainer, at the length that the mix declares."""

from collections.abc import Sequence

from gristmill.errors import DataError, NewerSchema
from gristmill.formats.levanter.cache_ledger import dump_ledger
from gristmill.lake.address import SPLITS, cache_asset, cache_packing, packing_stem
from gristmill.lake.asset_kinds import ledger_of_asset
from gristmill.lake.ledger.index_ledger import changed_files, read_index_ledger
from gristmill.lake.ledger.model import Upstream
from gristmill.lake.store.protocol import Store
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.mixture.token_shares import Sequences
from gristmill.stages.packing.packer import packing_rule_of_format
from gristmill.stages.packing.plans import decode_plan
from gristmill.stages.packing.report import Report, report_on_packing
from gristmill.stages.token_cache.merged_ledger import merge_slices
from gristmill.stages.token_cache.token_stream import TokenStream


def training_sequences_by_stream(
    store: Store, mix: Mix, tokenizer: str, slices: Sequence[Upstream]
) -> dict[str, Sequences] | None:
    """The sequences of the training split of each stream: as planned or, if there is no such plan, counted now.

    Args:
        store: the lake.
        mix: the mix.
        tokenizer: name of the tokenizer of the token cache.
        slices: slices of the token cache.

    Returns:
        The sequences, by stream; None if the mix declares no length.

    Raises:
        DataError: the cache is damaged, or a document or row is too long and must not be cut.
        StoreError: the lake does not answer.
    """
    if mix.sequence_length is None:
        return None
    return planned_sequences(store, mix, tokenizer, slices) or {
        stream.key: _sequences_of_report(stream, _report_without_plan(store, mix, tokenizer, stream, slices))
        for stream in mix.streams
    }


def cut_documents_sentences(store: Store, mix: Mix, tokenizer: str, slices: Sequence[Upstream]) -> tuple[str, ...]:
    """One sentence for each stream whose packed documents are longer than a sequence: what training never reads.

    Args:
        store: the lake.
        mix: the mix.
        tokenizer: name of the tokenizer of the token cache.
        slices: slices of the token cache.

    Raises:
        DataError: the cache is damaged, or a document is too long and must not be cut.
        StoreError: the lake does not answer.
    """
    packed = [stream for stream in mix.streams if stream.key in mix.packed_streams]
    if mix.sequence_length is None or not packed:
        return ()
    planned = _sound_planned_reports(store, mix, tokenizer, slices)
    reports = {
        stream.key: planned.get(stream.key) or _report_without_plan(store, mix, tokenizer, stream, slices)
        for stream in packed
    }
    return tuple(
        f"stream {name!r}: documents that are longer than a sequence of {each.length:,} tokens are"
        f" {'left out' if each.dropped_documents else 'cut'} ({documents:,} of {each.documents:,}): {tokens:,} of"
        f" {each.tokens:,} tokens ({100 * tokens / each.tokens:.3g}%) are never read; a longer sequence_length of the"
        " mix reads them"
        for name, each in reports.items()
        if (documents := each.truncated_documents + each.dropped_documents)
        and (tokens := each.truncated_tokens + each.dropped_tokens)
    )


def planned_sequences(
    store: Store, mix: Mix, tokenizer: str, slices: Sequence[Upstream]
) -> dict[str, Sequences] | None:
    """The sequences of each stream, from the packing plans alone, see training_sequences_by_stream().

    Args:
        store: the lake.
        mix: the mix.
        tokenizer: name of the tokenizer.
        slices: the slices that the index closes.

    Returns:
        The sequences by stream; None if the plans are of other slices, by another rule, or damaged.

    Raises:
        NewerSchema: a newer version of Gristmill wrote them.
        DataError: a row is too long.
    """
    reports = _sound_planned_reports(store, mix, tokenizer, slices)
    found = {
        stream.key: _sequences_of_report(stream, reports[stream.key]) for stream in mix.streams if stream.key in reports
    }
    return found if len(found) == len(mix.streams) else None


def _sound_planned_reports(store: Store, mix: Mix, tokenizer: str, slices: Sequence[Upstream]) -> dict[str, Report]:
    """The reports of _planned_reports(); none if a plan is damaged.

    Raises:
        NewerSchema: a newer version of Gristmill wrote them.
    """
    try:
        return _planned_reports(store, mix, tokenizer, slices)
    except NewerSchema:
        raise
    except DataError:
        return {}


def _planned_reports(store: Store, mix: Mix, tokenizer: str, slices: Sequence[Upstream]) -> dict[str, Report]:
    """The reports of the plans of the training splits; none if a plan is missing, of other slices or by another rule.

    Raises:
        DataError: a plan or the ledger of the plans is damaged.
    """
    length = mix.sequence_length or 0
    ledger = read_index_ledger(store, ledger_of_asset(cache_packing(mix.name, tokenizer), length=str(length)))
    if ledger is None or ledger.inputs != tuple(slices):
        return {}
    if any(changed_files(store, ledger, dict.fromkeys(path for path in ledger.files if path.endswith(".npy")))):
        return {}
    reports: dict[str, Report] = {}
    for stream in mix.streams:
        path = f"{packing_stem(mix.name, tokenizer, stream.key, SPLITS[0], length)}.json"
        if path in ledger.files:
            reports[stream.key] = decode_plan(store.read(path), path).report
    rules = {stream.key: packing_rule_of_format(stream.format, length) for stream in mix.streams}
    return {key: report for key, report in reports.items() if report.is_by(rules[key])}


def _report_without_plan(store: Store, mix: Mix, tokenizer: str, stream: Stream, slices: Sequence[Upstream]) -> Report:
    """The report on a training split that has no plan. Its merged ledger need not exist."""
    asset, length = cache_asset(mix.name, tokenizer, stream.key), mix.sequence_length or 0
    merged = merge_slices(store, asset, SPLITS[0], [each.snapshot for each in slices if each.asset == asset])
    path = f"{asset}/{SPLITS[0]}"
    return report_on_packing(TokenStream(store, path, merged=dump_ledger(merged)), stream.format, length)[0]


def _sequences_of_report(stream: Stream, report: Report) -> Sequences:
    if report.unfit_documents:
        raise DataError(
            f"stream {stream.key!r}: {report.unfit_documents} prebuilt rows have another length than the mix's"
            f" sequence_length, {report.length}: a trainer stops at them; give the format length={report.length} with"
            " on_trouble='drop', or the mix their length"
        )
    return Sequences(report.examples, report.filled)
