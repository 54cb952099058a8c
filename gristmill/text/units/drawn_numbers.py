"""Numbers by which rows are drawn: the same rows each time, on each machine."""

import numpy as np
import xxhash
from numpy.typing import NDArray


def random_row_numbers(snapshot: str, shard: str, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A number for each row of a shard, which depends on snapshot, shard and row alone; all are equally likely.

    The numbers are those of splitmix64, whose state is the seed of the shard plus the number of the row.

    Args:
        snapshot: key of the snapshot.
        shard: name of the shard.
        rows: numbers of rows in the shard (n).

    >>> [int(number) >> 48 for number in random_row_numbers("2024", "a", np.arange(3))]
    [11017, 11288, 51399]
    """
    return splitmix64_numbers(rows.astype(np.uint64) + np.uint64(shard_seed(snapshot, shard)))


def shard_seed(snapshot: str, shard: str) -> int:
    """The state of row 0: a number below 2**63 that depends on snapshot and shard.

    Args:
        snapshot: key of the snapshot.
        shard: name of the shard.
    """
    return xxhash.xxh3_64_intdigest(f"{snapshot}/{shard}".encode()) % (1 << 63)


def splitmix64_numbers(states: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The number of splitmix64 for each state (n). Different states have different numbers.

    Args:
        states: state of each row (n): the seed of its shard plus the number of the row.
    """
    mixed = states
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
