"""The exact Jaccard similarity of pairs of documents: of their sets of n-grams, computed from their texts."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.ledger.adopted import ShardFile, open_shard
from gristmill.lake.rows.batches import TextRow, decode_rows
from gristmill.lake.rows.shard_file import find_gzip_member
from gristmill.lake.store.protocol import Store
from gristmill.recipes.duplicates.units import MinHashUnits
from gristmill.stages.near_duplicates.inputs import Table
from gristmill.stages.near_duplicates.nodes import Nodes, equal_stretches, part_of_nodes, rank_of_nodes
from gristmill.stages.near_duplicates.pairs.similarity import Similarities
from gristmill.stages.near_duplicates.printed_documents import PrintedDocuments
from gristmill.text.code_points import Hashes
from gristmill.text.units.shingles import hash_shingles

import msgspec  # isort: skip

_BLOCK = 4096  # pairs whose texts are read together


class Exact:
    """Reads the texts of pairs, block by block.

    Args:
        store: the lake.
        printed: finder of the rows of documents.
        fingerprints: the table of each rank.
        documents: the table of the documents of each rank.
        unit: unit that tells how texts are divided into n-grams.
    """

    def __init__(
        self,
        store: Store,
        printed: PrintedDocuments,
        fingerprints: Sequence[Table],
        documents: Sequence[Table],
        unit: MinHashUnits,
    ) -> None:
        self._store, self._printed, self._unit = store, printed, unit
        self._fingerprints, self._documents = fingerprints, documents
        self._decoder = msgspec.json.Decoder(TextRow)

    def similarities(self, one: Nodes, other: Nodes, bands: NDArray[np.uint16] | None = None) -> Similarities:  # noqa: ARG002
        """See Similarity."""
        found = np.empty(len(one), np.float32)
        order = np.lexsort((other, one))
        for first in range(0, len(order), _BLOCK):
            block = order[first : first + _BLOCK]
            nodes, places = np.unique(np.concatenate([one[block], other[block]]), return_inverse=True)
            sets = self._document_ngram_sets(nodes)
            pairs = zip(places[: len(block)].tolist(), places[len(block) :].tolist(), strict=True)
            found[block] = [_jaccard_similarity(sets[left], sets[right]) for left, right in pairs]
        return found

    def _document_ngram_sets(self, nodes: Nodes) -> list[Hashes]:
        """The different n-grams of each document, ascending."""
        rows = self._printed.rows(nodes)
        sets: list[Hashes] = []
        for first, last in equal_stretches(part_of_nodes(nodes)):
            rank = int(rank_of_nodes(nodes[first : first + 1])[0])
            number = int(part_of_nodes(nodes[first : first + 1])[0])
            for text in self._read_shard_texts(rank, number, rows[first:last]):
                columns = hash_shingles([text], self._unit.ngram, self._unit.normalised)
                sets.append(np.unique(np.concatenate([np.empty(0, np.uint64), *(each.hashes for each in columns)])))
        return sets

    def _read_shard_texts(self, rank: int, part: int, rows: NDArray[np.int64]) -> Iterator[str]:
        """The texts of ascending rows of a shard."""
        printed, documents = self._fingerprints[rank], self._documents[rank]
        name = printed.names[part & ((1 << 20) - 1)]
        if name not in documents.rows or documents.rows[name].ids != printed.rows[name].ids:
            raise DataError(
                f"{documents.place.table}: shard {name} has other documents than its fingerprints; make the"
                f" fingerprints of {documents.place.snapshot} again"
            )
        shard = documents.rows[name]
        file = open_shard(self._store, documents.place, shard)
        if shard.at or not shard.members:
            yield from _stream_row_texts(file, rows)
            return
        last = -1
        texts: list[TextRow] = []
        for row in rows.tolist():
            _, _, first = find_gzip_member(shard.members, shard.bytes, row)
            if first != last:
                _, lines = file.rows_around(row)
                texts = decode_rows(self._decoder, b"".join(line + b"\n" for line in lines), file.path, first)
                last = first
            yield texts[row - first].text


def _stream_row_texts(file: ShardFile, rows: NDArray[np.int64]) -> Iterator[str]:
    """The texts of ascending rows of a file without offsets of its members. It is read as a whole."""
    wanted = set(rows.tolist())
    for first, batch in file.rows(TextRow):
        yield from (row.text for number, row in enumerate(batch, first) if number in wanted)


def _jaccard_similarity(one: Hashes, other: Hashes) -> float:
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / max(len(one) + len(other) - both, 1)
