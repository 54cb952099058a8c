"""OpenedLake: a lake in a notebook or a program. It reads documents, mixes and tokens as tables."""

import html
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gristmill.errors import GristmillError, RecipeError, known_names
from gristmill.lake.address import cache_asset
from gristmill.lake.asset_kinds import DOCUMENTS, TOKEN_CACHE, TOKENIZER
from gristmill.lake.ledger.walk import list_assets
from gristmill.lake.store.open import Lake
from gristmill.reading.arguments import check_name, check_names
from gristmill.reading.columns import Kinds, choose_columns
from gristmill.reading.document_rows import DocumentRows
from gristmill.reading.lake_contents import LakeContents, lake_contents
from gristmill.reading.mix_partitions import mix_partitions
from gristmill.reading.partitions import address_from_fields, partitions_of_asset, shards_to_read
from gristmill.reading.record_batches import BatchReader
from gristmill.reading.token_rows import TokenRows
from gristmill.recipes.rules import Column
from gristmill.scores.label_kinds import declared_kinds
from gristmill.stages.tokenization import files
from gristmill.threads import prepare_struct_types

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class OpenedLake(Lake, frozen=True):
    """A lake, and what can be read from it. All functions of gristmill.api take it where they take a Lake.

    Rows of documents and rows of attribute sets stand in the same order in shards of the same name. They are put
    together row by row, and their ids are compared; nothing is joined on keys. So a document that is in three snapshots
    is three rows, each with the labels of its own snapshot, and never nine.

    Attributes:
        shelves: packages whose taggers say of which kind labels are; without any, the shelves of Gristmill.
    """

    shelves: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Makes ready for the threads of those who read from it."""
        prepare_struct_types()

    def documents(
        self,
        version: str,
        *,
        sets: Sequence[str] = (),
        columns: Sequence[str | Column] | None = None,
        snapshots: Sequence[str] | None = None,
        shards: Sequence[str] | None = None,
        limit: int | None = None,
        verified: bool = True,
    ) -> DocumentRows:
        """The documents of a dataset version, with the labels of attribute sets beside them.

        Ledgers are read now, rows later. Without `columns` a row has `id`, `source`, `text`, `added`, `created`,
        `metadata` (as JSON text), the labels, `snapshot`, `shard` and `row` (its number in the shard, from 0).

        Args:
            version: such as `wiki/v1`; its address in the lake is taken too.
            sets: attribute sets, all labels of which become columns `SET__LABEL`. A tagger on the shelves says of which
                kind they are; the labels of another set become one column of the set's name: a map from labels to
                spans.
            columns: the columns, in order, instead of all: names, as above; `metadata.KEY` (text) and `metadata.A.B`;
                `SET__LABEL` (spans, if no tagger declares it); or `field`, `score` and `spans` of
                gristmill.recipes.rules, which say name and type. The labels of `sets` follow them.
            snapshots: keys of the snapshots, in order; by default all, sorted.
            shards: names of the shards; by default all.
            limit: most rows.
            verified: whether the sha256 of each shard is compared with its ledger. It costs about an eighth of the
                time. A difference is an error at the end of the shard, so use no result before. A limit may end before.

        Raises:
            RecipeError: a version, set, column, snapshot or shard does not exist; the message lists what is like it.
            DataError: a partition is not finished, or a set was made from other documents.
            StoreError: a run is at work on a partition, or the lake does not answer.
        """
        _check_column_names(columns, sets=sets, snapshots=snapshots, shards=shards)
        store = self.store()
        asset = address_from_fields(version, DOCUMENTS, "wiki/v1")
        chosen = choose_columns(columns, sets, self.kinds)
        beside = sorted({column.set for column in chosen if column.set})
        partitions = partitions_of_asset(store, asset, snapshots)
        reader = BatchReader(store, chosen, verified=verified)
        return DocumentRows(reader, shards_to_read(store, partitions, beside, shards), asset, limit)

    def mix(
        self,
        name: str,
        *,
        streams: Sequence[str] | None = None,
        sets: Sequence[str] = (),
        columns: Sequence[str | Column] | None = None,
        snapshots: Sequence[str] | None = None,
        shards: Sequence[str] | None = None,
        limit: int | None = None,
        verified: bool = True,
    ) -> DocumentRows:
        """The documents of a mix, with a further column `stream`.

        By default these are the slices that the mix's index names. So of a source whose snapshots replace each other
        there is the newest one. With `snapshots` there are those, whatever the index names.

        Args:
            name: name of the mix.
            streams: keys of the streams, in order; by default all.
            sets: names of attribute sets of the versions that the streams were selected from.
            columns: columns to read, as in documents().
            snapshots: keys of the snapshots, as in documents(); a stream without one of them is left out.
            shards: names of the shards, as in documents().
            limit: largest number of rows, as in documents().
            verified: whether bytes are compared with the ledgers, as in documents().

        Raises:
            RecipeError: as in documents().
            DataError: as in documents(), or the mix has no index yet.
            StoreError: as in documents().
        """
        check_name("the mix's name", name, "starter")
        _check_column_names(columns, sets=sets, snapshots=snapshots, shards=shards, streams=streams)
        store = self.store()
        chosen = choose_columns(columns, sets, self.kinds, ("stream", "snapshot", "shard"))
        beside = sorted({column.set for column in chosen if column.set})
        partitions = mix_partitions(store, name, streams, snapshots)
        reader = BatchReader(store, chosen, verified=verified)
        return DocumentRows(reader, shards_to_read(store, partitions, beside, shards), f"mix {name}", limit)

    def tokens(
        self,
        mix: str,
        tokenizer: str,
        stream: str,
        split: str = "train",
        *,
        columns: Sequence[str] | None = None,
        snapshots: Sequence[str] | None = None,
        shards: Sequence[str] | None = None,
        limit: int | None = None,
        decoded: bool = False,
        verified: bool = True,
    ) -> TokenRows:
        """The rows of a token cache, in the order in which a trainer reads them, each with its document.

        A row has `input_ids` and the other fields of the cache (such as `loss_weights`), then `source`, `id`,
        `snapshot`, `shard` and `row` of its document in the mix.

        Args:
            mix: name of the mix.
            tokenizer: name of the tokenizer.
            stream: key of the stream.
            split: `train` or `validation`.
            columns: the columns, in order, instead of all. Without `source` and `id` the mix's shards are not read.
            snapshots: keys of the snapshots; by default those that the cache's index names.
            shards: names of shards of the mix; by default all.
            limit: most rows.
            decoded: whether a column `text` has the decoded tokens.
            verified: whether the objects of the cache are compared with their ledgers before they are used.

        Raises:
            RecipeError: there is no such cache, split, snapshot, shard or column.
            DataError: the cache has no index yet, or the mix was rebuilt after it was tokenized.
            StoreError: the lake does not answer.
        """
        for argument, value in {"mix": mix, "tokenizer": tokenizer, "stream": stream, "split": split}.items():
            check_name(argument, value, "starter" if argument != "split" else "train")
        store = self.store()
        asset = cache_asset(mix, tokenizer, stream)
        caches = list(list_assets(store, TOKEN_CACHE))
        if asset not in caches:
            raise RecipeError(f"{store.url}: there is no {asset}; {known_names(asset, caches)}")
        decode = _token_decoder(self.tokenizer(tokenizer)) if decoded else None
        return TokenRows(store, asset, split, columns, snapshots, shards, limit, decode, verified=verified)

    def tokenizer(self, name: str) -> "Tokenizer":
        """A tokenizer of the lake, as `tokenizers.Tokenizer`: `decode(row["input_ids"])` gives the text.

        Raises:
            RecipeError: the lake has no such tokenizer.
            DataError: its file differs from its ledger.
        """
        from tokenizers import Tokenizer  # noqa: PLC0415 - only those who decode need it

        store = self.store()
        names = [address.removeprefix(TOKENIZER.top_folder) for address in list_assets(store, TOKENIZER)]
        if name not in names:
            raise RecipeError(f"{store.url}: there is no tokenizer {name!r}; {known_names(name, names)}")
        return Tokenizer.from_str(files.read_tokenizer(store, name)[1].decode())

    def assets(self, prefix: str = "") -> LakeContents:
        """The partitions that the lake has, with rows, bytes and tokens; it prints as a table.

        Args:
            prefix: only assets below it, such as `sources/wiki`.

        Raises:
            DataError: a ledger is wrong.
            StoreError: the lake does not answer, or there is no such folder.
        """
        return lake_contents(self.store(), prefix)

    def kinds(self, name: str) -> Kinds | None:
        """The kind of each label of a set, `score` or `spans`, as its tagger declares them; None if no tagger does.

        Raises:
            RecipeError: a declaration on the shelves is wrong.
        """
        return declared_kinds(self.shelves, name, self.url)

    def _repr_html_(self) -> str:
        """What the lake has, in a notebook."""
        try:
            return f"<p>lake {html.escape(self.url)}</p>{self.assets()._repr_html_()}"
        except GristmillError as error:
            return f"<p>lake {html.escape(self.url)}: {html.escape(str(error))}</p>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: FBT001, ARG002 - IPython calls it so
        """What the lake has, in IPython."""
        try:
            printer.text(f"lake {self.url}\n{self.assets()!r}")
        except GristmillError as error:
            printer.text(f"lake {self.url}: {error}")


def _check_column_names(columns: Sequence[str | Column] | None, **lists: Sequence[str] | None) -> None:
    check_names((str, Column), columns=columns)
    check_names((str,), **lists)


def _token_decoder(tokenizer: "Tokenizer") -> Callable[[list[list[int]]], list[str]]:
    return lambda rows: tokenizer.decode_batch(rows, skip_special_tokens=False)
