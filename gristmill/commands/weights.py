"""`weights [LAKE] MIX`: shows how training reads each stream of a mix: its tokens, its share, its rate and its epochs.

The tokens are those of the finished slices of each token cache of the mix. Without a cache, they are estimated from the
bytes of the mix's documents. The command writes nothing. Exit code 1 if a stream has fewer tokens than
the budget needs.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gristmill.commands._shared.lake_word import is_path
from gristmill.commands._shared.terminal import add_options, add_shelves, lake_of, shelves_of, show
from gristmill.errors import DataError, RecipeError, known_names
from gristmill.lake.address import cache_asset, cache_index, ledger_folder, mix_asset, mix_index
from gristmill.lake.asset_kinds import TOKEN_CACHE, names_of
from gristmill.lake.ledger.files import list_ledgers
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.mix import Mix
from gristmill.recipes.mixture.declared_tokens import declared_tokens
from gristmill.recipes.mixture.token_shares import Reading
from gristmill.recipes.shelf import find, known
from gristmill.stages.mixing.index import Index, close_slices, finished_slices
from gristmill.stages.token_cache.index import tokens_by_stream

HELP = "show the tokens, the share and the epochs of each stream of a mix in training"

BYTES_OF_A_TOKEN = 4
"""Bytes of a row of documents that count as a token, where no token cache has counted."""

_HEADINGS = ("stream", "tokens", "share", "read", "rate", "epochs")


def declare(parser: ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[LAKE] MIX",
        help="a mix; before it the lake: -, s3://bucket/prefix, or a folder; by default that of the project or"
        " GRISTMILL_LAKE",
    )
    add_options(parser)
    parser.add_argument("--tokenizer", metavar="NAME", help="only the token cache of this tokenizer")
    parser.add_argument("--budget", type=int, metavar="TOKENS", help="in place of the mix's token_budget")
    add_shelves(parser)


def run(arguments: Namespace) -> int:
    """Shows a table for each token cache. Returns 1 if a budget cannot be met, else 0.

    Raises:
        RecipeError: there is no such mix or tokenizer, or a share is too small to appear in a block of sequences.
        DataError: no slice of the mix is finished.
        StoreError: the lake does not answer.
    """
    words = list(arguments.words)
    if len(words) > 2 or is_path(words[-1]):
        raise RecipeError(f"{' '.join(words)}: name a mix after the lake, or alone")
    arguments.lake = words[0] if words[:-1] else "-"
    catalogue = read_catalogue(shelves_of(arguments))
    mix = find("mixes", Mix, shelves_of(arguments), words[-1])
    if arguments.budget is not None:
        if arguments.budget < 1:
            raise RecipeError(f"--budget {arguments.budget}: give a number of tokens, 1 or more")
        mix = replace(mix, token_budget=arguments.budget)
    store = lake_of(arguments).store()
    met = True
    for title, index, tokens in _counted(store, catalogue, mix, arguments.tokenizer):
        reading = mix.reading(tokens)
        _show(f"mix {mix.name}, {title}: training reads {reading.total:,} tokens", reading)
        sources = {stream.key: catalogue.sources[stream.source] for stream in mix.streams}
        for line in declared_tokens(mix.streams, sources, tokens).lines:
            show(f"  {line}")
        for absent in index.absent:
            show(f"  not finished yet: {absent}")
        met = met and not reading.shortages
    return 0 if met else 1


def _counted(
    store: Store, catalogue: Catalogue, mix: Mix, tokenizer: str | None
) -> Iterator[tuple[str, Index, dict[str, int]]]:
    """For each token cache with slices: its title, its index as it would be closed now, and the tokens by stream."""
    names = sorted({names_of(asset)["tokenizer"] for asset in list_assets(store, TOKEN_CACHE, mix=mix.name)})
    if tokenizer is not None:
        if tokenizer not in names:
            raise RecipeError(f"mix {mix.name!r} has no token cache of {tokenizer!r}; {known_names(tokenizer, names)}")
        names = [tokenizer]
    found = False
    for name in names:
        assets = {stream.key: cache_asset(mix.name, name, stream.key) for stream in mix.streams}
        index = _index(store, catalogue, mix, cache_index(mix.name, name), assets)
        if index.slices:
            found = True
            yield f"tokenizer {name}", index, tokens_by_stream(index)
    if found:
        return
    assets = {stream.key: mix_asset(mix.name, stream.key) for stream in mix.streams}
    index = _index(store, catalogue, mix, mix_index(mix.name), assets)
    if not index.slices:
        raise DataError(
            f"mix {mix.name!r}: none of its slices is finished; make one first: `gristmill make {mix.name}`"
        )
    estimated: dict[str, int] = {}
    for each in index.slices:
        estimated[each.stream] = estimated.get(each.stream, 0) + each.totals.get("length", 0) // BYTES_OF_A_TOKEN
    yield f"no token cache yet, estimated at {BYTES_OF_A_TOKEN} bytes a token", index, estimated


def _index(store: Store, catalogue: Catalogue, mix: Mix, asset: str, assets: Mapping[str, str]) -> Index:
    """An index over the slices that are finished in the lake."""
    slices, there = {}, {}
    for stream in mix.streams:
        of = assets[stream.key]
        there[stream.key] = [p.snapshot for p in list_ledgers(store, ledger_folder(of)) if p.asset == of]
        slices[stream.key] = finished_slices(store, of, there[stream.key])
    sources = {stream.key: known("source", catalogue.sources, stream.source, mix.name) for stream in mix.streams}
    return close_slices(asset, slices, there, sources)


def _show(title: str, reading: Reading) -> None:
    rows = [
        (
            each.stream,
            f"{each.tokens:,}",
            f"{each.share:.4g}",
            f"{each.read:,}",
            f"{each.rate:.3g}",
            f"{each.epochs:.3g}",
        )
        for each in reading.streams
    ]
    widths = [max(len(row[column]) for row in (_HEADINGS, *rows)) for column in range(len(_HEADINGS))]
    show(title)
    for row in (_HEADINGS, *rows):
        numbers = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        show("  ".join([f"  {row[0].ljust(widths[0])}", *numbers]))
    for warning in reading.warnings:
        show(f"  warning: {warning}")
    for shortage in reading.shortages:
        show(f"  the budget cannot be met: {shortage}")
