"""The functions for your own programs. Recipes are declared with `gristmill.recipes` and `gristmill.readers`.

lake = open_lake("lake")
for ledger in make(lake, "tales", shelves=("gristmill", "ourmill")):
    print(ledger.asset, ledger.totals["rows"])
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from gristmill.engines.kinds import EngineKind
from gristmill.engines.open import open_engine
from gristmill.environment import read_environment
from gristmill.execution.finding import Finding
from gristmill.execution.work import Say
from gristmill.formats.levanter.cache_ledger import CacheLedger
from gristmill.formats.levanter.dtype import DType
from gristmill.lake.address import cache_asset, packing_stem
from gristmill.lake.asset_kinds import names_of
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.store.open import Lake
from gristmill.pipeline.dry_run import DryRun, Prospect
from gristmill.pipeline.make import Maker
from gristmill.pipeline.steps import all_snapshots
from gristmill.recipes.catalogue import Catalogue, known
from gristmill.recipes.catalogue import read_catalogue as _read_catalogue
from gristmill.recipes.row_format import Format
from gristmill.recipes.shelf import HOME, check_outside
from gristmill.stages.packing import plans
from gristmill.stages.packing.examples import Decode, TrainingExample, TrainingExamples, show
from gristmill.stages.packing.examples import examples_of as _examples_of
from gristmill.stages.packing.packer import Packing
from gristmill.stages.token_cache import cache_writer, token_stream
from gristmill.stages.token_cache.cache_writer import TokenCacheWriter
from gristmill.stages.token_cache.token_stream import TokenStream
from gristmill.stages.tokenization import files, training
from gristmill.tracing.raw import Shelves
from gristmill.tracing.trace import DocumentTrace, TokenTrace, document_trace, token_trace
from gristmill.verification.audit import audit_ledger, audited_ledgers, headless


def _silent(line: str) -> None:
    """Ignores a line of progress."""


def open_lake(url: str = "", options: Mapping[str, str] | None = None) -> Lake:
    """Describes a lake for the other functions. Reads and creates nothing.

    Args:
        url: a folder, or `s3://bucket/prefix`; by default the value of GRISTMILL_LAKE.
        options: connection to the bucket (`endpoint`, `region`); by default AWS_ENDPOINT_URL and AWS_REGION.

    Raises:
        RecipeError: a variable of the environment has a value that is not valid.
    """
    environment = read_environment()
    return Lake(url or environment.lake, dict(options) if options is not None else environment.options)


def read_catalogue(shelves: Sequence[str] = (HOME,)) -> Catalogue:
    """The recipes of these packages, by name: `.sources`, `.taggers`, `.mixes`, `.tokenizers`, `.exports`.

    Raises:
        RecipeError: a declaration is not valid, or two recipes of a kind have the same name.
    """
    return _read_catalogue(tuple(shelves))


def make(
    lake: Lake,
    name: str,
    snapshots: Sequence[str] = (),
    *,
    shelves: Sequence[str] = (HOME,),
    engine: EngineKind = "inline",
    workers: int = 1,
    address: str = "",
    say: Say = _silent,
) -> Iterator[Ledger]:
    """Makes the partitions of a source or a mix that are missing or out of date.

    For a source, it makes the documents of every snapshot, in all versions, and their attribute sets. For a mix, it
    makes its documents, their tokens by each tokenizer in the lake, and its indexes. A partition is published only if
    its blocking checks pass. The work is done while the result is iterated.

    Args:
        lake: as open_lake() gave it.
        name: of a source or a mix; `sources/NAME` or `mixes/NAME` if both have this name.
        snapshots: keys of the snapshots; by default all that the lake has.
        shelves: the packages that hold the recipes.
        engine: `inline` grinds in this process, `local` in worker processes (call it under
            `if __name__ == "__main__":`), `dask` and `ray` on a cluster.
        workers: number of processes of the engine `local`.
        address: address of the Dask scheduler or the Ray head.
        say: takes lines of progress; for example `print`.

    Yields:
        The ledger of each partition that was made by this call.

    Raises:
        RecipeError: the name is on no shelf, or a declaration is not valid.
        DataError: an input is missing or not valid, or a blocking check did not pass.
        StoreError: the lake does not answer: try again.
    """
    packages = tuple(shelves)
    check_outside(lake.url, packages)
    with closing(open_engine(engine, workers, address)) as opened:
        yield from Maker(_read_catalogue(packages), packages, lake, opened, say).named(name, snapshots)


def plan(lake: Lake, *, shelves: Sequence[str] = (HOME,)) -> Iterator[Prospect]:
    """Finds out what would be made in a lake, and why. Reads ledgers and listings, and changes nothing.

    Args:
        lake: as open_lake() gave it.
        shelves: the packages that hold the recipes.

    Yields:
        The state of each tokenizer and partition, also of finished ones. Inputs come before what is made from them.
    """
    packages = tuple(shelves)
    check_outside(lake.url, packages)
    dry = DryRun(_read_catalogue(packages), packages, lake)
    yield from dry.tokenizers()
    for source in dry.catalogue.sources.values():
        yield from dry.partitions(source, all_snapshots(lake, source))


def make_tokenizer(
    lake: Lake, name: str, *, shelves: Sequence[str] = (HOME,), say: Say = _silent
) -> files.TokenizerLedger:
    """Trains a tokenizer, or copies its file into the lake. An existing tokenizer is kept.

    Args:
        lake: as open_lake() gave it.
        name: of the recipe.
        shelves: the packages that hold the recipes.
        say: takes lines of progress.

    Raises:
        RecipeError: the name is on no shelf, or the lake has another tokenizer of this name.
        DataError: documents that it is trained on are not finished.
    """
    check_outside(lake.url, shelves)
    recipe = known("tokenizer", read_catalogue(shelves).tokenizers, name, "make_tokenizer()")
    return training.make_tokenizer(lake.store(), recipe, say)[0]


def verify(lake: Lake, prefix: str = "", *, say: Say = _silent) -> Iterator[Finding]:
    """Proves from the bytes that a lake, or some of its assets, are as their ledgers say.

    Args:
        lake: as open_lake() gave it.
        prefix: only assets below it, such as `sources/wiki/v0`; empty: the whole lake.
        say: takes notes on comparisons that were not possible.

    Yields:
        Each difference from the ledgers; nothing if all is proven.

    Raises:
        StoreError: the lake does not answer.
    """
    store = lake.store()
    yield from headless(store, prefix)
    for path in audited_ledgers(store, prefix):
        yield from audit_ledger(store, path, say)


def trace(
    lake: Lake, source: str, id_: str, snapshot: str = "", *, shelves: Sequence[str] = (HOME,)
) -> Iterator[DocumentTrace]:
    """Locates a document: its raw bytes, versions, attributes, mixes and tokens.

    Args:
        lake: as open_lake() gave it.
        source: value of the document's field `source`.
        id_: id of the document.
        snapshot: only this snapshot; empty: all of them.
        shelves: the packages that hold the recipes.

    Yields:
        The places of the document, one result for each snapshot that has it.

    Raises:
        DataError: there is no such document.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    check_outside(lake.url, shelves)
    return document_trace(lake.store(), source, id_, Shelves(tuple(shelves), lake.options), snapshot)


def trace_token(
    lake: Lake,
    mix: str,
    tokenizer: str,
    stream: str,
    offset: int,
    *,
    split: str = "train",
    shelves: Sequence[str] = (HOME,),
) -> TokenTrace:
    """Finds the document of a token, and locates it.

    Args:
        lake: as open_lake() gave it.
        mix: name of the mix.
        tokenizer: name of the tokenizer.
        stream: key of the stream.
        offset: number of the token in the split, from 0.
        split: `train` or `validation`.
        shelves: the packages that hold the recipes.

    Returns:
        The row of the token, and the places of its document.

    Raises:
        DataError: the split has no such token, or its document no longer exists.
    """
    check_outside(lake.url, shelves)
    asset = cache_asset(mix, tokenizer, stream)
    return token_trace(lake.store(), asset, split, offset, Shelves(tuple(shelves), lake.options))


def open_split(
    lake: Lake, mix: str, tokenizer: str, stream: str, split: str = "train", *, verified: bool = True
) -> TokenStream:
    """Opens a split of a stream's token cache, as one sequence of rows and tokens.

    Args:
        lake: as open_lake() gave it.
        mix: name of the mix.
        tokenizer: name of the tokenizer.
        stream: key of the stream.
        split: `train` or `validation`.
        verified: whether each object is hashed and compared with its ledger before it is used.

    Raises:
        DataError: the cache has no index yet.
    """
    return token_stream.open_split(lake.store(), cache_asset(mix, tokenizer, stream), split, verified=verified)


def open_consolidated(lake: Lake, folder: str) -> TokenStream:
    """Opens a consolidated copy of a split, by its folder in the lake. Its objects are not compared with ledgers."""
    return TokenStream(lake.store(), folder)


def read_tokenizer(lake: Lake, name: str) -> str:
    """The `tokenizer.json` of a tokenizer in the lake, for `tokenizers.Tokenizer.from_str`. It is checked first.

    Raises:
        DataError: the lake has no such tokenizer yet, or the file differs from its ledger.
    """
    return files.read_tokenizer(lake.store(), name)[1].decode()


def examples_of(
    stream: TokenStream,
    form: Format,
    length: int,
    *,
    eos: int | None = None,
    packed: Packing | None = None,
    see_others: bool = False,
) -> TrainingExamples:
    """The examples of a split, with the same elements that the trainer gives to the model.

    Args:
        stream: as open_split() gave it.
        form: the format of the stream, as in its mix.
        length: tokens per example; prebuilt rows have their own.
        eos: id of the token that ends a document; it divides text that is not packed into segments.
        packed: as read_plan() gave it; by default documents are packed now.
        see_others: whether tokens attend to other documents of their example.

    Returns:
        A sequence of examples: `tokens`, `loss_weight` and `segment_ids`, each of `length` elements.

    Raises:
        DataError: a document is too long and its format does not allow a cut, or the cache has another format.
        RecipeError: the length is not valid.
    """
    return _examples_of(stream, form, length, eos=eos, packed=packed, see_others=see_others)


def show_example(example: TrainingExample, decode: Decode) -> str:
    """Shows an example as text: one paragraph for each segment; tokens with a loss are between ⟦ and ⟧.

    Args:
        example: an element of examples_of().
        decode: decodes token ids to text; for example `tokenizers.Tokenizer.decode`.
    """
    return show(example, decode)


def read_plan(lake: Lake, stream: TokenStream, form: Format, length: int) -> Packing:
    """Reads the packing plan of a split, which the packing asset has written.

    Args:
        lake: as open_lake() gave it.
        stream: as open_split() gave it.
        form: the format of the stream.
        length: tokens per example.

    Raises:
        DataError: there is no plan, or the split has changed since it was made.
        RecipeError: documents of this format are not packed.
    """
    asset, _, split = stream.path.rpartition("/")
    names = names_of(asset)
    stem = packing_stem(names["mix"], names["tokenizer"], names["stream"], split, length)
    return plans.read_plan(lake.store(), stream, form, stem)


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
    return cache_writer.verify(url, options)
