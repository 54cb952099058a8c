"""The similarity of pairs of documents: estimated from signatures, or exact from texts."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.stages.near_duplicates.nodes import Nodes
from gristmill.stages.near_duplicates.pairs.signature_rows import SignatureRows
from gristmill.text.units.minhash import signature_similarities

Similarities = NDArray[np.float32]


class Similarity(Protocol):
    """Computes similarities."""

    def similarities(self, one: Nodes, other: Nodes, bands: NDArray[np.uint16] | None = None) -> Similarities:
        """The similarity of each pair, from 0 to 1 (n).

        Args:
            one: documents (n).
            other: documents (n).
            bands: a band that the signatures of each pair share, if one is known (n).

        Raises:
            DataError: the signatures of a pair do not share its band: a file is damaged.
        """


class Estimated:
    """The share of equal values of two signatures.

    Args:
        rows: reader of signatures.
        bands: number of bands of a signature.
        values: number of values of a signature.
        memory: bytes that the signatures of one block of pairs may take.
    """

    def __init__(self, rows: SignatureRows, bands: int, values: int, memory: int) -> None:
        self._rows, self._bands = rows, bands
        self._block = max(memory // (16 * values), 1024)  # a pair has two signatures, which are gathered once more

    def similarities(self, one: Nodes, other: Nodes, bands: NDArray[np.uint16] | None = None) -> Similarities:
        """See Similarity. Pairs are compared block by block, in the order of both documents."""
        found = np.empty(len(one), np.float32)
        order = np.lexsort((other, one))
        for first in range(0, len(order), self._block):
            block = order[first : first + self._block]
            nodes, places = np.unique(np.concatenate([one[block], other[block]]), return_inverse=True)
            read = self._rows.read(nodes)
            left, right = read[places[: len(block)]], read[places[len(block) :]]
            found[block] = signature_similarities(left, right)
            if bands is not None:
                self._check_shared_bands(left == right, bands[block])
        return found

    def _check_shared_bands(self, equal: NDArray[np.bool_], bands: NDArray[np.uint16]) -> None:
        shared = equal.reshape(len(equal), self._bands, -1)[np.arange(len(equal)), bands]
        if not shared.all():
            raise DataError(
                "two documents with an equal band have signatures that differ there: the fingerprints are damaged, or"
                " not those of the hash runs; make both again"
            )
