"""Selections: which rows of a dataset version are kept, by named rules, blocklists and a sampling rate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gristmill.errors import RecipeError
from gristmill.lake.address import ADOPTED_NAME, check_name
from gristmill.recipes.option_types import check_types
from gristmill.recipes.rules import Column, Rule, check_rules

RECORDED = "declared on the shelf"
"""The `because` of a rule that was read from a ledger, because ledgers do not record reasons."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Keeps a row if no blocklist names it, every include rule is true, no exclude rule is true, and `rate` draws it.

    Attributes:
        columns: the columns that rules may name, with declared types (`field`, `score`, `spans` of recipes/rules.py).
        include: rules that must be true of a row.
        exclude: rules that must not be true of a row.
        blocklists: names of lists of (source, id). Rows on a list are dropped.
        rate: share of rows kept, drawn by a hash of (source, id); above 0, at most 1. The rows of rate 0.1 are a
            subset of those of 0.2.
        seed: another number draws another sample.
        description: for people.
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
            RecipeError: a rule, a name or the rate is wrong.
        """
        check_types(self, self._title)
        if not 0 < self.rate <= 1:
            raise RecipeError(f"rate is {self.rate}; give a share of rows above 0 and at most 1")
        for name in self.blocklists:
            check_name(name, "blocklist")
        for name in self.sets:
            if not ADOPTED_NAME.fullmatch(name):
                raise RecipeError(
                    f"attribute set {name!r}: a column's path is '<set>__<label>', such as length-1__words"
                )
        check_rules(self.columns, self.include, self.exclude)

    @property
    def _title(self) -> str:
        return "selection"

    @property
    def sets(self) -> tuple[str, ...]:
        """The names of the attribute sets that the columns read, sorted."""
        return tuple(sorted({set_of(c) for c in self.columns if is_attribute(c)}))

    def parameters(self) -> dict[str, Any]:
        """All that changes the output, as JSON, for the recipe in a ledger."""
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
        """The reason of each rule, by the rule's name."""
        return {r.name: r.because for r in (*self.include, *self.exclude)}


def selection_of(parameters: Mapping[str, Any]) -> Selection:
    """The selection of a recipe in a ledger. It reverses `Selection.parameters`.

    Args:
        parameters: the result of `Selection.parameters`. It has neither the description nor the reasons of rules.

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
    """Whether a column reads an attribute set; otherwise it reads the documents."""
    return column.type in {"score", "spans"}


def set_of(column: Column) -> str:
    """The attribute set of an attribute column.

    >>> set_of(Column("words", "length-1__words", "score"))
    'length-1'
    """
    return column.path.partition("__")[0]


def label_of(column: Column) -> str:
    """The label of an attribute column, without its set.

    >>> label_of(Column("words", "length-1__words", "score"))
    'words'
    """
    return column.path.partition("__")[2]
