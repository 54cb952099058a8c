"""`dolma tag` tags files of documents, `dolma dedupe` marks duplicates, `dolma mix` selects and edits documents.

They work on plain paths, without a lake, as the Dolma toolkit does. Each takes the toolkit's configuration (YAML or
JSON) or the same options, and writes the same files with the same rows. A file appears when it is complete. A run that
was stopped is continued by the same command; files that are done stay. A file that this command has not made is never
replaced without --force.
"""

import os
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gristmill.commands._shared.progress import Progress
from gristmill.commands._shared.terminal import add_bucket_options, bucket_options, print_error, print_line
from gristmill.dolma.dedupe.config import DEDUPE_FIELDS, UNNEEDED, dedupe_config
from gristmill.dolma.formats.configuration import HiddenVariables
from gristmill.dolma.formats.mixer_config import MIX_FIELDS, mixer_config
from gristmill.dolma.tagging.attribute_folder import first_names
from gristmill.dolma.tagging.config import FIELDS, read_config, tag_config, without_taggers
from gristmill.engines.kinds import open_engine
from gristmill.environment import environment_variables, read_environment
from gristmill.errors import AtWork, GristmillError, RecipeError
from gristmill.execution.work import OpenEngine
from gristmill.lake.store.open import open_store

if TYPE_CHECKING:
    from gristmill.dolma.tagging.file_run import FilePlan

HELP = "the Dolma toolkit's command line on plain paths: tag, dedupe, mix"

AT_WORK = 3
"""The exit code if another run writes to the same folder."""

_MEANINGS = {
    "documents": "paths or patterns of documents, or addresses such as s3://bucket/documents/*.gz",
    "destination": "where the attributes go, one for each of --documents",
    "taggers": "names of Dolma's taggers",
    "experiment": "first part of the labels' names, and folder below attributes/",
    "processes": "files that are made at the same time",
    "shuffle": "gather input files to outputs of max_size_in_bytes; without it each gives one output",
    "ignore_existing": "make files again that this command has finished",
    "dryrun": "show what would be done",
    "dedupe.name": "folder below attributes/",
    "bloom_filter.file": "where the keys are kept: exact ones, in place of a Bloom filter",
    "bloom_filter.read_only": "compare with the keys of bloom_filter.file alone",
    "dedupe.documents.key": "path of the key that is compared, such as $.metadata.url",
}


def declare(parser: ArgumentParser) -> None:
    """Adds the subcommands."""
    parser.add_argument("-c", "--config", dest="config_before", default="", metavar="FILE", help="as of the command")
    below = parser.add_subparsers(required=True, metavar="tag|dedupe|mix", dest="dolma_command")
    tag = below.add_parser("tag", help="write attributes of documents", description=__doc__)
    _add_subcommand(tag, FIELDS)
    words = "run without this tagger of the configuration; may be given several times"
    tag.add_argument("--leave-out", action="append", default=[], metavar="TAGGER", help=words)
    words = "mark duplicate documents and paragraphs"
    _add_subcommand(below.add_parser("dedupe", help=words, description=__doc__), DEDUPE_FIELDS)
    words = "select documents by their attributes, and replace spans"
    mix = below.add_parser("mix", help=words, description=__doc__)
    _add_subcommand(mix, MIX_FIELDS)
    words = "fail if an expression names an attribute that no row has; without it that is a warning"
    mix.add_argument("--strict", action="store_true", help=words)


def _add_subcommand(one: ArgumentParser, fields: Mapping[str, type]) -> None:
    one.add_argument("-c", "--config", default="", metavar="FILE", help="the toolkit's configuration, YAML or JSON")
    for name, kind in fields.items():
        words = _MEANINGS.get(name, "accepted, as the toolkit has it")
        if kind is bool:
            one.add_argument(f"--{name}", action=BooleanOptionalAction, default=None, help=words)
        elif kind is list:
            one.add_argument(f"--{name}", nargs="*", default=None, metavar="NAME", help=words)
        else:
            one.add_argument(f"--{name}", type=kind, default=None, metavar="VALUE", help=words)
    one.add_argument("--force", action="store_true", help="replace files that others made, and records that do not fit")
    add_bucket_options(one)


def run(arguments: Namespace) -> int:
    """Makes what is missing. Returns 0; 3 if another run writes to the same folder.

    Raises:
        RecipeError: the configuration is wrong, or the attributes were made by other taggers or options.
        DataError: a file cannot be read, or an output is not of this command.
        StoreError: a store does not answer.
    """
    variables = HiddenVariables(environment_variables())
    try:
        options = bucket_options(arguments, read_environment())
        return {"dedupe": _run_dedupe, "tag": _run_tag, "mix": _run_mix}[arguments.dolma_command](
            arguments, options, variables
        )
    except AtWork as error:
        print_error(variables.hide_values(str(error)))
        return AT_WORK
    except GristmillError as error:
        error.args = tuple(variables.hide_values(str(each)) for each in error.args)
        raise


def _run_tag(arguments: Namespace, options: dict[str, str], variables: HiddenVariables) -> int:
    from gristmill.dolma.tagging.tagging import plan_tagging, run_tagging  # noqa: PLC0415 - others start sooner

    config = without_taggers(
        tag_config(_configuration_fields(arguments, options, FIELDS, variables)), arguments.leave_out
    )
    plan = plan_tagging(config, options, force=arguments.force)
    named = [f"{folder.root}: {', '.join(folder.taggers)}" for folder in plan.folders]
    _show_planned_outputs(
        plan, named, f"{len(plan.items):,} files to tag, {plan.done_count:,} files of attributes are done", variables
    )
    if config.dryrun:
        return 0
    with _open_engine_with_progress(config.processes, plan.items, "local") as (engine, progress):
        documents = run_tagging(plan, engine, options, progress)
    print_line(f"{documents:,} documents in {len(plan.items):,} files tagged")
    return 0


def _run_dedupe(arguments: Namespace, options: dict[str, str], variables: HiddenVariables) -> int:
    from gristmill.dolma.dedupe.deduping import plan_dedupe, run_dedupe  # noqa: PLC0415 - others start sooner

    fields = _configuration_fields(arguments, options, DEDUPE_FIELDS, variables)
    config = dedupe_config(fields)
    unneeded = [name for name in UNNEEDED if fields.get(name)]
    if unneeded:
        print_line(f"accepted, and not needed here: {', '.join(unneeded)}")
    plan = plan_dedupe(config, options, force=arguments.force)
    named = [f"{folder.root}: {config.numbered_name(config.attribute)}" for folder in plan.folders]
    counts = f"{len(plan.missing):,} files to compare, {plan.done_count:,} files of attributes are done"
    _show_planned_outputs(plan, named, counts, variables)
    if plan.keys:
        print_line(f"{config.numbered_name(config.bloom_file)}: their keys are saved here")
    if config.dryrun:
        return 0
    progress = Progress()
    try:
        documents = run_dedupe(plan, config, options, progress)
    finally:
        progress.end()
    print_line(f"{documents:,} documents in {len(plan.files):,} files compared")
    return 0


def _run_mix(arguments: Namespace, options: dict[str, str], variables: HiddenVariables) -> int:
    from gristmill.dolma.mixing.mixing import absent_attributes, plan_mixing, run_mixing  # noqa: PLC0415 - others start sooner

    path = arguments.config or arguments.config_before
    if not path:
        raise RecipeError("dolma mix: give the streams in a configuration, with -c")
    given = {name: getattr(arguments, name) for name in MIX_FIELDS}
    config = mixer_config(_read_configuration_file(path, options), path, given, variables)
    plan = plan_mixing(config, options, force=arguments.force)
    named = [f"{each.name}: {plan.outputs[each.name]:,} files in {each.output.path}" for each in config.streams]
    _show_planned_outputs(plan, named, f"{len(plan.items):,} files to write, {plan.done_count:,} are done", variables)
    if config.dryrun:
        return 0
    with _open_engine_with_progress(config.processes, plan.items, "inline") as (engine, progress):
        facts = run_mixing(plan, engine, options, progress, strict=arguments.strict)
    for words in absent_attributes(plan, facts):
        print_line(f"warning: {words}")
    if plan.items:
        print_line(
            f"{facts.get('kept', 0):,} of {facts.get('documents', 0):,} documents kept in {len(plan.items):,} files"
        )
    return 0


def _show_planned_outputs(plan: "FilePlan", named: Sequence[str], counts: str, variables: HiddenVariables) -> None:
    """Shows what is to be done, and which outputs of earlier runs are removed or stay: another step may need them."""
    for pattern in plan.missed:
        print_line(variables.hide_values(f"no file matches {pattern}"))
    for words in (*named, counts):
        print_line(words)
    stale = sum(len(folder.stale) for folder in plan.folders)
    if stale:
        print_line(f"{stale:,} files of an earlier run are removed")
    left = [f"{folder.root}/{name}" for folder in plan.folders for name in folder.left]
    if left:
        words = f"{len(left):,} files of attributes are left that no document gives any more"
        print_line(variables.hide_values(f"{words}; remove them if nobody needs them: {first_names(left)}"))


@contextmanager
def _open_engine_with_progress(
    processes: int, items: Sequence[object], alone: str
) -> Iterator[tuple[OpenEngine, Progress]]:
    """An engine and the progress. `alone`: the kind of engine for one worker.

    Published configurations ask for 190 processes of a large machine; more than one for each core gains nothing.
    """
    workers = max(1, min(processes, len(items), os.cpu_count() or 1))
    progress = Progress()
    with closing(open_engine("local" if workers > 1 else alone, workers)) as engine:
        try:
            yield engine, progress
        finally:
            progress.end()


def _configuration_fields(
    arguments: Namespace, options: dict[str, str], names: Mapping[str, type], variables: HiddenVariables
) -> dict[str, Any]:
    """The fields of the configuration; options of the command line come before those of the file."""
    path = arguments.config or arguments.config_before
    found = read_config(_read_configuration_file(path, options), path, names, variables) if path else {}
    given = {name: getattr(arguments, name) for name in names}
    return found | {name: value for name, value in given.items() if value is not None}


def _read_configuration_file(path: str, options: dict[str, str]) -> bytes:
    if path.startswith("s3://"):
        folder, _, name = path.rpartition("/")
        return open_store(folder, options).read(name)
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise RecipeError(f"{path}: {error.strerror or error}; give the path of a configuration") from error
