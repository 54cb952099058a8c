"""Rules: named SQL conditions over a document's fields and scores, checked when a recipe loads.

A rule is one scalar boolean DuckDB expression over declared columns; `rule_grammar` says which are allowed.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from gristmill.errors import RecipeError
from gristmill.recipes.rule_sql import complaints, functions, sandbox

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FIELD_TYPES = ("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR[]")
SQL_TYPES = {name: name for name in FIELD_TYPES} | {
    "score": "DOUBLE",
    "spans": 'STRUCT("start" BIGINT, "end" BIGINT, score DOUBLE)[]',
}
MOST_RULES = 32_767  # decisions are int16

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_METADATA = re.compile(r"metadata(\.[^.]+)+")
_TEXT_FIELDS = ("id", "source", "text", "added", "created")


@dataclass(frozen=True, slots=True)
class Column:
    """A value of each row that rules may name. Its type is declared, never inferred.

    Args:
        name: how rules call it, `[a-z][a-z0-9_]*`.
        path: `id`, `source`, `text`, `added`, `created`, `metadata.a.b`, or an attribute `<set>__<label>`.
        type: one of FIELD_TYPES for a field; for an attribute `score` (DOUBLE, the score of the one span)
            or `spans` (a list of structs of start, end and score).

    Raises:
        RecipeError: one of them is not as said above.
    """

    name: str
    path: str
    type: str

    def __post_init__(self) -> None:
        if self.type not in SQL_TYPES:
            raise RecipeError(f"column {self.name!r}: no type {self.type!r}; known: {', '.join(SQL_TYPES)}")
        if not _IDENTIFIER.fullmatch(self.name):
            raise RecipeError(f"column {self.name!r} ({self.path}): give a name of a-z, 0-9 and _, a letter first")
        if self.type not in FIELD_TYPES:
            right = all(self.path.partition("__"))
        elif self.path in _TEXT_FIELDS:
            right = self.type == "VARCHAR"
        else:
            right = _METADATA.fullmatch(self.path) is not None
        if not right:
            raise RecipeError(
                f"column {self.name!r}: no {self.type} at {self.path!r}; known: {', '.join(_TEXT_FIELDS)} "
                "(VARCHAR), metadata.<key> (any type of a field), <set>__<label> (score or spans)"
            )


@dataclass(frozen=True, slots=True)
class Rule:
    """A named condition; in `include` it must be TRUE to keep a row, in `exclude` TRUE drops it.

    The operands of AND and OR are all evaluated, so AND is no guard against a failing cast: write TRY_CAST,
    or CASE WHEN. A cast to TIMESTAMP or DATE forgets the offset of a time; TIMESTAMPTZ heeds it.

    Args:
        name: kebab-case; also the name of the counter of dropped rows.
        where: one SQL boolean expression over the declared columns.
        because: the reason, for people.

    Raises:
        RecipeError: the name is not kebab-case, or the reason is missing.
    """

    name: str
    where: str
    because: str

    def __post_init__(self) -> None:
        if not _KEBAB.fullmatch(self.name):
            raise RecipeError(f"rule {self.name!r}: name it in kebab-case, such as too-short")
        if not self.because.strip():
            raise RecipeError(f"rule {self.name!r}: say why, in `because`")
        if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in self.where):
            raise RecipeError(f"rule {self.name!r}: NUL and surrogates are not allowed in {self.where!r}")


def field(path: str, type: str = "VARCHAR", name: str | None = None) -> Column:  # noqa: A002 - SQL's word
    """A column from a document's field; its name is by default the last part of the path."""
    return Column(_named(path.rpartition(".")[2], name), path, type)


def score(label: str, name: str | None = None) -> Column:
    """The score of an attribute that has one span a row: `score("length-1__words")` is `length_1__words`."""
    return Column(_named(label, name), label, "score")


def spans(label: str, name: str | None = None) -> Column:
    """All the spans of an attribute: a list of structs of start, end and score."""
    return Column(_named(label, name), label, "spans")


def _named(path: str, name: str | None) -> str:
    return re.sub(r"[^a-z0-9_]", "_", path.lower()) if name is None else name


def check_rules(columns: Sequence[Column], include: Sequence[Rule], exclude: Sequence[Rule]) -> None:
    """Refuses what is not a set of sound rules; two or three milliseconds for ten of them.

    The rules are also tried on a row of nulls, which finds what can never work, such as a broken constant.

    Raises:
        RecipeError: names the rule, what is wrong with it, and the known columns.
    """
    rules = (*include, *exclude)
    for noun, names in (("column", [c.name for c in columns]), ("rule", [r.name for r in rules])):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise RecipeError(f"{noun} {twice[0]!r} is declared twice; give one of them another name")
    if len(rules) > MOST_RULES:
        raise RecipeError(f"{len(rules):,} rules; at most {MOST_RULES:,} fit into one engine")
    if rules and not columns:
        raise RecipeError(f"rule {rules[0].name!r}: no columns are declared")
    if rules:
        _check(tuple(columns), rules)


@cache
def _checker(_pid: int) -> tuple["DuckDBPyConnection", frozenset[str], Lock]:
    """The one connection that checks share, and what rules may call.

    A forked child makes its own, and must keep what it inherits: to close it there crashes the process.
    """
    connection = sandbox()
    return connection, functions(connection), Lock()


@lru_cache(maxsize=1024)
def _check(columns: tuple[Column, ...], rules: tuple[Rule, ...]) -> None:
    connection, callable_, lock = _checker(os.getpid())
    names = [column.name for column in columns]
    wheres = [rule.where for rule in rules]
    with lock:
        for rule, complaint in zip(rules, complaints(connection, wheres, names, callable_), strict=True):
            if complaint is not None:
                raise _refusal(rule, complaint, columns)
        _check_types(connection, columns, rules)


def _check_types(connection: "DuckDBPyConnection", columns: Sequence[Column], rules: Sequence[Rule]) -> None:
    """All rules at once; one by one only if that fails, to name the one at fault."""
    import duckdb  # noqa: PLC0415 - takes 0.3 s to import

    nulls = ", ".join(f"NULL::{SQL_TYPES[column.type]}" for column in columns)
    names = ", ".join(f'"{column.name}"' for column in columns)
    conditions = ", ".join(f"(\n{rule.where}\n)" for rule in rules)
    try:
        connection.execute(f"SELECT {conditions} FROM (VALUES ({nulls})) AS __rows({names})").fetchall()  # noqa: S608 - checked before
    except duckdb.Error as error:
        if len(rules) == 1:
            raise _refusal(rules[0], first_line(error), columns) from None
        for rule in rules:
            _check_types(connection, columns, [rule])
        raise  # each is right by itself: not the rules' fault
    for rule, bound in zip(rules, connection.description or (), strict=True):
        if str(bound[1]) != "BOOLEAN":
            raise _refusal(rule, f"its value is {bound[1]}, not BOOLEAN", columns)


def _refusal(rule: Rule, complaint: str, columns: Sequence[Column]) -> RecipeError:
    known = ", ".join(column.name for column in columns)
    return RecipeError(f"rule {rule.name!r}: {complaint} (in: {rule.where}); known columns: {known}")


def first_line(error: Exception) -> str:
    """What DuckDB says, without the picture of the place, at most 200 characters."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
