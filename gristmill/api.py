"""The library: what programs of your own call. Recipes are declared with `gristmill.recipes` and `gristmill.readers`.

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
from gristmill.formats.levanter.cache_ledger import Ledger as CacheLedger
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
from gristmill.recipes.shelf import HOME
from gristmill.stages.packing import plans
from gristmill.stages.packing.examples import Decode, Example, Examples, show
from gristmill.stages.packing.examples import examples_of as _examples_of
from gristmill.stages.packing.packer import Plan
from gristmill.stages.token_cache import cache_writer, token_stream
from gristmill.stages.token_cache.cache_writer import DirectCache
from gristmill.stages.token_cache.token_stream import TokenStream
from gristmill.stages.tokenization import files, training
from gristmill.tracing.raw import Shelves
from gristmill.tracing.trace import TokenWhereabouts, Whereabouts, of_document, of_token
from gristmill.verification.audit import audit_ledger, audited_ledgers, headless


def _silent(line: str) -> None:
    """Takes a line of progress, and drops it."""


def open_lake(url: str = "", options: Mapping[str, str] | None = None) -> Lake:
    """A lake, to be handed to the other functions. Nothing is read or created yet.

    Args:
        url: a folder, or `s3://bucket/prefix`; empty: what GRISTMILL_LAKE says.
        options: how the bucket is reached (`endpoint`, `region`); by default what AWS_ENDPOINT_URL and AWS_REGION say.

    Raises:
        RecipeError: a variable of the environment has a value that is not valid.
    """
    environment = read_environment()
    return Lake(url or environment.lake, dict(options) if options is not None else environment.options)


def read_catalogue(shelves: Sequence[str] = (HOME,)) -> Catalogue:
    """All recipes on the shelves of these packages, by name: `.sources`, `.taggers`, `.mixes`, `.tokenizers`.

    Raises:
        RecipeError: a declaration is wrong, or two recipes have one name.
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
    """Makes what is missing of a source or a mix; finished partitions are left alone.

    Of a source that is every snapshot from raw to its newest version with its attribute sets; of a mix its slices,
    their tokens by each tokenizer that is in the lake, and its indexes. Nothing is published that does not pass its
    blocking checks. It runs while the result is iterated.

    Args:
        lake: as open_lake() gave it.
        name: of a source or a mix; `sources/NAME` or `mixes/NAME` where both have the name.
        snapshots: keys; by default all that the lake has.
        shelves: the packages that hold the recipes.
        engine: `inline` grinds in this process, `local` in worker processes (call it under
            `if __name__ == "__main__":`), `dask` and `ray` on a cluster.
        workers: processes of `local`.
        address: of the Dask scheduler or the Ray head.
        say: takes lines of progress, such as `print`.

    Yields:
        The ledger of each partition that was made now.

    Raises:
        RecipeError: a name is on no shelf, or a declaration is wrong.
        DataError: an input is missing or wrong, or a blocking check did not pass.
        StoreError: the lake does not answer: try again.
    """
    packages = tuple(shelves)
    with closing(open_engine(engine, workers, address)) as opened:
        yield from Maker(_read_catalogue(packages), packages, lake, opened, say).named(name, snapshots)


def plan(lake: Lake, *, shelves: Sequence[str] = (HOME,)) -> Iterator[Prospect]:
    """What would be made in a lake, and why, from the ledgers alone. Claims nothing and changes nothing.

    Args:
        lake: as open_lake() gave it.
        shelves: the packages that hold the recipes.

    Yields:
        What would become of each tokenizer and partition, finished ones included, in an order that works.
    """
    packages = tuple(shelves)
    dry = DryRun(_read_catalogue(packages), packages, lake)
    yield from dry.tokenizers()
    for source in dry.catalogue.sources.values():
        yield from dry.partitions(source, all_snapshots(lake, source))


def make_tokenizer(
    lake: Lake, name: str, *, shelves: Sequence[str] = (HOME,), say: Say = _silent
) -> files.TokenizerLedger:
    """Trains a tokenizer, or brings it into the lake; it is kept if it is there already.

    Args:
        lake: as open_lake() gave it.
        name: of the recipe.
        shelves: the packages that hold the recipes.
        say: takes lines of progress.

    Raises:
        RecipeError: the name is on no shelf, or the lake has another tokenizer of this name.
        DataError: a slice that it is trained on is not there.
    """
    recipe = known("tokenizer", read_catalogue(shelves).tokenizers, name, "make_tokenizer()")
    return training.make_tokenizer(lake.store(), recipe, say)[0]


def verify(lake: Lake, prefix: str = "", *, say: Say = _silent) -> Iterator[Finding]:
    """Proves a lake, or some assets of it, from the bytes alone.

    Args:
        lake: as open_lake() gave it.
        prefix: only assets below it, such as `sources/wiki/v0`; empty: the whole lake.
        say: takes notes on what could not be compared.

    Yields:
        What is not as the ledgers say; nothing if all is proven.

    Raises:
        StoreError: the lake does not answer.
    """
    store = lake.store()
    yield from headless(store, prefix)
    for path in audited_ledgers(store, prefix):
        yield from audit_ledger(store, path, say)


def trace(
    lake: Lake, source: str, id_: str, snapshot: str = "", *, shelves: Sequence[str] = (HOME,)
) -> Iterator[Whereabouts]:
    """Where a document is: its raw bytes, versions, attributes, mixes and tokens.

    Args:
        lake: as open_lake() gave it.
        source: what the document's field `source` says.
        id_: its id.
        snapshot: only this one.
        shelves: the packages that hold the recipes.

    Yields:
        The places of the document, once for each snapshot.

    Raises:
        DataError: there is no such document.
        StoreError: the lake does not answer, or is being rebuilt.
    """
    return of_document(lake.store(), source, id_, Shelves(tuple(shelves), lake.options), snapshot)


def trace_token(
    lake: Lake,
    mix: str,
    tokenizer: str,
    stream: str,
    offset: int,
    *,
    split: str = "train",
    shelves: Sequence[str] = (HOME,),
) -> TokenWhereabouts:
    """Whose a token is, and where that document is.

    Args:
        lake: as open_lake() gave it.
        mix: name of the mix.
        tokenizer: name of the tokenizer.
        stream: key of the stream.
        offset: number of the token in the split, from 0.
        split: `train` or `validation`.
        shelves: the packages that hold the recipes.

    Raises:
        DataError: the split has no such token, or its document is gone.
    """
    asset = cache_asset(mix, tokenizer, stream)
    return of_token(lake.store(), asset, split, offset, Shelves(tuple(shelves), lake.options))


def open_split(
    lake: Lake, mix: str, tokenizer: str, stream: str, split: str = "train", *, verified: bool = True
) -> TokenStream:
    """A split of a stream's token cache, read as one sequence of rows and tokens.

    Args:
        lake: as open_lake() gave it.
        mix: name of the mix.
        tokenizer: name of the tokenizer.
        stream: key of the stream.
        split: `train` or `validation`.
        verified: whether each object is hashed and compared with its ledger before it is used.

    Raises:
        DataError: the cache's index is not there yet.
    """
    return token_stream.open_split(lake.store(), cache_asset(mix, tokenizer, stream), split, verified=verified)


def open_consolidated(lake: Lake, folder: str) -> TokenStream:
    """A consolidated copy of a split, by its folder in the lake; its objects are not compared with ledgers."""
    return TokenStream(lake.store(), folder)


def read_tokenizer(lake: Lake, name: str) -> str:
    """The `tokenizer.json` of a tokenizer in the lake, proven, as `tokenizers.Tokenizer.from_str` takes it.

    Raises:
        DataError: it is not there yet, or the file is not the one that its ledger names.
    """
    return files.read_tokenizer(lake.store(), name)[1].decode()


def examples_of(
    stream: TokenStream,
    form: Format,
    length: int,
    *,
    eos: int | None = None,
    packed: Plan | None = None,
    see_others: bool = False,
) -> Examples:
    """The examples of a split, element by element as the trainer gives them to the model.

    Args:
        stream: as open_split() gave it.
        form: the format of the stream, as in its mix.
        length: tokens per example; prebuilt rows have their own.
        eos: id of the token that ends a document, by which text that is not packed is divided into segments.
        packed: as read_plan() gave it; by default documents are packed now.
        see_others: whether tokens see other documents of their example.

    Returns:
        A sequence of examples: `tokens`, `loss_weight` and `segment_ids`, each of `length` elements.

    Raises:
        DataError: a document is too long and must not be cut, or the cache has another format.
        RecipeError: the length is not valid.
    """
    return _examples_of(stream, form, length, eos=eos, packed=packed, see_others=see_others)


def show_example(example: Example, decode: Decode) -> str:
    """An example as text: a paragraph for each segment, what is learnt in ⟦ ⟧.

    Args:
        example: one of examples_of().
        decode: the text of token ids, such as `tokenizers.Tokenizer.decode`.
    """
    return show(example, decode)


def read_plan(lake: Lake, stream: TokenStream, form: Format, length: int) -> Plan:
    """The packing plan of a split that the packing asset has written.

    Args:
        lake: as open_lake() gave it.
        stream: as open_split() gave it.
        form: the format of the stream.
        length: tokens per example.

    Raises:
        DataError: there is no plan, or it was made for the split as it was before.
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
) -> DirectCache:
    """Opens a Levanter cache for writing, row by row; use it in a `with` block and `append` rows.

    Args:
        url: the folder, or `s3://bucket/prefix`, that becomes one split of a cache.
        fields: the type of each field, ids first.
        vocab_size: ids must be below it; None: not checked.
        metadata: Levanter's `preprocessor_metadata`.
        options: how the bucket is reached.

    Raises:
        RecipeError: a field has no type that Levanter reads, or there is a finished cache already.
    """
    return DirectCache(url, fields, vocab_size=vocab_size, metadata=metadata, options=options)


def verify_cache(url: str, options: Mapping[str, str] | None = None) -> CacheLedger:
    """Proves from its bytes a cache that write_cache() wrote.

    Returns:
        Its Levanter ledger.

    Raises:
        DataError: an object is missing or damaged.
    """
    return cache_writer.verify(url, options)
