"""The rows that a mix holds out by a key: mixing writes them as a bitmap into the table, and later stages read it.

A bitmap has a flag for each row of the slice's shard. It is the field `held` of the row's `extra`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.rows.bitmap import pack_bits, unpack_bits
from gristmill.lake.rows.draw import VALIDATION_SEED, draw_fraction
from gristmill.recipes.mixture.held_out import KEY_NAME, HeldOut
from gristmill.stages.mixing.filtered_block import FilteredBlock

HELD_OUT = "held out"
"""Count of the kept rows that are in the validation split."""

NULL_KEYS = "held-out key is null"
"""Count of the kept rows without the key, which are drawn by their (source, id)."""

ENOUGH = 20
"""Documents that must be expected on the side of validation before none is a mistake."""


class HeldOutFlags:
    """Collects the flags of one shard's kept rows.

    Args:
        held_out: rule by which the mix holds rows out.
    """

    def __init__(self, held_out: HeldOut) -> None:
        self._held_out = held_out
        self._flags: list[bool] = []
        self._null = 0
        self._known: dict[Any, bool] = {}

    def add(self, block: FilteredBlock) -> None:
        """Adds the kept rows of the next block."""
        keys, kept = block.values[KEY_NAME], np.flatnonzero(block.decisions == 0).tolist()
        self.add_rows([keys[number] for number in kept], [block.pairs[number] for number in kept])

    def add_rows(self, keys: Sequence[Any], pairs: Sequence[Pair]) -> None:
        """Adds kept rows.

        Args:
            keys: the key of each row; None for a row without one.
            pairs: (source, id) of each row.
        """
        for key, pair in zip(keys, pairs, strict=True):
            if key is None:
                self._null += 1
                self._flags.append(draw_fraction(pair, VALIDATION_SEED) < self._held_out.share)
                continue
            if key not in self._known:
                self._known[key] = self._held_out.holds(key)
            self._flags.append(self._known[key])

    @property
    def array(self) -> NDArray[np.bool_]:
        """The flags of the kept rows, shape (rows,): whether each is held out."""
        return np.array(self._flags, np.bool_)

    @property
    def counts(self) -> dict[str, int]:
        """The counts for the table's row."""
        return {HELD_OUT: sum(self._flags), NULL_KEYS: self._null}

    @property
    def bitmap_entry(self) -> dict[str, str]:
        """The bitmap, for the table's row."""
        return {"held": pack_bits(self.array)}


def held_out_row_flags(shard: Shard) -> NDArray[np.bool_] | None:
    """The flags of the rows of a mix's shard, one for each: whether it is held out; None if the mix has no key and its
    draw decides.

    Args:
        shard: the shard's row in the table of the mix's slice.

    Raises:
        DataError: the bitmap is damaged.
    """
    if not shard.held_out_bitmap:
        return None
    try:
        return unpack_bits(shard.held_out_bitmap, shard.rows)
    except DataError as error:
        raise DataError(f"shard {shard.name} of a mix: {error}") from error


def check_held_out(declared: HeldOut | None, slice_: Ledger) -> None:
    """Checks that a slice of a mix was held out as the mix declares now.

    Raises:
        DataError: it was not; make the slice again.
    """
    wanted = declared.parameters() if declared else None
    if slice_.recipe.parameters.get("held_out") != wanted:
        raise DataError(
            f"{slice_.asset} ({slice_.snapshot}): it was held out by {_bitmap_header_words(slice_)}; make this slice"
            " again"
        )


def check_one_key(slices: Mapping[str, Sequence[Ledger]]) -> None:
    """Checks that all slices of a mix are held out by the same key, share and seed: then no key is on both sides.

    Args:
        slices: the heads of the slices, by stream.

    Raises:
        DataError: two slices differ; names them.
    """
    heads = [head for by_stream in slices.values() for head in by_stream if head.totals.get("shards")]
    for head in heads[1:]:
        if head.recipe.parameters.get("held_out") != heads[0].recipe.parameters.get("held_out"):
            raise DataError(
                f"{head.asset} ({head.snapshot}) is held out by {_bitmap_header_words(head)}, and {heads[0].asset}"
                f" ({heads[0].snapshot}) by {_bitmap_header_words(heads[0])}: a key could be on both sides; make the"
                " mix again"
            )


def check_divided(mix: str, share: float, totals: Mapping[str, int]) -> None:
    """Checks that a mix that is held out by a key has documents on both sides, as far as its size lets one say so.

    A few keys with many documents can all be on one side. With fewer than ENOUGH documents to be held out, nothing is
    checked.

    Args:
        mix: name of the mix, for the message.
        share: share of the documents that is held out.
        totals: number of documents and of held-out ones over all slices.

    Raises:
        DataError: no document is held out, or all are, or more than half of them and than twice the share.
    """
    rows, held = totals.get("rows", 0), totals.get(HELD_OUT)
    if held is None or rows * share < ENOUGH:
        return
    if 0 < held < rows and held <= max(0.5, 2 * share) * rows:
        return
    raise DataError(
        f"mix {mix!r}: {held_out_words(share, totals)}: most likely few keys have most of the documents; choose another"
        " validation_key, or another share"
    )


def held_out_words(share: float, totals: Mapping[str, int]) -> str:
    """The number of documents that are held out, in words; about how many, where that is not counted.

    Args:
        share: share of the documents that is held out.
        totals: number of documents and of held-out ones over all slices.

    >>> held_out_words(0.01, {"rows": 5000, HELD_OUT: 61})
    '61 of 5,000 documents are held out (1.22%, and 1% is declared)'
    >>> held_out_words(0.01, {"rows": 5000})
    'about 50 of 5,000 documents are held out'
    >>> held_out_words(0.01, {"rows": 20})
    'about 0.2 of 20 documents are held out: validation may be empty'
    """
    rows, held = totals.get("rows", 0), totals.get(HELD_OUT)
    if held is not None:
        percent = 100 * held / max(rows, 1)
        return f"{held:,} of {rows:,} documents are held out ({percent:.3g}%, and {100 * share:.3g}% is declared)"
    about = rows * share
    empty = ": validation may be empty" if about < 1 else ""
    return f"about {about:{',.0f' if about >= 1 else '.2g'}} of {rows:,} documents are held out{empty}"


def _bitmap_header_words(head: Ledger) -> str:
    found = head.recipe.parameters.get("held_out")
    return f"{found['key'][0]}, a share of {found['share']}" if found else "no key"
