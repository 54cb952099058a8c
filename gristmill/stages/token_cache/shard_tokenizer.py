"""Tokenizes a shard of documents: its rows in each split, its statistics, and the documents that have no row."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from gristmill.encoding.vocabulary import Vocabulary
from gristmill.errors import DataError
from gristmill.lake.identity import PairDigest
from gristmill.lake.ledger.adopted import ShardFile
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.bitmap import pack_bits
from gristmill.lake.rows.draw import VALIDATION_SEED, draw_fraction
from gristmill.recipes.row_format import OnTrouble
from gristmill.stages.mixing.held_out import held_out_row_flags
from gristmill.stages.token_cache.rows import Fields, RowEncoder, all_dropped_message, apply_error_policy, choose_rows
from gristmill.stages.token_cache.statistics import TokenCounter, TokenStatistics


class RowsTaker(Protocol):
    """Takes the rows of a split."""

    def append_batch(self, batch: Fields, /) -> None:
        """Takes the next rows."""


class End(Protocol):
    """Is told what a shard gave, after its last row."""

    def __call__(self, shard: Shard, facts: TokenStatistics, dropped: tuple[int, ...], held: str, /) -> None:
        """`dropped` and `held` as in PartShard."""


class _Apart(msgspec.Struct):
    """The documents of a shard that have no row in the train split.

    Attributes:
        dropped: numbers of the documents that have no row.
        held: for each block, flags of the documents in the validation split.
        flags: of the documents of the current block that are held out, whether or not they have a row.
    """

    dropped: list[int]
    held: list[Any]
    flags: Any = None


class ShardTokenizer:
    """Tokenizes shards.

    Args:
        store: the lake.
        encoder: encoder of the documents.
        vocabulary: vocabulary of the tokenizer, for the statistics.
        policy: choice for rows with errors.
        validation: share of the documents that are held out; 0: there is no such split.
    """

    def __init__(self, encoder: RowEncoder, vocabulary: Vocabulary, policy: OnTrouble, validation: float) -> None:
        self._encoder, self._vocabulary = encoder, vocabulary
        self._policy, self._validation = policy, validation

    def tokenize_shard(self, file: ShardFile, takers: Mapping[str, RowsTaker], end: End) -> None:
        """Tokenizes a shard.

        Args:
            file: the file of a mix's shard.
            takers: take the rows, by split.
            end: function that receives what the shard gave.

        Raises:
            DataError: a row has an error and the policy is `raise`, or all rows have one; or the object is damaged, or
                has other rows or ids than the ledger says.
        """
        counting, shard, path = TokenCounter(self._vocabulary), file.shard, file.path
        apart = _Apart([], [])
        by_key, ids = held_out_row_flags(shard), PairDigest()
        for first, documents in file.rows(self._encoder.row_type):
            if by_key is not None and first + len(documents) > len(by_key):
                raise DataError(
                    f"{path}: has a row {len(by_key)} (counted from 0), but {shard.rows} documents in its ledger; make"
                    " the mix's slice again"
                )
            apart.flags = self._held_out_flags(documents) if by_key is None else by_key[first : first + len(documents)]
            self._append_token_rows(documents, path, first, takers, counting, apart)
            ids.update((each.source, each.id) for each in documents)
            del documents  # a text may be huge: free it before the next batch is read
        file.check_ids(ids)
        if shard.rows and len(apart.dropped) == shard.rows:
            raise DataError(all_dropped_message(path, shard.rows, counting.token_statistics().dropped))
        held = pack_bits(np.concatenate(apart.held)) if apart.held else ""
        end(shard, counting.token_statistics(), tuple(apart.dropped), held)

    def _held_out_flags(self, documents: Sequence[Any]) -> NDArray[np.bool_]:
        """For each document, whether the draw by its (source, id) holds it out."""
        share = self._validation
        drawn = (bool(share) and draw_fraction((each.source, each.id), VALIDATION_SEED) < share for each in documents)
        return np.fromiter(drawn, dtype=np.bool_, count=len(documents))

    def _append_token_rows(
        self,
        documents: Sequence[Any],
        path: str,
        first: int,
        takers: Mapping[str, RowsTaker],
        counting: TokenCounter,
        apart: _Apart,
    ) -> None:
        try:
            rows = self._encoder(documents)
        except DataError as error:
            raise DataError(f"{path}: rows {first} to {first + len(documents)}: {error}") from error
        settled = apply_error_policy(rows, len(documents), self._policy, path, first)
        apart.dropped += (np.flatnonzero(~settled.stays) + first).tolist()
        ids, lengths = next(iter(settled.fields.values()))
        counting.add(ids, lengths, settled.sizes, settled.kept, settled.dropped)
        if not self._validation:
            takers["train"].append_batch(settled.fields)
            return
        held = apart.flags & settled.stays
        apart.held.append(held)
        takers["validation"].append_batch(choose_rows(settled.fields, held[settled.stays]))
        takers["train"].append_batch(choose_rows(settled.fields, ~held[settled.stays]))
