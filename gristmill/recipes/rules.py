"""Rules: named SQL conditions on a document's fields and scores, checked when a recipe loads.

A rule is one boolean DuckDB expression over declared columns. gristmill/recipes/sql/rule_sql.py lists what it may use.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import lru_cache

from gristmill.errors import RecipeError, shorten
from gristmill.recipes.option_types import check_option, check_types
from gristmill.recipes.sql.process import CHECK_LIMITS, RuleStopped, ask_rule_process
from gristmill.recipes.sql.worker import CheckRules, RuleAnswer

FIELD_TYPES = ("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR[]")
SQL_TYPES = {name: name for name in FIELD_TYPES} | {
    "score": "DOUBLE",
    "spans": 'STRUCT("start" BIGINT, "end" BIGINT, score DOUBLE)[]',
}
MOST_RULES = 32_767  # decisions are int16

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_METADATA = re.compile(r"metadata(\.[^.]+)+")
ORIGINS = ("licence", "terms", "language")
"""What rules may read of the recipe of the source: the same for all rows."""

_ORIGIN = "origin."
_TEXT_FIELDS = ("id", "source", "text", "added", "created")


@dataclass(frozen=True, slots=True)
class Column:
    """A value of each row that rules may name. Its type is declared, never inferred.

    Args:
        name: its name in rules: lower-case letters, digits and _, beginning with a letter.
        path: `id`, `source`, `text`, `added`, `created`, `metadata.a.b`, an attribute `<set>__<label>`, or
            `origin.` and one of ORIGINS.
        type: type of the values: for a field, one of FIELD_TYPES. For an attribute `score` (DOUBLE, the score of its
            only span) or `spans` (a list of structs of start, end and score).
        optional: whether all rows of a shard may lack it. Otherwise such a shard is an error, because the path may be
            misspelt. It changes no row, so it is no part of a selection's recipe.
        value: value that the source declares, for a column at `origin.`; empty: nothing. The catalogue sets it.

    Raises:
        RecipeError: the name, the path or the type is wrong.
    """

    name: str
    path: str
    type: str
    optional: bool = False
    value: str | None = dataclass_field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_types(self, f"column {self.name!r}")
        if self.type not in SQL_TYPES:
            raise RecipeError(f"column {self.name!r}: no type {self.type!r}; types: {', '.join(SQL_TYPES)}")
        if not _IDENTIFIER.fullmatch(self.name):
            raise RecipeError(f"column {self.name!r} ({self.path}): give a name of a-z, 0-9 and _, first a letter")
        if self.value is not None and not self.is_origin:
            raise RecipeError(f"column {self.name!r}: {self.path} has a value in each row; leave value= out")
        if self.type not in FIELD_TYPES:
            valid = all(self.path.partition("__"))
        elif self.is_origin:
            valid = self.type == "VARCHAR" and self.path.removeprefix(_ORIGIN) in ORIGINS
        elif self.path in _TEXT_FIELDS:
            valid = self.type == "VARCHAR"
        else:
            valid = _METADATA.fullmatch(self.path) is not None
        if not valid:
            raise RecipeError(
                f"column {self.name!r}: no {self.type} at {self.path!r}; paths: {', '.join(_TEXT_FIELDS)} "
                "(VARCHAR), metadata.<key> (any type of a field), <set>__<label> (score or spans), "
                f"{', '.join(_ORIGIN + each for each in ORIGINS)} (VARCHAR)"
            )

    @property
    def is_origin(self) -> bool:
        """Whether it is read from the recipe of the source."""
        return self.path.startswith(_ORIGIN)


@dataclass(frozen=True, slots=True)
class Rule:
    """A named condition. A rule in `include` must be TRUE to keep a row; a rule in `exclude` drops a row if it is TRUE.

    All operands of AND and OR are evaluated, so AND does not protect against a failing cast: write TRY_CAST or CASE
    WHEN. A cast to TIMESTAMP or DATE drops the offset of a time; a cast to TIMESTAMPTZ uses it.

    Args:
        name: name in kebab-case. Ledgers count dropped rows by it.
        where: one SQL boolean expression over the declared columns.
        because: the reason, for people.

    Raises:
        RecipeError: the name is not kebab-case, the reason is missing, or the expression holds NUL or surrogates.
    """

    name: str
    where: str
    because: str

    def __post_init__(self) -> None:
        check_types(self, f"rule {self.name!r}")
        if not _KEBAB.fullmatch(self.name):
            raise RecipeError(f"rule {self.name!r}: give a name in kebab-case, such as too-short")
        if not self.because.strip():
            raise RecipeError(f"rule {self.name!r}: say why in `because`")
        if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in self.where):
            raise RecipeError(f"rule {self.name!r}: NUL and surrogates are not allowed in {self.where!r}")


def field(
    path: str,
    type: str = "VARCHAR",  # noqa: A002 - SQL's word
    name: str | None = None,
    *,
    optional: bool = False,
) -> Column:
    """A column from a field of the documents.

    Args:
        path: `id`, `source`, `text`, `added`, `created`, or `metadata.<key>`.
        type: its SQL type, one of FIELD_TYPES.
        name: its name in rules; by default the last part of the path.
        optional: whether all rows of a shard may lack it: see Column.

    Raises:
        RecipeError: see Column.

    >>> field("metadata.stars", "BIGINT")
    Column(name='stars', path='metadata.stars', type='BIGINT', optional=False)
    """
    check_option(path, str, "field: path")
    return Column(_column_name(path.rpartition(".")[2], name), path, type, optional)


def score(label: str, name: str | None = None, *, optional: bool = False) -> Column:
    """A column with the score of an attribute that has at most one span per row.

    Args:
        label: the attribute, `<set>__<label>`.
        name: its name in rules; by default the label, with _ for every other character.
        optional: whether all rows of a shard may lack it: see Column. Not needed if the tagger declares the label
            with optional=True.

    Raises:
        RecipeError: see Column.

    >>> score("length-1__words").name
    'length_1__words'
    """
    check_option(label, str, "score: label")
    return Column(_column_name(label, name), label, "score", optional)


def spans(label: str, name: str | None = None, *, optional: bool = False) -> Column:
    """A column with all spans of an attribute: a list of structs of start, end and score.

    Args:
        label: the attribute, `<set>__<label>`.
        name: its name in rules; by default the label, with _ for every other character.
        optional: whether all rows of a shard may lack it: see Column. Not needed if the tagger declares the label
            with optional=True.

    Raises:
        RecipeError: see Column.

    >>> spans("lang-2__en", "english")
    Column(name='english', path='lang-2__en', type='spans', optional=False)
    """
    check_option(label, str, "spans: label")
    return Column(_column_name(label, name), label, "spans", optional)


def origin(constant: str, name: str | None = None, *, optional: bool = False) -> Column:
    """A column with what the source declares: the same value in all rows.

    Args:
        constant: one of ORIGINS: `licence`, `terms` or `language`.
        name: its name in rules; by default that of the constant.
        optional: whether the source may declare nothing: then it is null. Otherwise that is an error.

    Raises:
        RecipeError: see Column.

    >>> origin("licence").path
    'origin.licence'
    """
    check_option(constant, str, "origin: constant")
    return Column(constant if name is None else name, f"{_ORIGIN}{constant}", "VARCHAR", optional)


def _column_name(path: str, name: str | None) -> str:
    """The name, or by default one made from the path."""
    return re.sub(r"[^a-z0-9_]", "_", path.lower()) if name is None else name


def check_rules(
    columns: Sequence[Column], include: Sequence[Rule], exclude: Sequence[Rule], *, sql: bool = True
) -> None:
    """Checks a set of rules. Ten rules take two or three milliseconds, and the first ones start a process.

    The rules also run on a row of nulls. That finds rules that can never work, such as a constant that cannot be cast.

    Args:
        columns: the columns that the rules may name.
        include: rules that must be true of a row.
        exclude: rules that must not be true of a row.
        sql: whether the expressions are checked too; otherwise only names and numbers, without a process.

    Raises:
        RecipeError: names the rule, what is wrong with it, and the columns.

    >>> check_rules([field("id")], [], [Rule("short", "words < 5", "stubs")])
    Traceback (most recent call last):
        ...
    gristmill.errors.RecipeError: rule 'short': no column 'words' (in: words < 5); columns: id
    """
    rules = (*include, *exclude)
    if len(rules) > MOST_RULES:
        raise RecipeError(f"{len(rules):,} rules; one selection may have at most {MOST_RULES:,}")
    for noun, names in (("column", [c.name for c in columns]), ("rule", [r.name for r in rules])):
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise RecipeError(f"{noun} {repeated[0]!r} is declared twice; give one of them another name")
    if rules and not columns:
        raise RecipeError(f"rule {rules[0].name!r}: no columns are declared; declare those that it names")
    if rules and sql:
        _check_rules(tuple(columns), rules)


@lru_cache(maxsize=1024)
def _check_rules(columns: tuple[Column, ...], rules: tuple[Rule, ...]) -> None:
    """Checks rules in a process of their own. If they pass its limits, each is checked alone, to name the rule."""
    types = tuple((column.name, SQL_TYPES[column.type]) for column in columns)
    try:
        answer, _ = ask_rule_process(CheckRules(types, tuple(rule.where for rule in rules), CHECK_LIMITS))
    except RuleStopped as stopped:
        answer = RuleAnswer("memory", f"it {stopped} on a row of nulls")
    if answer.wrong == "memory" and len(rules) > 1:
        for rule in rules:
            _check_rules(columns, (rule,))
        raise RecipeError(f"rules {', '.join(rule.name for rule in rules)}: together: {answer.words}")
    if answer.wrong:
        raise _rule_error(rules[answer.number], answer.words, columns)


def _rule_error(rule: Rule, complaint: str, columns: Sequence[Column]) -> RecipeError:
    """The error for a rule, with what is wrong with it."""
    names = ", ".join(column.name for column in columns)
    return RecipeError(f"rule {rule.name!r}: {complaint} (in: {shorten(rule.where, 1000)}); columns: {names}")
