"""The options of `gristmill energon`, in the spelling of the format's specification and in that of release 7.4.1."""

import json
import os
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from pathlib import Path

from gristmill.energon.formats.dataset_yaml import DATASET_YAML, crude_dataset, typed_dataset
from gristmill.energon.formats.field_map import check_field_map
from gristmill.energon.formats.media import MediaFilter, read_media_filter
from gristmill.energon.formats.sample_types import CRUDE, sample_type
from gristmill.energon.formats.split import SPLIT_YAML
from gristmill.energon.preparing.lint import LintOptions
from gristmill.energon.preparing.prepare import PrepareOptions
from gristmill.energon.preparing.splits import parse_split_parts, parse_split_ratio
from gristmill.errors import RecipeError


def add_prepare_options(parser: ArgumentParser) -> None:
    """Adds the options of `prepare`."""
    _add_path_argument(parser, "a folder of tars, or a .jsonl file; or s3://bucket/prefix of one")
    parser.add_argument("--split-ratio", metavar="A,B,C", help="shares of train, val and test, such as 8,1,1")
    parser.add_argument(
        "--split-parts",
        action="append",
        default=[],
        metavar="NAME:REGEX",
        help="shards of a split, by a regular expression from the beginning of the path; may be repeated",
    )
    parser.add_argument("--exclude", metavar="REGEX", help="leaves out tars in whose path this is found")
    parser.add_argument(
        "--shuffle-tars", action="store_true", help="shuffles the shards before they are split by ratio"
    )
    parser.add_argument("--tar-index-only", action="store_true", help="makes the indexes of a prepared dataset again")
    parser.add_argument("--media-metadata", action="store_true", help="reads the media too; needs a --media-by option")
    _add_media_options(parser)
    parser.add_argument(
        "--sample-type",
        metavar="CLASS",
        help=f"such as CaptioningSample; {CRUDE} by default, with no dataset.yaml there",
    )
    parser.add_argument("--field-map", metavar="JSON", help="""such as '{"image": "jpg", "caption": "json[text]"}'""")
    parser.add_argument("--dataset-yaml-name", default=DATASET_YAML, metavar="NAME", help="(%(default)s)")
    parser.add_argument("--skip-dataset-yaml", action="store_true", help="writes no dataset.yaml")
    parser.add_argument(
        "--force-overwrite", action="store_true", help="replaces an earlier preparation, and files that were edited"
    )
    parser.add_argument("--fix-duplicates", action="store_true", help="refused: tars are never changed")
    parser.add_argument("--non-interactive", action="store_true", help="always so: nothing is asked")
    _add_workers_option(parser)


def add_prepare_media(parser: ArgumentParser) -> None:
    """Adds the options of `prepare-media`."""
    _add_path_argument(parser, "a prepared folder of tars, or a folder of media files; or s3://bucket/prefix of one")
    _add_media_options(parser)
    _add_workers_option(parser)


def add_lint_options(parser: ArgumentParser) -> None:
    """Adds the options of `lint`."""
    _add_path_argument(parser, "a prepared dataset, or a metadataset (.yaml)")
    _add_root_option(parser)
    parser.add_argument(
        "--split-parts", default="train,val,test", metavar="NAMES", help="splits to check (%(default)s)"
    )
    _add_config_options(parser)
    parser.add_argument("--parallel", type=int, default=1, metavar="N", help="processes (%(default)s)")
    _add_tmp_option(parser)


def add_info_options(parser: ArgumentParser) -> None:
    """Adds the options of `info`."""
    _add_path_argument(parser, "a prepared dataset, or a metadataset (.yaml)")
    _add_root_option(parser)
    _add_config_options(parser)


def add_preview_options(parser: ArgumentParser) -> None:
    """Adds the options of `preview`."""
    _add_path_argument(parser, "a folder of tars, or a .jsonl file")
    _add_root_option(parser)
    parser.add_argument("--samples", type=int, default=2, metavar="N", help="number of samples (%(default)s)")
    parser.add_argument("--split-parts", default="", metavar="NAMES", help="the first samples of each of these splits")


def _add_path_argument(parser: ArgumentParser, words: str) -> None:
    parser.add_argument("path", metavar="PATH", help=words)


def _add_media_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--media-by-glob",
        "--media-metadata-by-glob",
        dest="media_by_glob",
        action="append",
        metavar="PATTERNS",
        help="media are files with such names: '*.jpg,*.png'",
    )
    parser.add_argument(
        "--media-by-header",
        "--media-metadata-by-header",
        dest="media_by_header",
        action="store_true",
        help="media are files with such first bytes; reads all files",
    )
    parser.add_argument(
        "--media-by-extension",
        "--media-metadata-by-extension",
        dest="media_by_extension",
        action="store_true",
        help="media are files with the usual endings",
    )


def _add_root_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--root",
        default="",
        metavar="FOLDER",
        help="the folder that names in the dataset may lead to; its own by default, and that of an export",
    )


def _add_config_options(parser: ArgumentParser) -> None:
    parser.add_argument("--dataset-config", default=DATASET_YAML, metavar="NAME", help="in .nv-meta (%(default)s)")
    parser.add_argument("--split-config", default=SPLIT_YAML, metavar="NAME", help="in .nv-meta (%(default)s)")


def _add_workers_option(parser: ArgumentParser) -> None:
    parser.add_argument("--num-workers", type=int, default=0, metavar="N", help="processes (one for each CPU)")
    parser.add_argument("--progress", action=BooleanOptionalAction, default=True, help="shows each shard")
    _add_tmp_option(parser)


def _add_tmp_option(parser: ArgumentParser) -> None:
    parser.add_argument("--tmp-path", metavar="FOLDER", help="of this machine, for indexes while they are made")


def media_filter_option(arguments: Namespace) -> MediaFilter | None:
    """The filter of the arguments; None if media were not asked for.

    Raises:
        RecipeError: not exactly one way of selecting media was given.
    """
    globs = arguments.media_by_glob or []
    if len(globs) > 1:
        raise RecipeError(
            f"--media-by-glob is given {len(globs)} times; write its patterns as one: '{','.join(globs)}'"
        )
    given = bool(globs) or arguments.media_by_header or arguments.media_by_extension
    if not given and not getattr(arguments, "media_metadata", True):
        return None
    return read_media_filter(
        globs[0] if globs else None, by_header=arguments.media_by_header, by_extension=arguments.media_by_extension
    )


def worker_count_option(number: int, option: str) -> int:
    """The number of processes: as given, or one for each CPU.

    Raises:
        RecipeError: it is negative.
    """
    if number < 0:
        raise RecipeError(f"{option} {number}: give a number of processes, 1 or more")
    return number or len(os.sched_getaffinity(0))


def temporary_folder_option(arguments: Namespace) -> str | None:
    """The folder for indexes while they are made; None: the usual one of this machine.

    Raises:
        RecipeError: it is not a folder.
    """
    folder: str | None = arguments.tmp_path
    if folder is not None and not Path(folder).is_dir():
        raise RecipeError(f"--tmp-path {folder}: it is not a folder; make it, or give another")
    return folder


def prepare_options(arguments: Namespace) -> PrepareOptions:
    """The options of `prepare`.

    Raises:
        RecipeError: one is wrong, or two contradict each other.
    """
    if arguments.fix_duplicates:
        raise RecipeError("--fix-duplicates changes tars, which Gristmill never does; pack the samples again")
    media = media_filter_option(arguments)
    others = (media, arguments.split_ratio, arguments.split_parts, arguments.sample_type, arguments.exclude)
    if arguments.tar_index_only and any(others):
        raise RecipeError(
            "--tar-index-only makes the indexes of all shards alone: leave out --exclude, splits, media and"
            " sample types"
        )
    skip: bool = arguments.skip_dataset_yaml
    if arguments.split_ratio and arguments.split_parts:
        raise RecipeError("give --split-ratio or --split-parts, not both")
    return PrepareOptions(
        ratio=parse_split_ratio(arguments.split_ratio) if arguments.split_ratio else {},
        patterns=parse_split_parts(arguments.split_parts),
        exclude=arguments.exclude,
        shuffle=arguments.shuffle_tars,
        media=media,
        workers=worker_count_option(arguments.num_workers, "--num-workers"),
        overwrite=arguments.force_overwrite,
        dataset_yaml=None if skip else _dataset_yaml(arguments.sample_type, arguments.field_map),
        dataset_yaml_name="" if skip else _plain_name(arguments.dataset_yaml_name),
        tmp=temporary_folder_option(arguments),
    )


def _plain_name(name: str) -> str:
    if not name.endswith(".yaml") or "/" in name or "\\" in name or name == SPLIT_YAML:
        raise RecipeError(f"--dataset-yaml-name {name!r}: give the name of a file in .nv-meta, such as dataset.yaml")
    return name


def _dataset_yaml(name: str | None, field_map: str | None) -> bytes | None:
    """The content of `dataset.yaml` that the options ask for; None if they say nothing about it."""
    if name is None or name == CRUDE:
        if field_map is not None:
            raise RecipeError("--field-map needs a --sample-type with fields, such as CaptioningSample")
        return None if name is None else crude_dataset()
    kind = sample_type(name)
    if field_map is None:
        raise RecipeError(
            f"--sample-type {name} needs --field-map, for no sample_loader.py is written; or take {CRUDE}, and a cooker"
        )
    try:
        fields = json.loads(field_map)
    except ValueError as error:
        raise RecipeError(f"--field-map {field_map!r} is not JSON: {error}") from error
    if not isinstance(fields, dict) or not all(isinstance(part, str) for part in fields.values()):
        raise RecipeError(f"""--field-map {field_map!r}: give an object such as {{"text": "txt"}}""")
    check_field_map(kind, fields)
    return typed_dataset(kind.name, fields, module=kind.module)


def split_names(text: str) -> tuple[str, ...]:
    """The names that `--split-parts` of `lint` and `preview` gives.

    Args:
        text: value of the option, as in `train, val`.

    >>> split_names("train, val"), split_names("")
    (('train', 'val'), ())
    """
    return tuple(name.strip() for name in text.split(",") if name.strip())


def lint_options(arguments: Namespace) -> LintOptions:
    """The options of `lint`.

    Raises:
        RecipeError: one is wrong.
    """
    return LintOptions(
        splits=split_names(arguments.split_parts),
        dataset_config=arguments.dataset_config,
        split_config=arguments.split_config,
        workers=worker_count_option(arguments.parallel, "--parallel"),
        tmp=temporary_folder_option(arguments),
    )
