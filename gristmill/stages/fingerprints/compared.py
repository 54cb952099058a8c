"""Which snapshots are compared with which: the scope of a recipe, applied to its order.

A family is a list of snapshots of which each is compared with those before it.
"""

from collections.abc import Collection, Iterator, Sequence

import msgspec

from gristmill.lake.store.json_object import Integer
from gristmill.stages.fingerprints.order import Order, Ranked
from gristmill.text.natural_order import newest_snapshot


class FamilyMember(msgspec.Struct, frozen=True):
    """A snapshot in a family.

    Attributes:
        rank: its rank.
        keeps: whether later members are compared with it. They are not if a newer edition replaces it.
    """

    rank: Integer
    keeps: bool = True


Family = tuple[FamilyMember, ...]


def compared_families(order: Order, number: int, scope: str, empty: Collection[int] = ()) -> tuple[Family, ...]:
    """The families that a round compares.

    Only the snapshots of this round and earlier ones count, so a later round changes nothing. In a group, all editions
    of a source stand at the place of its first edition, and only the newest one keeps. Two editions are never compared.

    Args:
        order: the order of the snapshots.
        number: number of the round.
        scope: scope of the recipe.
        empty: ranks of snapshots without fingerprints; they are nobody's newest edition.

    Returns:
        Families with at least one snapshot of this round, each in the order of the comparison.

    >>> order = Order().with_round([("wiki", "1", True), ("news", "a", False), ("wiki", "2", True)])
    >>> [(member.rank, member.keeps) for member in compared_families(order, 1, "group")[0]]
    [(0, False), (2, True), (1, True)]
    """
    known = [(rank, entry) for rank, entry in enumerate(order.entries) if entry.round <= number]
    if scope == "group":
        families = [_single_family(known, empty)]
    elif scope == "source":
        families = list(_families_by_source(known))
    else:
        families = []
    new = set(order.ranks_of_round(number))
    return tuple(family for family in families if not new.isdisjoint(member.rank for member in family))


def _single_family(known: Sequence[tuple[int, Ranked]], empty: Collection[int]) -> Family:
    slots: dict[str, int] = {}
    editions: dict[str, list[str]] = {}
    for rank, entry in known:
        if entry.edition:
            slots.setdefault(entry.source, rank)
            if rank not in empty:
                editions.setdefault(entry.source, []).append(entry.snapshot)
    kept = {source: newest_snapshot(keys) for source, keys in editions.items()}
    placed = []
    for rank, entry in known:
        slot = slots[entry.source] if entry.edition else rank
        keeps = not entry.edition or kept.get(entry.source) == entry.snapshot
        placed.append((slot, keeps, rank))  # what keeps comes last of its slot: its editions are not compared with it
    return tuple(FamilyMember(rank, keeps) for _, keeps, rank in sorted(placed))


def _families_by_source(known: Sequence[tuple[int, Ranked]]) -> Iterator[Family]:
    by_source: dict[str, list[FamilyMember]] = {}
    for rank, entry in known:
        if not entry.edition:
            by_source.setdefault(entry.source, []).append(FamilyMember(rank))
    yield from (tuple(members) for members in by_source.values())
