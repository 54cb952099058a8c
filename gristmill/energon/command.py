"""`energon prepare|prepare-media|lint|info|preview PATH`: prepares and checks datasets for Megatron-Energon.

PATH is a folder of tars, a .jsonl file, or s3://bucket/prefix of one; for lint, info and preview also a metadataset, or
the index or a release of an export. Tars are never changed, and no code that is in a
dataset is run. Exit code 1 if something is wrong with the data; then `prepare` has written nothing, except for a media
file that cannot be read: all else is written, and this file has no metadata.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from gristmill.commands._shared.progress import Progress
from gristmill.commands._shared.terminal import add_bucket_options, print_line
from gristmill.energon.formats.dataset_yaml import crude_dataset
from gristmill.energon.preparing.dataset import DatasetPath, is_prepared, is_release, kind_of, open_dataset
from gristmill.energon.preparing.flaw import Flaw, has_errors
from gristmill.energon.preparing.info import info_lines
from gristmill.energon.preparing.jsonl import JsonlScan, lint_jsonl, prepare_jsonl
from gristmill.energon.preparing.media import add_file_media, add_tar_media
from gristmill.energon.preparing.metadataset.check import check_metadataset, check_tars
from gristmill.energon.preparing.metadataset.leaves import MetadatasetPath, open_metadataset
from gristmill.energon.preparing.metadataset.shown import metadataset_lines, metadataset_preview
from gristmill.energon.preparing.options import (
    add_info_options,
    add_lint_options,
    add_prepare_media,
    add_prepare_options,
    add_preview_options,
    lint_options,
    media_filter_option,
    prepare_options,
    split_names,
    temporary_folder_option,
    worker_count_option,
)
from gristmill.energon.preparing.prepare import Prepared, prepare_indexes, prepare_tars
from gristmill.energon.preparing.preview import preview_lines
from gristmill.energon.preparing.shards import WalkedShard
from gristmill.environment import read_environment
from gristmill.errors import RecipeError
from gristmill.execution.work import ProgressLine
from gristmill.lake.store.endpoint import check_options

HELP = "prepare and check datasets for Megatron-Energon: folders of tars, JSONL files, media"

_OTHER_FILES = (
    "a folder of media files is prepared by prepare-media, and .jsonl files one by one: give the path of each"
)


def declare(parser: ArgumentParser) -> None:
    """Adds the subcommands."""
    below = parser.add_subparsers(required=True, metavar="prepare|prepare-media|lint|info|preview")
    for name, words, add, command in (
        ("prepare", "write the indexes and the splits of a dataset", add_prepare_options, _run_prepare),
        ("prepare-media", "add sizes and durations of media to an index", add_prepare_media, _prepare_media),
        ("lint", "read all of a dataset, and list what is wrong", add_lint_options, _run_lint),
        ("info", "counts, splits and sample type", add_info_options, _run_info),
        ("preview", "the first samples", add_preview_options, _run_preview),
    ):
        one = below.add_parser(name, help=words, description=words)
        add(one)
        add_bucket_options(one)
        one.set_defaults(energon=command)


def run(arguments: Namespace) -> int:
    """Runs a subcommand. Returns the exit code: 1 if something is wrong with the data, else 0.

    Raises:
        RecipeError: an option or the path is wrong.
        DataError: a file that is needed is not there, or is wrong.
        StoreError: the bucket or the folder does not answer.
    """
    return int(arguments.energon(arguments))


def _dataset_of_arguments(arguments: Namespace) -> DatasetPath:
    return open_dataset(arguments.path, _bucket_options(arguments), getattr(arguments, "root", ""))


def _metadataset_of_arguments(arguments: Namespace) -> MetadatasetPath | None:
    """The metadataset that is meant; None: it is a dataset."""
    return open_metadataset(arguments.path, _bucket_options(arguments), arguments.root)


def _changeable_dataset(arguments: Namespace) -> DatasetPath:
    """The dataset, if its files may be changed.

    Raises:
        RecipeError: it belongs to an export.
    """
    dataset = _dataset_of_arguments(arguments)
    if is_release(dataset):
        raise RecipeError(
            f"{dataset.url}: an export has written it, and it is never changed. To change it, edit the recipe and run"
            " `gristmill make`; to check it, run `gristmill energon lint`"
        )
    return dataset


def _bucket_options(arguments: Namespace) -> dict[str, str]:
    """The options of the bucket's client.

    Raises:
        RecipeError: one is wrong.
    """
    options = read_environment().options if arguments.path.startswith("s3://") else {}
    for option in arguments.option:
        key, equals, value = str(option).partition("=")
        if not key or not equals or not arguments.path.startswith("s3://"):
            raise RecipeError("--option takes KEY=VALUE, such as endpoint=http://host:port, with s3://bucket/prefix")
        check_options("--option", {key: value})
        options[key] = value
    return options


def _run_prepare(arguments: Namespace) -> int:
    dataset, options = _changeable_dataset(arguments), prepare_options(arguments)
    kind = kind_of(dataset, dataset.open_dataset_store())
    if kind == "jsonl":
        _check_tar_dataset(arguments)
        return _report_jsonl_index(prepare_jsonl(dataset), "written")
    if kind == "files":
        raise RecipeError(f"{dataset.url}: it has no tar; {_OTHER_FILES}")
    with_progress = _Shards(shown=arguments.progress)
    if arguments.tar_index_only:
        return _report_prepared(prepare_indexes(dataset, options, with_progress))
    return _report_prepared(prepare_tars(dataset, options, crude_dataset(), with_progress))


def _check_tar_dataset(arguments: Namespace) -> None:
    names: tuple[str, ...] = (
        "split_ratio",
        "split_parts",
        "media_metadata",
        "media_by_glob",
        "media_by_header",
        "media_by_extension",
    )
    names += ("sample_type", "tar_index_only", "shuffle_tars", "exclude")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(arguments, name)]
    if given:
        raise RecipeError(f"{given[0]}: a JSONL file has neither splits nor media nor a sample type; leave it out")


def _prepare_media(arguments: Namespace) -> int:
    media = media_filter_option(arguments)
    dataset = _changeable_dataset(arguments)
    if media is None or dataset.name:
        raise RecipeError(f"{dataset.url}: a JSONL file holds no media; give the folder that holds them")
    workers = worker_count_option(arguments.num_workers, "--num-workers")
    add = add_tar_media if is_prepared(dataset.open_dataset_store()) else add_file_media
    return _report_prepared(add(dataset, media, workers, temporary_folder_option(arguments)))


def _run_lint(arguments: Namespace) -> int:
    options, metadataset = lint_options(arguments), _metadataset_of_arguments(arguments)
    if metadataset:
        checked = check_metadataset(metadataset, options, _Shards(shown=False))
        _print_flaws(checked.flaws)
        print_line(
            f"{checked.samples:,} samples in {checked.datasets:,} datasets; {_flaw_count_in_words(checked.flaws)}"
        )
        return int(has_errors(checked.flaws))
    dataset = _dataset_of_arguments(arguments)
    kind = kind_of(dataset, dataset.open_dataset_store())
    if kind == "jsonl":
        return _report_jsonl_index(lint_jsonl(dataset), "checked")
    if kind == "files":
        raise RecipeError(f"{dataset.url}: it has no tar, so there is nothing to check; {_OTHER_FILES}")
    shards, flaws = check_tars(dataset, options, _Shards(shown=False))
    _print_flaws(flaws)
    print_line(f"{_sample_count_in_words(shards)}; {_flaw_count_in_words(flaws)}")
    return int(has_errors(flaws))


def _run_info(arguments: Namespace) -> int:
    metadataset = _metadataset_of_arguments(arguments)
    lines = (
        metadataset_lines(metadataset)
        if metadataset
        else info_lines(_dataset_of_arguments(arguments), arguments.split_config, arguments.dataset_config)
    )
    for line in lines:
        print_line(line)
    return 0


def _run_preview(arguments: Namespace) -> int:
    if arguments.samples < 1:
        raise RecipeError(f"--samples {arguments.samples}: give a number of samples, 1 or more")
    metadataset, most, splits = (
        _metadataset_of_arguments(arguments),
        arguments.samples,
        split_names(arguments.split_parts),
    )
    if metadataset and splits:
        raise RecipeError(f"{arguments.path}: --split-parts is for one dataset; give the path of one of its datasets")
    dataset_lines = () if metadataset else preview_lines(_dataset_of_arguments(arguments), most, splits)
    for line in metadataset_preview(metadataset, most) if metadataset else dataset_lines:
        print_line(line)
    return 0


class _Shards:
    """Shows a line for each shard that was walked over."""

    def __init__(self, *, shown: bool) -> None:
        self._progress = Progress() if shown else None
        self._done = 0

    def __call__(self, shard: WalkedShard) -> None:
        self._done += 1
        if self._progress:
            self._progress(ProgressLine(f"{self._done:,} shards, {shard.shard}: {shard.samples:,} samples"))


def _report_jsonl_index(scan: JsonlScan, done: str) -> int:
    _print_flaws(scan.flaws)
    if not scan.flaws:
        print_line(f"{done}: {scan.samples:,} samples")
        return 0
    print_line(f"{_flaw_count_in_words(scan.flaws)}{'; nothing was written' if done == 'written' else ''}")
    return 1


def _report_prepared(prepared: Prepared) -> int:
    _print_flaws([*prepared.flaws, *prepared.media_flaws])
    if not prepared.written:
        print_line(f"{_flaw_count_in_words(prepared.flaws)}; nothing was written")
        return 1
    parts: dict[str, int] = {}
    for shard in prepared.shards:
        for name, number in shard.parts.items():
            parts[name] = parts.get(name, 0) + number
    media = f"; {prepared.media:,} media files" if prepared.media else ""
    print_line(
        f"written: {_sample_count_in_words(prepared.shards)}{media}"
        if prepared.shards
        else f"written: {prepared.media:,} media files"
    )
    if parts:
        print_line(f"parts: {', '.join(f'{name} {number:,}' for name, number in list(parts.items())[:10])}")
    return int(has_errors(prepared.media_flaws))


def _sample_count_in_words(shards: Sequence[WalkedShard]) -> str:
    ignored = sum(number for shard in shards for number in shard.ignored.values())
    left = f", {ignored:,} members that are no samples" if ignored else ""
    return f"{sum(shard.samples for shard in shards):,} samples in {len(shards):,} shards{left}"


def _print_flaws(flaws: Sequence[Flaw]) -> None:
    for flaw in flaws:
        print_line(f"{'warning' if flaw.warning else 'WRONG  '} {flaw}")


def _flaw_count_in_words(flaws: Sequence[Flaw]) -> str:
    warnings = sum(flaw.warning for flaw in flaws)
    return f"{len(flaws) - warnings:,} wrong, {warnings:,} warnings"
