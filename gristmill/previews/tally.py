"""SliceTally: what a selection keeps and drops of some rows. Tallies of shards are added up."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gristmill.scores.sketch import Sketch

Bits = NDArray[np.bool_]


class Amount(NamedTuple):
    """Documents, bytes of their lines, and code points of their texts.

    >>> Amount(1, 20, 5).add_amount(Amount(2, 30, 7))
    Amount(documents=3, bytes=50, characters=12)
    """

    documents: int = 0
    bytes: int = 0
    characters: int = 0

    def add_amount(self, other: "Amount") -> "Amount":
        """The sum of two amounts."""
        return Amount(*(a + b for a, b in zip(self, other, strict=True)))


NOTHING = Amount()


class RowSizes(NamedTuple):
    """The size of each row.

    Attributes:
        bytes: size of its line in bytes (n).
        characters: size of its text in code points (n).
    """

    bytes: NDArray[np.int64]
    characters: NDArray[np.int64]

    def amount_of_rows(self, chosen: Bits) -> Amount:
        """The amount of some rows.

        Args:
            chosen: flags of the rows (n).
        """
        return Amount(int(chosen.sum()), int(self.bytes[chosen].sum()), int(self.characters[chosen].sum()))


class ExampleRow(NamedTuple):
    """A row that people may be shown: those with the least numbers are."""

    number: int
    snapshot: str
    shard: str
    row: int


class ScoreCurve(NamedTuple):
    """The numbers of a column.

    Attributes:
        rows: sketch of the numbers of all rows. It is floored, and so is that of the kept ones.
        kept: numbers of the rows that are kept.
        missing: rows without a number.
    """

    rows: Sketch = Sketch()
    kept: Sketch = Sketch()
    missing: int = 0

    @classmethod
    def from_numbers(cls, numbers: NDArray[np.float64], kept: Bits, missing: int = 0) -> "ScoreCurve":
        """The curve of some rows.

        Args:
            numbers: numbers of the rows that have one; shape (n,).
            kept: flags of these rows: whether the mix keeps them; shape (n,).
            missing: number of rows without a number.
        """
        return cls(
            Sketch.from_numbers(numbers, floored=True), Sketch.from_numbers(numbers[kept], floored=True), missing
        )

    def add_curve(self, other: "ScoreCurve") -> "ScoreCurve":
        """The numbers of both."""
        return ScoreCurve(
            Sketch.sum([self.rows, other.rows]), Sketch.sum([self.kept, other.kept]), self.missing + other.missing
        )


@dataclass
class SliceTally:
    """Counts of rows.

    Attributes:
        rows: all rows.
        kept: rows that are kept.
        dropped: rows by the reason that a build counts: the first that drops them.
        judged: rows that a rule would drop, by the rule, whatever else drops them.
        alone: rows that only this rule drops: they are kept without it, unless the rate leaves them out.
        both: documents that two rules would drop, by the names of both; the first is earlier.
        curves: the numbers of each numeric column, by its name.
        examples: rows by reason, those with the least numbers first; the reason of kept rows is empty.
        held: kept rows that a mix holds out by its key.
    """

    rows: Amount = NOTHING
    kept: Amount = NOTHING
    dropped: dict[str, Amount] = field(default_factory=dict)
    judged: dict[str, Amount] = field(default_factory=dict)
    alone: dict[str, Amount] = field(default_factory=dict)
    both: dict[tuple[str, str], int] = field(default_factory=dict)
    curves: dict[str, ScoreCurve] = field(default_factory=dict)
    examples: dict[str, list[ExampleRow]] = field(default_factory=dict)
    held: Amount = NOTHING

    def add_tally(self, other: "SliceTally", most: int) -> "SliceTally":
        """The counts of both.

        Args:
            other: counts of other rows.
            most: examples of each reason.
        """
        examples = {
            reason: sorted([*self.examples.get(reason, []), *other.examples.get(reason, [])])[:most]
            for reason in self.examples | other.examples
        }
        return SliceTally(
            self.rows.add_amount(other.rows),
            self.kept.add_amount(other.kept),
            _sum_amounts(self.dropped, other.dropped),
            _sum_amounts(self.judged, other.judged),
            _sum_amounts(self.alone, other.alone),
            {pair: self.both.get(pair, 0) + other.both.get(pair, 0) for pair in self.both | other.both},
            {
                name: self.curves.get(name, ScoreCurve()).add_curve(other.curves.get(name, ScoreCurve()))
                for name in self.curves | other.curves
            },
            examples,
            self.held.add_amount(other.held),
        )


def _sum_amounts(one: dict[str, Amount], other: dict[str, Amount]) -> dict[str, Amount]:
    return {name: one.get(name, Amount()).add_amount(other.get(name, Amount())) for name in one | other}


def count_rules(tally: SliceTally, names: Sequence[str], drops: Bits, free: Bits, sizes: RowSizes) -> None:
    """Counts what each rule drops, alone and with others.

    Args:
        tally: tally that receives the counts.
        names: names of the rules.
        drops: flags of rules and rows: whether the rule drops the row (rules, n).
        free: rows that no blocklist names (n): only they are counted.
        sizes: sizes of the rows.
    """
    drops = drops & free
    once = drops.sum(axis=0) == 1
    for number, name in enumerate(names):
        tally.judged[name] = tally.judged.get(name, Amount()).add_amount(sizes.amount_of_rows(drops[number]))
        tally.alone[name] = tally.alone.get(name, Amount()).add_amount(sizes.amount_of_rows(drops[number] & once))
    several = drops[:, ~once & drops.any(axis=0)].astype(np.float32)  # exact below 2**24 rows of a batch
    together = (several @ several.T).astype(np.int64)
    for a, b in zip(*np.nonzero(np.triu(together, 1)), strict=True):
        pair = names[a], names[b]
        tally.both[pair] = tally.both.get(pair, 0) + int(together[a, b])
