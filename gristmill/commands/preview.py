"""`preview [LAKE] MIX`: shows what a mix would keep and drop, by rule and by stream, before anything is built.
`preview [LAKE] MIX OTHER`: shows what only one of two mixes would keep.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gristmill.commands._shared.lake_word import is_path
from gristmill.commands._shared.output_file import write_output_file
from gristmill.commands._shared.reading_lines import reading_lines
from gristmill.commands._shared.selected_mix import find_mix_for_command
from gristmill.commands._shared.selected_version import parse_source_version
from gristmill.commands._shared.terminal import (
    add_bucket_options,
    add_shelves_option,
    lake_of_arguments,
    print_line,
    shelf_packages,
)
from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import documents_asset, mix_index
from gristmill.lake.store.protocol import Store
from gristmill.pipeline.expected_tokens import index_over_finished_slices
from gristmill.previews.changed_selection import change_selections
from gristmill.previews.comparison import compare_mixes, lines_of_differences
from gristmill.previews.expected_reading import expected_reading
from gristmill.previews.mix_preview import (
    OpenedStream,
    StreamPreview,
    open_stream,
    preview_stream,
    previewed_snapshots,
)
from gristmill.previews.page import preview_page
from gristmill.previews.token_ratio import TokenRatio, token_ratio
from gristmill.previews.words import preview_lines
from gristmill.project import is_lake
from gristmill.recipes.mix import Mix
from gristmill.recipes.shelf import find_recipe, read_shelf
from gristmill.recipes.source import Source
from gristmill.recipes.sql.process import start_rule_process_early
from gristmill.reports.sizes import size_in_words
from gristmill.scores.label_kinds import declared_kinds
from gristmill.stages.mixing.held_out import HELD_OUT, held_out_words
from gristmill.stages.mixing.step import MixingStep, revision_step, stream_step

HELP = "show what a mix (or a version, as in wiki/v1) would keep and drop, before it is built"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[LAKE] MIX [OTHER]",
        help="a mix, or <source>/<version>, or two that are compared; before them the lake: -, s3://bucket/prefix, or a"
        " folder; by default that of the project or GRISTMILL_LAKE",
    )
    add_bucket_options(parser)
    parser.add_argument("--where", default="", metavar="SQL", help="a condition that documents must meet too")
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="NAME=SQL",
        help="another condition for a rule of the mix; may be repeated",
    )
    parser.add_argument("--stream", help="only this stream")
    parser.add_argument("--snapshot", help="only this snapshot; by default all that the mix takes")
    parser.add_argument("--output", metavar="FILE", help="write an HTML page too, with the curves of the scores")
    parser.add_argument("--rows", type=int, default=3, metavar="N", help="examples of each reason (%(default)s)")
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Shows the preview. Returns 0.

    Raises:
        RecipeError: there is no such mix, stream, version or rule, or a condition is wrong.
        DataError: the documents or a set are not finished; or what the build would raise.
        StoreError: the lake does not answer.
    """
    if arguments.rows < 0:
        raise RecipeError(f"--rows {arguments.rows}: give a number, 0 or more")
    start_rule_process_early()
    words = list(arguments.words)
    lake_first = len(words) > 1 and (is_path(words[0]) or is_lake(Path(words[0])))
    arguments.lake = words.pop(0) if lake_first else "-"
    if len(words) not in {1, 2}:
        raise RecipeError(
            f"{' '.join(words)}: name a mix or a version, as in wiki/v1, after the lake or alone; or two of them"
        )
    if len(words) == 2:
        return _print_mix_difference(arguments, *words)
    lake = lake_of_arguments(arguments)
    store = lake.store()
    streams = _open_streams(store, arguments, words[0])
    _print_needed_bytes(streams)
    previews: list[StreamPreview] = []
    for each in streams:
        previews.append(preview_stream(store, each, arguments.rows))
        for line in preview_lines(previews[-1]):
            print_line(line)
        print_line()
    if "/" not in words[0]:
        for line in _mix_lines(store, arguments, find_mix_for_command(shelf_packages(arguments), words[0]), previews):
            print_line(line)
    if arguments.output:
        with write_output_file(arguments.output, lake.url) as path:
            path.write_text(preview_page(f"Preview of {words[0]}", previews), encoding="utf-8")
        print_line(f"{arguments.output}: the page")
    return 0


def _mix_lines(store: Store, arguments: Namespace, mix: Mix, previews: Sequence[StreamPreview]) -> Iterator[str]:
    """What is said of a mix as a whole: editions that its index does not take, what is held out, how it is read."""
    sources = read_shelf("sources", Source, shelf_packages(arguments))
    for why in index_over_finished_slices(store, sources, mix, mix_index(mix.name)).held:
        yield f"note: the index of the mix: {why}"
    if arguments.stream:
        return
    if mix.validation:
        yield f"mix {mix.name}: validation: {_held_out_line(mix, previews)}"
    if mix.solves_token_shares:
        title, reading = expected_reading(store, mix, previews)
        yield from reading_lines(title, mix, reading)


def _held_out_line(mix: Mix, previews: Sequence[StreamPreview]) -> str:
    """How many documents are held out. By a key they are counted: few keys may have most documents."""
    totals = {"rows": sum(each.tally.kept.documents for each in previews)}
    if mix.validation_key is None:
        return held_out_words(mix.validation, totals)
    totals[HELD_OUT] = sum(each.tally.held.documents for each in previews)
    return f"{held_out_words(mix.validation, totals)}, by {mix.validation_key.path}"


def _print_mix_difference(arguments: Namespace, name: str, other: str) -> int:
    """Shows what only one of two mixes keeps. Conditions that were asked for are those of the second."""
    if arguments.output:
        raise RecipeError(f"--output {arguments.output}: a comparison has no page; leave it out")
    store = lake_of_arguments(arguments).store()
    as_it_is = Namespace(**(vars(arguments) | {"where": "", "rule": []}))
    ours = _open_streams(store, as_it_is, name, keyed=True)
    others = _open_streams(store, arguments, other, keyed=True)
    _print_needed_bytes([*ours, *others])
    shown = (name, other) if name != other else (name, f"{other} with the conditions asked for")
    for title, differences in zip(shown, compare_mixes(store, ours, others, arguments.rows), strict=True):
        for line in lines_of_differences(title, differences):
            print_line(line)
    return 0


def _print_needed_bytes(streams: Sequence[OpenedStream]) -> None:
    needed = [each.needed() for each in streams]
    columns, text = sum(each.columns for each in needed), sum(each.text for each in needed)
    if columns:
        size = size_in_words(columns)
        print_line(f"columns are missing: {size} are read once, and their columns are kept for the next preview")
    if text:
        selections = [one.step.selection for each in streams for one in each.slices]
        changed_rows = any(each.changes_rows for each in selections)
        because = "rows are changed" if changed_rows else "rules read the text"
        print_line(f"{because}: {size_in_words(text)} of documents and sets are read, in each preview")


def _open_streams(store: Store, arguments: Namespace, name: str, *, keyed: bool = False) -> list[OpenedStream]:
    """The streams that were asked for, with the rules that were asked for."""
    shelves = shelf_packages(arguments)
    steps = _mixing_steps(store, arguments, name, shelves)
    rules = dict(_parse_rule_argument(each) for each in arguments.rule)
    selections = change_selections([each[0].selection for each in steps], arguments.where, rules)
    lake = lake_of_arguments(arguments).url
    mix = None if "/" in name else find_mix_for_command(shelves, name)
    opened: list[OpenedStream] = []
    for each, selection in zip(steps, selections, strict=True):
        kinds = {name: declared_kinds(shelves, name, lake) for name in selection.sets}
        ratio = token_ratio(store, mix, each[0].asset.rpartition("/")[2]) if mix else TokenRatio()
        opened.append(
            open_stream(store, [replace(step, selection=selection) for step in each], kinds, ratio, keyed=keyed)
        )
    return opened


def _parse_rule_argument(argument: str) -> tuple[str, str]:
    name, equals, where = argument.partition("=")
    if not name or not equals or not where.strip():
        raise RecipeError(f"--rule {argument}: give NAME=SQL, such as --rule 'too-short=words < 80'")
    return name, where


def _mixing_steps(store: Store, arguments: Namespace, word: str, shelves: tuple[str, ...]) -> list[list[MixingStep]]:
    """The steps of each stream: one for each of its snapshots."""
    if "/" in word:
        source, version = parse_source_version(shelves, word, arguments.stream)
        before = source.versions[source.versions.index(version) - 1]
        snapshots = _judged_snapshots(store, source, before, arguments.snapshot)
        return [[revision_step(source, version, snapshot, shelves) for snapshot in snapshots]]
    mix = find_mix_for_command(shelves, word)
    streams = [mix.stream(arguments.stream)] if arguments.stream else mix.streams
    return [
        [
            stream_step(mix, stream.key, snapshot, shelves)
            for snapshot in _judged_snapshots(
                store, find_recipe("sources", Source, shelves, stream.source), stream.version, arguments.snapshot
            )
        ]
        for stream in streams
    ]


def _judged_snapshots(store: Store, source: Source, version: str, asked: str | None) -> list[str]:
    """The snapshots that are judged: the one that was asked for, or those that an index would take."""
    finished = previewed_snapshots(store, source, version, every=asked is not None)
    if not finished:
        asset = documents_asset(source.name, version)
        raise DataError(f"{asset}: no snapshot is finished; make it first: gristmill make {source.name}/{version}")
    if asked is None:
        return finished
    if asked not in finished:
        raise RecipeError(f"--snapshot {asked}: not finished for {source.name}/{version}; {', '.join(finished)} are")
    return [asked]
