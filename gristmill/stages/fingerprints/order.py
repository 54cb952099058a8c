"""The order of a dedupe recipe: `dedupe/<name>/order.json`, to which each resolution appends the snapshots it adds.

A snapshot keeps its rank for ever, also when it is replaced. So a later snapshot never changes a verdict on an earlier
one. The snapshots that one resolution adds are a round: they are compared together.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise

import msgspec

from gristmill.errors import DataError, OtherMaking
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import FINGERPRINTS, RESOLUTION
from gristmill.lake.store.json_object import NOT_DECODED, Integer
from gristmill.recipes.duplicates.dedupe import Dedupe


class Ranked(msgspec.Struct, frozen=True):
    """One snapshot in the order. Its rank is its index in the list.

    Attributes:
        source: name of the source.
        snapshot: its key.
        round: number of the resolution that added it, from 1.
        edition: whether the source is a `replace` source: its snapshots are editions, which never mark each other.
    """

    source: str
    snapshot: str
    round: Integer
    edition: bool = False

    def fingerprints(self, dedupe: str) -> Place:
        """The place of its fingerprints.

        Args:
            dedupe: name of the recipe.
        """
        return place(FINGERPRINTS.at(dedupe=dedupe, source=self.source), self.snapshot)


class Order(msgspec.Struct, frozen=True):
    """The whole order of a recipe.

    Attributes:
        entries: the snapshots by rank.
        schema: 1.
    """

    entries: tuple[Ranked, ...] = ()
    schema: Integer = 1

    @property
    def round_count(self) -> int:
        """The number of rounds."""
        return max((entry.round for entry in self.entries), default=0)

    def ranks_of_round(self, number: int) -> list[int]:
        """The ranks of the snapshots that a round added."""
        return [rank for rank, entry in enumerate(self.entries) if entry.round == number]

    def with_round(self, new: Sequence[tuple[str, str, bool]]) -> "Order":
        """The order with one more round.

        Args:
            new: source, snapshot and edition of each snapshot that is added, in their order.
        """
        number = self.round_count + 1
        added = (Ranked(source, snapshot, number, edition) for source, snapshot, edition in new)
        return Order((*self.entries, *added))


def round_partition_key(number: int) -> str:
    """The partition key of a round: `r00001`."""
    return f"r{number:05d}"


def dedupe_order_path(dedupe: str) -> str:
    """The path of the order of a recipe."""
    return f"{RESOLUTION.at(dedupe=dedupe).rpartition('/')[0]}/order.json"


def parse_dedupe_order(data: bytes, path: str) -> Order:
    """The order in the bytes of its file.

    Raises:
        DataError: they are no order.
    """
    try:
        order = msgspec.json.decode(data, type=Order)
    except NOT_DECODED as error:
        raise DataError(f"{path}: not an order of snapshots ({error}); restore it from a backup of the lake") from error
    pairs = [(entry.source, entry.snapshot) for entry in order.entries]
    rounds = [entry.round for entry in order.entries]
    if order.schema != 1:
        raise DataError(
            f"{path}: it has schema {order.schema}, this Gristmill reads 1; take the Gristmill that wrote it"
        )
    if len(set(pairs)) != len(pairs):
        raise DataError(f"{path}: a snapshot is named twice; restore it from a backup of the lake")
    # the rounds are 1, 2, 3 ... in this order, each once or several times
    if any(now - before not in (0, 1) for before, now in pairwise([0, *rounds])) or 0 in rounds:
        raise DataError(f"{path}: its rounds are not 1, 2, 3 and so on; restore it from a backup of the lake")
    return order


def check_order(order: Order, recipe: Dedupe, editions: Collection[str]) -> None:
    """Compares the sources of an order with those of the recipes.

    Ranks are kept for ever. So a source that left would go on marking texts that no mix has any more, and snapshots
    that an index takes together would not be compared with each other.

    Args:
        order: the order.
        recipe: the dedupe recipe.
        editions: names of the `replace` sources.

    Raises:
        OtherMaking: the recipe does not name a source of the order, or the source takes its snapshots otherwise.
    """
    mend = f"change it back, or take the next number for the name {recipe.name!r}"
    for each in order.entries:
        if each.source not in recipe.versions:
            raise OtherMaking(
                f"dedupe {recipe.name!r}: it has compared snapshots of {each.source!r}, which its `sources` name no"
                f" longer; {mend}"
            )
        if each.edition != (each.source in editions):
            was = "replace" if each.edition else "accumulate"
            raise OtherMaking(
                f"dedupe {recipe.name!r}: it has compared snapshots of {each.source!r} as those of a source with"
                f" snapshots={was!r}, which has changed; {mend}"
            )
