"""`weights [LAKE] MIX`: shows how training reads each stream of a mix: its tokens, its share, its rate and its epochs.

The tokens are those of the finished slices of each token cache of the mix. Without a cache, they are estimated from the
bytes of the mix's documents. The command writes nothing. Exit code 1 if a stream has fewer tokens than
the budget needs, or if its newest edition is too small to replace the one before.
"""

from argparse import ArgumentParser, Namespace
from dataclasses import replace

from gristmill.commands._shared.lake_word import is_path
from gristmill.commands._shared.reading_lines import reading_lines
from gristmill.commands._shared.terminal import (
    add_bucket_options,
    add_shelves_option,
    lake_of_arguments,
    print_line,
    shelf_packages,
)
from gristmill.errors import RecipeError
from gristmill.pipeline.expected_tokens import expected_tokens
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.mix import Mix
from gristmill.recipes.mixture.declared_tokens import declared_tokens
from gristmill.recipes.shelf import find_recipe

HELP = "show the tokens, the share and the epochs of each stream of a mix in training"


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[LAKE] MIX",
        help="a mix; before it the lake: -, s3://bucket/prefix, or a folder; by default that of the project or"
        " GRISTMILL_LAKE",
    )
    add_bucket_options(parser)
    parser.add_argument("--tokenizer", metavar="NAME", help="only the token cache of this tokenizer")
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="in place of the mix's token_budget")
    add_shelves_option(parser)


def run(arguments: Namespace) -> int:
    """Shows a table for each token cache. Returns 1 if a budget cannot be met or an edition is held back, else 0.

    Raises:
        RecipeError: there is no such mix or tokenizer, or a share is too small to appear in a block of sequences.
        DataError: no slice of the mix is finished.
        StoreError: the lake does not answer.
    """
    words = list(arguments.words)
    if len(words) > 2 or is_path(words[-1]):
        raise RecipeError(f"{' '.join(words)}: name a mix after the lake, or alone")
    arguments.lake = words[0] if words[:-1] else "-"
    catalogue = read_catalogue(shelf_packages(arguments))
    mix = find_recipe("mixes", Mix, shelf_packages(arguments), words[-1])
    if arguments.budget is not None:
        if arguments.budget < 1:
            raise RecipeError(f"--budget {arguments.budget}: give a number of tokens, 1 or more")
        mix = replace(mix, token_budget=arguments.budget)
    store = lake_of_arguments(arguments).store()
    met = True
    for each in expected_tokens(store, catalogue, mix, arguments.tokenizer):
        for line in reading_lines(each.title, mix, each.reading):
            print_line(line)
        for cut in each.cuts:
            print_line(f"  warning: {cut}")
        sources = {stream.key: catalogue.sources[stream.source] for stream in mix.streams}
        for line in declared_tokens(mix.streams, sources, each.tokens).lines:
            print_line(f"  {line}")
        for absent in each.index.absent:
            print_line(f"  not finished yet: {absent}")
        for why in each.held:
            print_line(f"  {why}")
        met = met and not each.reading.shortage_sentences and not each.held
    return 0 if met else 1
