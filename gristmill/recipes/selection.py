"""Selection: which rows of a dataset version go on, by named rules, blocklists and a sampling rate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gristmill.errors import RecipeError
from gristmill.lake.address import ADOPTED_NAME, check_name
from gristmill.recipes.rules import Column, Rule, check_rules

RECORDED = "declared on the shelf"
"""The `because` of a rule that was read from a ledger, which does not record reasons."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What is kept: every include rule true, no exclude rule true, on no blocklist, and drawn at `rate`.

    Attributes:
        columns: what the rules may name, with declared types (`field`, `score`, `spans` of recipes/rules.py).
        include: rules that must be true of a row.
        exclude: rules that must not be true of a row.
        blocklists: names of lists of (source, id) that never pass.
        rate: share of rows kept, drawn by a hash of (source, id): 0.1 is a subset of 0.2.
        seed: another number draws another sample.
    """

    columns: tuple[Column, ...] = ()
    include: tuple[Rule, ...] = ()
    exclude: tuple[Rule, ...] = ()
    blocklists: tuple[str, ...] = ()
    rate: float = 1.0
    seed: int = 0
    description: str = field(default="")

    def __post_init__(self) -> None:
        """Checks everything that can be checked without data.

        Raises:
            RecipeError: a rule is no boolean expression over the columns, a name or the rate is impossible.
        """
        if not 0 < self.rate <= 1:
            raise RecipeError(f"rate {self.rate}: a share of rows above 0, and 1 at the most")
        for name in self.blocklists:
            check_name(name, "blocklist")
        for name in self.sets:
            if not ADOPTED_NAME.fullmatch(name):
                raise RecipeError(f"attribute set {name!r}: a column's path is '<set>__<label>', as in length-1__words")
        check_rules(self.columns, self.include, self.exclude)

    @property
    def sets(self) -> tuple[str, ...]:
        """The attribute sets that the columns are read from, sorted."""
        return tuple(sorted({set_of(c) for c in self.columns if is_attribute(c)}))

    def parameters(self) -> dict[str, Any]:
        """What changes the output, as JSON."""
        return {
            "columns": [[c.name, c.path, c.type] for c in self.columns],
            "include": [[r.name, r.where] for r in self.include],
            "exclude": [[r.name, r.where] for r in self.exclude],
            "blocklists": list(self.blocklists),
            "rate": self.rate,
            "seed": self.seed,
        }

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why a row may be dropped: rule by rule, for people."""
        return {r.name: r.because for r in (*self.include, *self.exclude)}


def selection_of(parameters: Mapping[str, Any]) -> Selection:
    """The selection of a recipe in a ledger or on its way to a worker: the inverse of `Selection.parameters`.

    Args:
        parameters: as `Selection.parameters` gives them. They have no `because` of the rules and no description.

    >>> selection_of(Selection(rate=0.5, blocklists=("takedowns",)).parameters()).rate
    0.5
    """
    return Selection(
        columns=tuple(Column(*column) for column in parameters["columns"]),
        include=tuple(Rule(name, where, RECORDED) for name, where in parameters["include"]),
        exclude=tuple(Rule(name, where, RECORDED) for name, where in parameters["exclude"]),
        blocklists=tuple(parameters["blocklists"]),
        rate=parameters["rate"],
        seed=parameters["seed"],
    )


def is_attribute(column: Column) -> bool:
    """Whether a column is read from an attribute set and not from the documents."""
    return column.type in {"score", "spans"}


def set_of(column: Column) -> str:
    """The attribute set of an attribute column."""
    return column.path.partition("__")[0]


def label_of(column: Column) -> str:
    """The label of an attribute column, without its set."""
    return column.path.partition("__")[2]
