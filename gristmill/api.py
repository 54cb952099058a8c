"""The functions for your own programs. Recipes are declared with `gristmill.recipes` and `gristmill.readers`.

lake = open_lake("lake")
for ledger in make(lake, "tales", shelves=("gristmill", "ourmill")):
    print(ledger.asset, ledger.totals["rows"])
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from os import PathLike, fspath
from typing import Any

from gristmill.engines.kinds import open_engine
from gristmill.environment import choose_shelves, read_environment
from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.formats.levanter.cache_ledger import CacheLedger
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.address import cache_asset
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.store.open import Lake
from gristmill.pipeline.dry_run import Prospect
from gristmill.pipeline.make import Maker
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.targets import read_targets
from gristmill.project import find_project
from gristmill.reading.arguments import check_name, check_names
from gristmill.reading.lake_folder import check_lake
from gristmill.reading.opened_lake import OpenedLake
from gristmill.reading.training_examples import examples_of, read_plan, show_example
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.catalogue import read_catalogue as _read_catalogue
from gristmill.recipes.shelf import known_recipe
from gristmill.stages.token_cache import cache_writer, token_stream
from gristmill.stages.token_cache.cache_writer import TokenCacheWriter
from gristmill.stages.token_cache.token_stream import TokenStream
from gristmill.stages.tokenization import files, training
from gristmill.tracing.raw import Shelves
from gristmill.tracing.trace import DocumentTrace, TokenTrace, trace_document, trace_token_document
from gristmill.verification.audit import audit_ledger, ledger_paths_to_audit

__all__ = [
    "examples_of",
    "make",
    "make_tokenizer",
    "open_consolidated",
    "open_lake",
    "open_split",
    "plan",
    "read_catalogue",
    "read_plan",
    "read_tokenizer",
    "show_example",
    "trace",
    "trace_token",
    "verify",
    "verify_cache",
    "write_cache",
]


def _ignore_progress(line: str) -> None:
    """Ignores a line of progress."""


def open_lake(
    url: str | PathLike[str] = "", options: Mapping[str, str] | None = None, *, shelves: Sequence[str] | None = None
) -> OpenedLake:
    """Opens a lake: to read documents, mixes and tokens as tables, and for the other functions. Creates nothing.

    `lake.documents("wiki/v1")`, `lake.mix("starter")` and `lake.tokens("starter", "starter-bpe-1", "wiki")` give rows
    as Arrow, DuckDB, pandas, polars or dictionaries; `lake.assets()` lists what the lake has (docs/how-to/read.md).

    Args:
        url: a folder, or `s3://bucket/prefix`; by default the value of GRISTMILL_LAKE.
        options: connection to the bucket (`endpoint`, `region`); by default AWS_ENDPOINT_URL and AWS_REGION.
        shelves: packages whose taggers tell kinds of labels; by default those of GRISTMILL_SHELVES or the project.

    Returns:
        The opened lake. Its store is reached when something is read.

    Raises:
        RecipeError: an argument has another type, the folder is no lake, or a variable has a value that is wrong.
    """
    there = fspath(url) if isinstance(url, str | PathLike) else url
    check_name("the lake's address", there, "lake")
    check_names(shelves=shelves)
    environment = read_environment()
    project = find_project() if shelves is None else None
    if project:
        project.put_on_path()
    chosen = environment.options if options is None else dict(options)
    check_lake(there or environment.lake)
    return OpenedLake(there or environment.lake, chosen, tuple(environment.shelves if shelves is None else shelves))


def read_catalogue(shelves: Sequence[str] | None = None) -> Catalogue:
    """The recipes of some packages, by name: `.sources`, `.taggers`, `.mixes`, `.tokenizers`, `.exports`.

    Args:
        shelves: the packages; by default those of GRISTMILL_SHELVES or the project.

    Raises:
        RecipeError: no package is named, a declaration is wrong, or two recipes of a kind have the same name.
    """
    return _read_catalogue(choose_shelves(shelves))


def make(
    lake: Lake,
    targets: str | Sequence[str] = (),
    snapshots: Sequence[str] = (),
    *,
    shelves: Sequence[str] | None = None,
    engine: str = "inline",
    workers: int = 1,
    address: str = "",
    say: Say = _ignore_progress,
    take_over: bool = False,
    vanished: Sequence[str] = (),
) -> Iterator[Ledger]:
    """Makes what is missing or out of date: documents, attribute sets, mixes, tokenizers, tokens and indexes.

    What a target is made from is made first, if it is due. A tokenizer that the lake lacks is trained or imported if a
    target needs it. A partition is published only if its blocking checks pass. If it cannot be made, those that are
    made from it wait, and the others are made. The work is done while the result is iterated.

    Args:
        lake: lake that open_lake() gave.
        targets: names of sources, mixes, tokenizers or attribute sets, `source/version`, `mix/tokenizer`, or the
            beginnings of addresses such as `sources/wiki/v1`; by default everything.
        snapshots: keys of the snapshots; by default all that the lake has.
        shelves: the packages that hold the recipes; by default those of GRISTMILL_SHELVES or the project.
        engine: `inline` grinds in this process, `local` in worker processes (call it under
            `if __name__ == "__main__":`), `dask` and `ray` on a cluster; others are of packages.
        workers: number of processes of the engine `local`.
        address: address of the Dask scheduler or the Ray head.
        say: function that takes lines of progress; for example `print`.
        take_over: whether to go on in the place of other processes that are making the same.
        vanished: snapshots, as `source/snapshot`, whose raw data people removed on purpose: what was made of them goes.

    Yields:
        The ledger of each partition that was made by this call.

    Raises:
        AtWork: another process is making the same; the message names it. Superseded: another has taken it over.
        RecipeError: a name is on no shelf, or a declaration is wrong.
        DataError: at the end: an input is missing or not valid, or a blocking check did not pass. If several partitions
            could not be made, the message has a line for each, and the class is that of the first.
        StoreError: the lake does not answer: try again.
    """
    packages = choose_shelves(shelves, lake.url)
    with closing(open_engine(engine, workers, address)) as opened:
        maker = Maker(_open_planner(lake, targets, snapshots, packages, vanished), lake, opened, say, take_over)
        yield from maker.run()
        maker.raise_failures()


def _open_planner(
    lake: Lake,
    targets: str | Sequence[str],
    snapshots: Sequence[str],
    packages: tuple[str, ...],
    vanished: Sequence[str],
) -> Planner:
    catalogue = _read_catalogue(packages)
    words = [targets] if isinstance(targets, str) else list(targets)
    return Planner(catalogue, packages, lake, read_targets(catalogue, words, snapshots), vanished)


def plan(
    lake: Lake,
    targets: str | Sequence[str] = (),
    snapshots: Sequence[str] = (),
    *,
    shelves: Sequence[str] | None = None,
    vanished: Sequence[str] = (),
) -> Iterator[Prospect]:
    """Finds out what make() would make in a lake, and why. Reads ledgers and listings, and changes nothing.

    Args:
        lake: lake that open_lake() gave.
        targets: names or addresses of what to make, as in make().
        snapshots: keys of the snapshots, as in make().
        shelves: the packages that hold the recipes; by default those of GRISTMILL_SHELVES or the project.
        vanished: snapshots whose raw data people removed on purpose, as in make().

    Yields:
        The state of each tokenizer, partition and index that is asked for, also of finished ones, and of those inputs
        that are not finished. Inputs come before what is made from them.

    Raises:
        RecipeError: a name is on no shelf, or a declaration is wrong.
        StoreError: the lake does not answer: try again.
    """
    packages = choose_shelves(shelves, lake.url)
    yield from _open_planner(lake, targets, snapshots, packages, vanished).survey_all()


def make_tokenizer(
    lake: Lake, name: str, *, shelves: Sequence[str] | None = None, say: Say = _ignore_progress
) -> files.TokenizerLedger:
    """Trains a tokenizer, or copies its file into the lake. An existing tokenizer is kept.

    Args:
        lake: lake that open_lake() gave.
        name: name of the recipe.
        shelves: the packages that hold the recipes; by default those of GRISTMILL_SHELVES or the project.
        say: function that takes lines of progress.

    Returns:
        The ledger of the tokenizer.

    Raises:
        RecipeError: the name is on no shelf, or the lake has another tokenizer of this name.
        DataError: documents that it is trained on are not finished.
    """
    recipe = known_recipe(
        "tokenizer", _read_catalogue(choose_shelves(shelves, lake.url)).tokenizers, name, "make_tokenizer()"
    )
    return training.make_tokenizer(lake.store(), recipe, say)[0]


def verify(
    lake: Lake, prefix: str = "", *, shelves: Sequence[str] | None = None, say: Say = _ignore_progress
) -> Iterator[Finding]:
    """Proves from the bytes that a lake, or some of its assets, are as their ledgers say.

    Args:
        lake: lake that open_lake() gave.
        prefix: only assets below it, such as `sources/wiki/v0`; empty: the whole lake.
        shelves: packages that have the transforms of its recipes, by default those of the environment.
        say: function that takes notes on comparisons that were not possible.

    Yields:
        Each difference from the ledgers; nothing if all is proven.

    Raises:
        StoreError: the lake does not answer.
    """
    store, packages = lake.store(), choose_shelves(shelves, lake.url)
    beside: list[Finding] = []
    for path in ledger_paths_to_audit(store, prefix, say, beside, packages):
        yield from audit_ledger(store, path, say, shelves=packages)
    yield from beside


def trace(
    lake: Lake, source: str, id_: str, snapshot: str = "", *, shelves: Sequence[str] | None = None
) -> Iterator[DocumentTrace]:
    """Locates a document: its raw bytes, versions, attributes, mixes and tokens.

    Args:
        lake: lake that open_lake() gave.
        source: value of the document's field `source`.
        id_: id of the document.
        snapshot: only this snapshot; empty: all of them.
        shelves: the packages that hold the recipes; by default those of GRISTMILL_SHELVES or the project.

    Yields:
        The places of the document, one result for each snapshot that has it.

    Raises:
        DataError: there is no such document.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    return trace_document(lake.store(), source, id_, Shelves(choose_shelves(shelves, lake.url), lake.options), snapshot)


def trace_token(
    lake: Lake,
    mix: str,
    tokenizer: str,
    stream: str,
    offset: int,
    *,
    split: str = "train",
    shelves: Sequence[str] | None = None,
) -> TokenTrace:
    """Finds the document of a token, and locates it.

    Args:
        lake: lake that open_lake() gave.
        mix: name of the mix.
        tokenizer: name of the tokenizer.
        stream: key of the stream.
        offset: number of the token in the split, from 0.
        split: `train` or `validation`.
        shelves: the packages that hold the recipes; by default those of GRISTMILL_SHELVES or the project.

    Returns:
        The row of the token, and the places of its document.

    Raises:
        DataError: the split has no such token, or its document no longer exists.
    """
    found = Shelves(choose_shelves(shelves, lake.url), lake.options)
    return trace_token_document(lake.store(), cache_asset(mix, tokenizer, stream), split, offset, found)


def open_split(
    lake: Lake, mix: str, tokenizer: str, stream: str, split: str = "train", *, verified: bool = True
) -> TokenStream:
    """Opens a split of a stream's token cache, as one sequence of rows and tokens.

    Args:
        lake: lake that open_lake() gave.
        mix: name of the mix.
        tokenizer: name of the tokenizer.
        stream: key of the stream.
        split: `train` or `validation`.
        verified: whether each object is hashed and compared with its ledger before it is used.

    Returns:
        The rows of the split, and their tokens.

    Raises:
        DataError: the cache has no index yet.
    """
    return token_stream.open_split(lake.store(), cache_asset(mix, tokenizer, stream), split, verified=verified)


def open_consolidated(lake: Lake, folder: str) -> TokenStream:
    """Opens a consolidated copy of a split, by its folder in the lake. Its objects are not compared with ledgers.

    Returns:
        The rows of the copy, and their tokens.
    """
    return TokenStream(lake.store(), folder)


def read_tokenizer(lake: Lake, name: str) -> str:
    """The `tokenizer.json` of a tokenizer in the lake, for `tokenizers.Tokenizer.from_str`. It is checked first.

    Raises:
        DataError: the lake has no such tokenizer yet, or the file differs from its ledger.
    """
    return files.read_tokenizer(lake.store(), name)[1].decode()


def write_cache(
    url: str,
    fields: Mapping[str, DType],
    *,
    vocab_size: int | None = None,
    metadata: Mapping[str, Any] | None = None,
    options: Mapping[str, str] | None = None,
) -> TokenCacheWriter:
    """Opens a Levanter cache for writing, row by row; use it in a `with` block and `append` rows.

    Args:
        url: a folder, or `s3://bucket/prefix`, that becomes one split of a cache.
        fields: the type of each field; the token ids come first.
        vocab_size: token ids must be below it; None: not checked.
        metadata: Levanter's `preprocessor_metadata`.
        options: connection to the bucket (`endpoint`, `region`).

    Returns:
        The writer. Without an error in the block, it publishes the cache at its end.

    Raises:
        RecipeError: Levanter cannot read the type of a field, or the folder has a finished cache already.
    """
    return TokenCacheWriter(url, fields, vocab_size=vocab_size, metadata=metadata, options=options)


def verify_cache(url: str, options: Mapping[str, str] | None = None) -> CacheLedger:
    """Proves from its bytes that a cache of write_cache() is complete and undamaged.

    Returns:
        The Levanter ledger of the cache.

    Raises:
        DataError: an object is missing or damaged.
    """
    return cache_writer.verify_cache(url, options)
