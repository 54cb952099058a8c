"""`try [LAKE] TAGGER SOURCE/VERSION`: runs a tagger or a transform on a sample of documents, and shows what it does.

TAGGER is the name of one on the shelves, of a tagger in a room of gristmill/taggers, or a Python file (FILE:NAME if it
declares several). Nothing is written to the lake.
"""
# ruff: noqa: N999 - the command is `try`; it is imported by its name as a string

from argparse import ArgumentParser, Namespace

from gristmill.commands._shared.lake_word import is_path
from gristmill.commands._shared.terminal import (
    add_bucket_options,
    add_shelves_option,
    lake_of_arguments,
    print_line,
    shelf_packages,
)
from gristmill.errors import RecipeError
from gristmill.lake.asset_kinds import DOCUMENTS, MODEL, names_in_asset_address
from gristmill.reading.partitions import address_from_fields
from gristmill.recipes.edits.transform import Transform
from gristmill.stages.models.ledger import read_folder
from gristmill.stages.models.local_copy import copy_models_locally
from gristmill.trial.drafts import find_recipe_to_try
from gristmill.trial.pieces import draw_documents
from gristmill.trial.shown import trial_lines
from gristmill.trial.transform_trial import transform_lines, try_transform
from gristmill.trial.trial import run_trial

HELP = "run a draft tagger or transform on a sample of documents: changes, scores, spans in context, errors, speed"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[LAKE] TAGGER SOURCE/VERSION",
        help="a tagger or transform, by its name or file, and the documents, as in wiki/v1; before them the"
        " lake: -, s3://bucket/prefix, or a folder; by default that of the project or GRISTMILL_LAKE",
    )
    add_bucket_options(parser)
    parser.add_argument("--snapshot", help="by default the last one that is finished")
    parser.add_argument("--rows", type=int, default=200, metavar="N", help="documents (%(default)s)")
    parser.add_argument(
        "--examples", type=int, default=3, metavar="N", help="documents or spans shown for each label (%(default)s)"
    )
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Runs the tagger or transform. Returns 1 if it failed for a document, or its answer depends on others; else 0.

    Raises:
        RecipeError: there is no such tagger, transform or version.
        DataError: no snapshot is finished, or a model of the tagger is not in the lake.
        StoreError: the lake does not answer.
    """
    for option in ("rows", "examples"):
        if getattr(arguments, option) < 1:
            raise RecipeError(f"--{option} {getattr(arguments, option)}: give a number, 1 or more")
    words = list(arguments.words)
    if len(words) not in {2, 3} or is_path(words[-1]):
        raise RecipeError(
            f"{' '.join(words)}: name a tagger or transform and a version, as in gopher-1 wiki/v1, after the lake or"
            " alone"
        )
    arguments.lake = words.pop(0) if len(words) == 3 else "-"
    lake = lake_of_arguments(arguments)
    asset = address_from_fields(words[1], DOCUMENTS, "wiki/v1")
    tagger = find_recipe_to_try(words[0], shelf_packages(arguments), lake.url)
    store = lake.store()
    sample = draw_documents(store, asset, arguments.snapshot, arguments.rows)
    if isinstance(tagger, Transform):
        made = try_transform(tagger, sample.rows)
        for line in transform_lines(tagger, sample, made, arguments.examples):
            print_line(line)
        return 1 if made.failures or made.differing else 0
    source = names_in_asset_address(asset)["source"]
    models = {name: read_folder(store, MODEL.at(model=name)).fingerprint for name in tagger.models}
    trial = run_trial(tagger.opened(copy_models_locally(store, models)), sample.rows)
    for line in trial_lines(tagger, sample, trial, arguments.examples):
        print_line(line)
    if not tagger.applies_to(source):
        print_line(f"{tagger.name} does not tag {source} by its only=: {', '.join(sorted(tagger.only))}")
    return 1 if trial.failures or trial.differing else 0
