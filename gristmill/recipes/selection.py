"""Selections: which rows of a dataset version are kept, and what is changed in them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from msgspec import Meta

from gristmill.errors import RecipeError
from gristmill.lake.address import ADOPTED_NAME, check_name, check_numbered
from gristmill.recipes.drift.bounds import Bounds, check_bounds
from gristmill.recipes.drift.drop_reasons import (
    BLOCKED,
    EDITS,
    NOT_CHOSEN,
    SAMPLED_OUT,
    TOO_FEW_BYTES,
    TOO_LITTLE_LEFT,
    TOO_SHORT,
    TRANSFORM,
)
from gristmill.recipes.edits.edit import Edit, Overlaps, is_of_edit
from gristmill.recipes.edits.row_fields import check_fields
from gristmill.recipes.mixture.held_out import KEY_NAME, HeldOut, read_held_out
from gristmill.recipes.option_types import check_types
from gristmill.recipes.rules import Column, Rule, check_rules

RECORDED = "declared on the shelf"
"""The `because` of a rule that was read from a ledger, because ledgers do not record reasons."""

_LEAST_RATE = 1e-9
"""A smaller rate rounds to nothing."""

CHANGED = "rows changed"
"""Count of the kept rows whose bytes are not those of the version that was read."""

_sql_checked = ContextVar("sql_checked", default=True)


@contextmanager
def skip_sql_checks() -> Iterator[None]:
    """Selections that are made inside are only compared: the SQL of their rules is not checked, and starts no process.

    Whoever runs them calls `Selection.check_sql` first. An engine of rules checks its own rules in any case.
    """
    token = _sql_checked.set(False)
    try:
        yield
    finally:
        _sql_checked.reset(token)


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Keeps a row if no blocklist names it, every include rule is true, no exclude rule is true, and `rate` draws it.

    Then the kept rows are changed: first by `edits`, then by `transforms`. Other rows are copied as bytes.

    Attributes:
        columns: the columns that rules may name, with declared types (`field`, `score`, `spans` of recipes/rules.py).
        include: rules that must be true of a row.
        exclude: rules that must not be true of a row.
        blocklists: names of lists of (source, id). Rows on a list are dropped.
        rate: share of rows kept, drawn by a hash of (source, id); above 0, at most 1. The rows of rate 0.1 are a
            subset of those of 0.2.
        seed: another number draws another sample.
        edits: edits that delete, replace or mask parts of the texts of kept rows.
        least_kept: share of a text's code points that must be outside of the edited spans, from 0 to 1. A row of which
            less is left is dropped.
        overlaps: choice for spans of edits that overlap: `union` changes all their code points at once; `first` changes
            the first span, and leaves out each span that begins inside one that is changed, as Dolma's mixer does. Then
            a part of a marked span may stay.
        transforms: names of the transforms that kept rows pass through after the edits, in this order.
        shortest: a row that edits or transforms changed is dropped if its text has fewer code points.
        least_bytes: a row whose text then has fewer bytes of UTF-8 is dropped, changed or not; white space at both ends
            does not count.
        keep: the fields of written rows beside id, source and text, such as `created` or `metadata.url`; empty: all.
        discard: fields that are left out of the written rows.
        merge: attribute sets whose labels are put into the `attributes` of the written rows.
        origin: whether the written rows say where they come from, as `metadata.origin`: source, version, snapshot,
            shard and row of the version that is read.
        bounds: limits on the difference from earlier snapshots, and the largest shares that its rules and edits may
            drop; outside, it is not published. It changes no row. None: the check `volume` only warns.
        description: description for people.
        held_out: rule by which a mix holds rows out. The mix sets it: see `Mix.validation_key`.
    """

    columns: tuple[Column, ...] = ()
    include: tuple[Rule, ...] = ()
    exclude: tuple[Rule, ...] = ()
    blocklists: tuple[str, ...] = ()
    rate: float = 1.0
    seed: int = 0
    edits: tuple[Edit, ...] = ()
    least_kept: Annotated[float, Meta(ge=0, le=1)] = 0.0
    overlaps: Overlaps = "union"
    transforms: tuple[str, ...] = ()
    shortest: Annotated[int, Meta(ge=0)] = 0
    least_bytes: Annotated[int, Meta(ge=0)] = 0
    keep: tuple[str, ...] = ()
    discard: tuple[str, ...] = ()
    merge: tuple[str, ...] = ()
    origin: bool = False
    bounds: Bounds | None = None
    description: str = field(default="")
    held_out: HeldOut | None = None

    def __post_init__(self) -> None:
        """Checks everything that can be checked without data.

        Raises:
            RecipeError: a rule, a name or the rate is wrong.
        """
        check_types(self, self._title_for_messages)
        if not 0 < self.rate <= 1:
            raise RecipeError(f"rate is {self.rate}; give a share of rows above 0 and at most 1")
        if self.rate < _LEAST_RATE:
            raise RecipeError(f"rate is {self.rate}: it would keep no row of a billion; give a larger one")
        for name in self.blocklists:
            check_name(name, "blocklist")
        for name in self.sets:
            if not ADOPTED_NAME.fullmatch(name):
                raise RecipeError(
                    f"attribute set {name!r}: a column's path is '<set>__<label>', such as length-1__words"
                )
        check_rules(self.columns, self.include, self.exclude, sql=_sql_checked.get())
        self._check_changes()
        self._check_limits()
        self._check_bounds()

    def check_sql(self, who: str) -> None:
        """Checks the SQL of the rules, which has been checked already unless this was made in `sql_unchecked`.

        Args:
            who: the recipe, for the message.

        Raises:
            RecipeError: a rule is wrong.
        """
        try:
            check_rules(self.columns, self.include, self.exclude)
        except RecipeError as error:
            raise RecipeError(f"{who}: {error}") from error

    def _check_limits(self) -> None:
        """Checks the options that say what becomes of edited texts."""
        for option, value in (("least_kept", self.least_kept), ("overlaps", self._recorded_overlaps)):
            if value and not self.edits:
                raise RecipeError(
                    f"{self._title_for_messages}: {option} is {value!r}, but there are no edits=; leave it out"
                )
        for option, value in (("shortest", self.shortest), ("least_bytes", self.least_bytes)):
            if value and not self.changes_text:
                raise RecipeError(
                    f"{self._title_for_messages}: {option} is {value}, but neither edits= nor transforms= change a"
                    " text; a rule drops short documents"
                )

    def _check_bounds(self) -> None:
        rules = (rule.name for rule in (*self.include, *self.exclude))
        lists = (BLOCKED.format(name) for name in self.blocklists)
        after = (TOO_LITTLE_LEFT, TOO_SHORT, TOO_FEW_BYTES) if self.changes_text else ()
        transforms = [f"{TRANSFORM}{name}" for name in self.transforms]
        check_bounds(
            self.bounds,
            self._title_for_messages,
            self._bounded_options,
            reasons=[*rules, *lists, *([SAMPLED_OUT] if self.rate < 1 else ()), NOT_CHOSEN, *after],
            begins=tuple(f"{name}: " for name in transforms),
            changes=[*([EDITS] if self.edits else ()), *transforms],
        )

    def _check_changes(self) -> None:
        check_fields(self.keep, self.discard, self._title_for_messages)
        if self.merge and self.changes_text:
            raise RecipeError(
                f"{self._title_for_messages}: merge= writes attributes of the text that is read, but edits= or"
                " transforms= change it; make the next version, tag it, and merge that set"
            )
        for name in self.transforms:
            check_numbered(name, f"{self._title_for_messages}: transform")
            if self.transforms.count(name) > 1:
                raise RecipeError(f"{self._title_for_messages}: transform {name!r} is named twice; name it once")
        labels = {edit.column.name: edit.spans for edit in self.edits}
        for edit in self.edits:
            if labels[edit.column.name] != edit.spans:
                raise RecipeError(
                    f"{self._title_for_messages}: edits of {edit.spans!r} and {labels[edit.column.name]!r}: their names"
                    " must differ by more than case and signs"
                )
        if any(column.name == KEY_NAME for column in self.columns):
            raise RecipeError(f"column {KEY_NAME!r}: this name is kept for the key of a mix; take another one")
        for column in filter(is_of_edit, self.columns):
            raise RecipeError(f"column {column.name!r}: such names are kept for the spans of edits; take another one")

    @property
    def _title_for_messages(self) -> str:
        return "selection"

    @property
    def _bounded_options(self) -> tuple[str, ...]:
        """The options of bounds that it takes."""
        return ("rows", "bytes", "dropped", "removed")

    @property
    def _recorded_overlaps(self) -> str:
        """What is recorded of `overlaps`: nothing for its default."""
        return "" if self.overlaps == "union" else self.overlaps

    @property
    def sets(self) -> tuple[str, ...]:
        """The names of the attribute sets that are read, sorted."""
        return tuple(sorted({*self.merge, *(set_of_column(c) for c in self.read_columns if is_attribute(c))}))

    @property
    def read_columns(self) -> tuple[Column, ...]:
        """All columns that are read: those for rules, and those with the spans of edits."""
        edited = {edit.column.name: edit.column for edit in sorted(self.edits, key=lambda each: not each.optional)}
        return (*self.columns, *edited.values(), *self._key_column())

    def _key_column(self) -> tuple[Column, ...]:
        """The column with the key that holds rows out, under a name that columns of rules may not have."""
        return () if self.held_out is None else (replace(self.held_out.key, name=KEY_NAME),)

    @property
    def changes_text(self) -> bool:
        """Whether the text of a kept row may be another one than in the version that is read."""
        return bool(self.edits or self.transforms)

    @property
    def changes_rows(self) -> bool:
        """Whether a kept row may have other bytes than in the version that is read."""
        return may_change_rows(self.parameters())

    def parameters(self) -> dict[str, Any]:
        """All that changes the output, as JSON, for the recipe in a ledger."""
        return {
            "columns": [
                [c.name, c.path, c.type] if c.value is None else [c.name, c.path, c.type, False, c.value]
                for c in self.columns
            ],
            "include": [[r.name, r.where] for r in self.include],
            "exclude": [[r.name, r.where] for r in self.exclude],
            "blocklists": list(self.blocklists),
            "rate": self.rate,
            "seed": self.seed,
            **self._row_changing_options(),
        }

    def _row_changing_options(self) -> dict[str, Any]:
        """The options that change rows or hold them out. Defaults are left out: older ledgers lack them."""
        options = {
            "edits": [edit.parameters() for edit in self.edits],
            "least_kept": self.least_kept,
            "overlaps": self._recorded_overlaps,
            "transforms": list(self.transforms),
            "shortest": self.shortest,
            "least_bytes": self.least_bytes,
            "keep": sorted(self.keep),
            "discard": sorted(self.discard),
            "merge": sorted(self.merge),
            "origin": self.origin,
            "held_out": self.held_out.parameters() if self.held_out else None,
        }
        return {name: value for name, value in options.items() if value}

    @property
    def changes_in_words(self) -> tuple[str, ...]:
        """The changes of kept rows, in words, for people.

        >>> Selection(edits=(Edit(spans="pii-1__email", mask="*"),), transforms=("whitespace-1",)).changes_in_words
        ('pii-1__email is masked', 'whitespace-1')
        """
        return (*(edit.words for edit in self.edits), *self.transforms)

    @property
    def reasons_by_rule(self) -> Mapping[str, str]:
        """The reason of each rule, by the rule's name."""
        return {r.name: r.because for r in (*self.include, *self.exclude)}


def read_selection(parameters: Mapping[str, Any]) -> Selection:
    """The selection of a recipe in a ledger. It reverses `Selection.parameters`.

    Args:
        parameters: the result of `Selection.parameters`. It has neither the description nor the reasons of rules.

    >>> read_selection(Selection(rate=0.5, blocklists=("takedowns",)).parameters()).rate
    0.5
    """
    return Selection(
        columns=tuple(Column(*column) for column in parameters["columns"]),
        include=tuple(Rule(name, where, RECORDED) for name, where in parameters["include"]),
        exclude=tuple(Rule(name, where, RECORDED) for name, where in parameters["exclude"]),
        blocklists=tuple(parameters["blocklists"]),
        rate=parameters["rate"],
        seed=parameters["seed"],
        edits=tuple(map(Edit.of, parameters.get("edits", ()))),
        least_kept=parameters.get("least_kept", 0.0),
        overlaps=parameters.get("overlaps", "union"),
        transforms=tuple(parameters.get("transforms", ())),
        shortest=parameters.get("shortest", 0),
        least_bytes=parameters.get("least_bytes", 0),
        keep=tuple(parameters.get("keep", ())),
        discard=tuple(parameters.get("discard", ())),
        merge=tuple(parameters.get("merge", ())),
        origin=parameters.get("origin", False),
        held_out=read_held_out(parameters["held_out"]) if parameters.get("held_out") else None,
    )


def may_change_rows(parameters: Mapping[str, Any]) -> bool:
    """Whether kept rows may have other bytes than in the version that was read.

    Args:
        parameters: parameters of a recipe in a ledger.
    """
    return any(parameters.get(name) for name in ("edits", "transforms", "keep", "discard", "merge", "origin"))


def is_attribute(column: Column) -> bool:
    """Whether a column reads an attribute set; otherwise it reads the documents."""
    return column.type in {"score", "spans"}


def set_of_column(column: Column) -> str:
    """The attribute set of an attribute column.

    >>> set_of_column(Column("words", "length-1__words", "score"))
    'length-1'
    """
    return column.path.partition("__")[0]


def label_of_column(column: Column) -> str:
    """The label of an attribute column, without its set.

    >>> label_of_column(Column("words", "length-1__words", "score"))
    'words'
    """
    return column.path.partition("__")[2]
