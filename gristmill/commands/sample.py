"""`sample [LAKE] MIX`: shows examples of rows that a mix keeps, and of rows that each of its rules drops."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from gristmill.commands._shared.changes import change_lines
from gristmill.commands._shared.lake_word import is_path
from gristmill.commands._shared.selected_mix import find_mix_for_command
from gristmill.commands._shared.selected_version import parse_source_version
from gristmill.commands._shared.terminal import (
    add_bucket_options,
    add_shelves_option,
    lake_of_arguments,
    print_line,
    shelf_packages,
)
from gristmill.errors import DataError, RecipeError, shorten
from gristmill.lake.address import documents_asset, ledger_folder, mix_asset, place
from gristmill.lake.ledger.files import check_made_alike, list_ledgers, read_ledger
from gristmill.lake.ledger.model import Ledger, Upstream
from gristmill.lake.rows.blocklists.blocklist import read_blocklist
from gristmill.lake.store.protocol import Store
from gristmill.recipes.drift.drop_reasons import BLOCKED, SAMPLED_OUT, TOO_FEW_BYTES, TOO_LITTLE_LEFT, TOO_SHORT
from gristmill.recipes.selection import Selection
from gristmill.recipes.sql.rule_tree import named_columns
from gristmill.stages.mixing.edits.transforming import transforms_of_selection
from gristmill.stages.mixing.sample import KEPT, Sample, SampledRow, draw_sample
from gristmill.stages.mixing.step import MixingStep, revision_step, stream_step
from gristmill.text.differences import first_differences
from gristmill.text.natural_order import newest_snapshot

HELP = "show rows that a mix (or a version, as in wiki/v1) keeps, and rows that each rule drops"

_WIDTH = 100
_LISTED = BLOCKED.format("")


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[LAKE] MIX",
        help="a mix, or <source>/<version>; before it the lake: -, s3://bucket/prefix, or a folder; by default that of"
        " the project or GRISTMILL_LAKE",
    )
    add_bucket_options(parser)
    parser.add_argument("--stream", help="only this stream")
    parser.add_argument("--snapshot", help="by default the newest finished one")
    parser.add_argument("--rows", type=int, default=10, metavar="N", help="examples per rule (%(default)s)")
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Draws and shows examples. Returns 1 if the counts differ from those of the ledger, else 0.

    Raises:
        RecipeError: there is no such mix, stream or version on the shelves.
        DataError: the snapshot is not finished.
        StoreError: the lake does not answer.
    """
    if arguments.rows < 0:
        raise RecipeError(f"--rows {arguments.rows}: give a number, 0 or more")
    arguments.lake, arguments.mix = _lake_and_mix(arguments.words)
    store = lake_of_arguments(arguments).store()
    agree = True
    shown = 0
    for step in _mixing_steps(store, arguments):
        shown += 1
        agree &= _print_sample(store, step, arguments.rows)
    if not shown:
        raise DataError(f"{arguments.mix}: no slice of it is finished; make one first")
    return 0 if agree else 1


def _lake_and_mix(words: Sequence[str]) -> tuple[str, str]:
    if len(words) > 2 or is_path(words[-1]):
        raise RecipeError(f"{' '.join(words)}: name a mix or a version, as in wiki/v1, after the lake or alone")
    return (words[0] if words[:-1] else "-"), words[-1]


def _mixing_steps(store: Store, arguments: Namespace) -> list[MixingStep]:
    shelves = shelf_packages(arguments)
    name = str(arguments.mix)
    if "/" in name:
        source, version = parse_source_version(shelves, name, arguments.stream)
        snapshot = _finished_snapshot(store, documents_asset(source.name, version), arguments.snapshot)
        return [revision_step(source, version, snapshot, shelves)] if snapshot else []
    mix = find_mix_for_command(shelves, name)
    keys = [mix.stream(arguments.stream).key] if arguments.stream else [stream.key for stream in mix.streams]
    snapshots = [(key, _finished_snapshot(store, mix_asset(name, key), arguments.snapshot)) for key in keys]
    return [stream_step(mix, key, snapshot, shelves) for key, snapshot in snapshots if snapshot]


def _finished_snapshot(store: Store, asset: str, requested: str | None) -> str:
    """The requested snapshot if it is finished, else the newest finished one; empty if none is finished."""
    finished = [ledger.snapshot for ledger in list_ledgers(store, ledger_folder(asset)) if ledger.asset == asset]
    if requested is not None:
        return requested if requested in finished else ""
    return newest_snapshot(finished) if finished else ""


def _print_sample(store: Store, step: MixingStep, rows: int) -> bool:
    partition = place(step.asset, step.snapshot)
    ledger, _ = read_ledger(store, partition)
    check_made_alike(ledger, step.recipe, [Upstream(each, "", "") for each in step.reads], partition)
    transforms = transforms_of_selection(step.selection.transforms, step.shelves)
    sample = draw_sample(store, step.source, step.version, step.snapshot, step.selection, rows, transforms)
    differences = _count_differences(sample, ledger)
    print_line(f"{step.asset} ({step.snapshot}): {sample.rows:,} rows kept, {sum(sample.dropped.values()):,} dropped")
    if differences:
        print_line(f"  the counts differ from its ledger: {'; '.join(differences)}; make it again")
    else:
        print_line("  the counts, rule by rule, are those of its ledger")
    _print_example_rows("kept", sample.rows, sample.examples[KEPT], None)
    for reason in _reasons_in_order(step.selection, sample):
        because = _reason_in_words(step.selection, reason)
        examples = sample.examples.get(reason, [])
        _print_example_rows(
            f"dropped by {reason}", sample.dropped.get(reason, 0), examples, _rule_condition(step, reason), because
        )
        if reason.startswith(_LISTED):
            _print_blocklist_reasons(store, reason.removeprefix(_LISTED), examples)
    print_line()
    return not differences


def _print_blocklist_reasons(store: Store, name: str, examples: list[SampledRow]) -> None:
    """Shows the blocklist's reasons for these rows."""
    listed = read_blocklist(store, name).reasons
    for example in examples:
        print_line(f"    {_cut_to_width(example.pair[1])}: {_cut_to_width(listed[example.pair])}")


def _count_differences(sample: Sample, ledger: Ledger) -> list[str]:
    recorded: Mapping[str, int] = {"kept": ledger.totals["rows"], **ledger.dropped}
    counted: Mapping[str, int] = {"kept": sample.rows, **sample.dropped}
    names = sorted(recorded.keys() | counted.keys())
    return [
        f"{name} {counted.get(name, 0):,}, in the ledger {recorded.get(name, 0):,}"
        for name in names
        if counted.get(name, 0) != recorded.get(name, 0)
    ]


def _reasons_in_order(selection: Selection, sample: Sample) -> list[str]:
    """All reasons in the order of evaluation: blocklists, rules, the rate, edits; also reasons that drop no row."""
    rules = list(selection.reasons_by_rule)
    others = sorted(reason for reason in sample.dropped if reason not in rules and reason != SAMPLED_OUT)
    listed = [reason for reason in others if reason.startswith(_LISTED)]
    edited = [reason for reason in others if reason not in listed]
    return [*listed, *rules, *([SAMPLED_OUT] if selection.rate < 1 else []), *edited]


def _reason_in_words(selection: Selection, reason: str) -> str:
    if reason == SAMPLED_OUT:
        return f"a rate of {selection.rate} is kept, drawn by the hash of (source, id)"
    if reason.startswith(_LISTED):
        return "listed in the lake's blocklists/"
    if reason == TOO_LITTLE_LEFT:
        return f"less than {selection.least_kept:g} of the text is outside of edited spans"
    if reason == TOO_SHORT:
        return f"fewer than {selection.shortest} code points are left"
    if reason == TOO_FEW_BYTES:
        return f"fewer than {selection.least_bytes} bytes are left, without white space at both ends"
    return selection.reasons_by_rule.get(reason, "")


def _rule_condition(step: MixingStep, reason: str) -> str | None:
    """The condition of a rule; empty if the reason is not a rule."""
    rules = (*step.selection.include, *step.selection.exclude)
    return next((rule.where for rule in rules if rule.name == reason), "")


def _print_example_rows(
    title: str, count: int, examples: list[SampledRow], where: str | None, because: str = ""
) -> None:
    """Shows rows with the values that a rule names; with all values if no rule drops them."""
    print_line(f"  {title} ({count:,} rows)" + (f": {because}" if because else ""))
    if where:
        print_line(f"    rule: {where}")
    read = named_columns(where) if where else frozenset()
    for example in examples:
        values = {name: each for name, each in example.values.items() if where is None or name in read}
        print_line(
            f"    {example.shard} row {example.row}  {_cut_to_width(example.pair[1])}"
            f"  {_values_in_words(values)}".rstrip()
        )
        print_line(f"      | {_cut_to_width(example.text[: 4 * _WIDTH])}")
        for line in change_lines(first_differences(example.text, example.edited_text)):
            print_line(f"      {line}")


def _values_in_words(values: Mapping[str, Any]) -> str:
    return "  ".join(f"{name}={_cut_to_width(str(value), 60)}" for name, value in values.items())


def _cut_to_width(text: str, width: int = _WIDTH) -> str:
    return shorten(" ".join(text.split()), width)
