"""Filters of Dolma's mixer in jq as conditions of rules: an expression becomes SQL over columns of the lake.

In jq, null is less than all numbers, and a list is more. What jq cannot compute, such as a division by 0, is an error
there; here SQL's NULL takes its place, so that the condition is not true. What has no such form is refused by name.

jq computes in binary: 0.29 * 100 is less than 29. SQL computes in decimals where it can, so 0.29 becomes 0.29e0 there.
"""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, NoReturn

from gristmill.dolma.formats.jq_parser import JqBinary, JqCall, JqInput, JqLiteral, JqPlace, JqTerm, parse_jq
from gristmill.dolma.recipes.mapped_names import LakeColumns
from gristmill.dolma.recipes.path_sql import (
    ALWAYS,
    ATTRIBUTES,
    SPAN_PARTS,
    literal_sql,
    name_of_comparison,
    type_of_bound,
)
from gristmill.errors import RecipeError

_SMALLER_THAN_NUMBERS = frozenset({"<", "<=", "!="})
"""The signs that are true of null and a number."""
_LARGER_THAN_NUMBERS = frozenset({">", ">=", "!="})
"""The signs that are true of a list and a number."""
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_SQL_SIGNS = {"==": "=", "!=": "<>"}
_OF_NUMBERS = {"add": "list_sum", "max": "list_max", "min": "list_min"}

Kind = Literal["document", "merged", "field", "spans", "span", "number", "numbers", "truth", "literal"]


@dataclass(frozen=True)
class _JqValue:
    """What an expression computes.

    Attributes:
        kind: of the value; `merged` are all attributes of a row.
        sql: its SQL; of a field its path.
        null_if: the SQL condition under which a NULL is the null of jq, and not an error; empty: it is never null.
        fails: whether NULL may stand for an error.
        exact: whether SQL has the numbers as integers or decimals, with which it computes without rounding.
        base: of numbers: the spans that they were computed from.
        value: of a literal.
    """

    kind: Kind
    sql: str = ""
    null_if: str = ""
    fails: bool = False
    exact: bool = False
    base: str = ""
    value: Any = None


def jq_filter_to_sql(text: str, columns: LakeColumns) -> str:
    """The condition that is true for the rows of which a filter is true.

    Args:
        text: a jq expression, such as `(.attributes.words | length) > 0`.
        columns: object that receives the columns that it reads.

    Raises:
        RecipeError: it is no jq, or it has no such form.
    """
    compiler = _JqCompiler(text, columns)
    found = compiler.compile_term(parse_jq(text), _JqValue("document"))
    if found.kind == "spans":  # a filter takes an empty list for false, `and` and `or` do not
        return f"coalesce(len({found.sql}), 0) > 0"
    if found.kind != "truth":
        compiler.raise_compile_error("it gives no truth; compare its value")
    return found.sql


def jq_rule_name(text: str) -> str | None:
    """A name in kebab-case for a filter that compares one value with one bound, beside null; None for others.

    >>> jq_rule_name("(.attributes.g__words != null) and (.attributes.g__words[0][2] < 50)")
    'words-below-50'
    """
    found = [part for part in _comparisons_in_term(parse_jq(text)) if part.right != JqLiteral(None)]
    if len(found) != 1 or not isinstance(found[0].right, JqLiteral):
        return None
    term = found[0].left
    while isinstance(term, JqPlace) and not isinstance(term.at, str):
        term = term.of
    return name_of_comparison(str(term.at), found[0].sign, found[0].right.value) if isinstance(term, JqPlace) else None


def _comparisons_in_term(term: JqTerm) -> list[JqBinary]:
    if not isinstance(term, JqBinary):
        return []
    return [term] if term.sign in _TURNED else [*_comparisons_in_term(term.left), *_comparisons_in_term(term.right)]


def _cast_number_for_sql(number: _JqValue, other: _JqValue) -> _JqValue:
    """A number that is computed with another: as a DOUBLE if SQL would take the decimal that is written, and jq cannot.

    All else stays as it is written: it is part of recipes, and what was made by them would become due.
    """
    if other.exact and number.exact and type(number.value) is float and Decimal(number.sql) != Decimal(number.value):
        return replace(number, sql=f"{number.sql}e0", exact=False)
    return number


class _JqCompiler:
    """Compiles one filter."""

    def __init__(self, text: str, columns: LakeColumns) -> None:
        self._text, self._columns = text, columns

    def raise_compile_error(self, reason: str) -> NoReturn:
        raise RecipeError(f"jq {self._text!r}: {reason}; `gristmill dolma mix` takes all of jq")

    def compile_term(self, term: JqTerm, given: _JqValue) -> _JqValue:
        """The value of an expression.

        Args:
            term: the expression.
            given: the value that comes in.
        """
        match term:
            case JqInput():
                return given
            case JqLiteral(value):
                return _JqValue("literal", value=value)
            case JqPlace(of, at):
                return self._compile_place(self.compile_term(of, given), at)
            case JqCall(name, argument):
                return self._compile_call(name, argument, given)
            case JqBinary("|", left, right):
                return self.compile_term(right, self.compile_term(left, given))
            case JqBinary(sign, left, right):
                return self._compile_binary(sign, self.compile_term(left, given), self.compile_term(right, given))

    def _compile_place(self, of: _JqValue, at: str | int) -> _JqValue:
        match of.kind, at:
            case "document", str(key) if key == ATTRIBUTES:
                return _JqValue("merged")
            case "document", str(key) if key in {*ALWAYS, "added", "created", "metadata"}:
                return _JqValue("field", key)
            case "merged", str(key):
                return _JqValue("spans", self._columns.spans(key), "true")
            case "field", str(key) if of.sql.startswith("metadata") and "." not in key:
                return _JqValue("field", f"{of.sql}.{key}")
            case "spans", int(index) if not of.fails:
                return _JqValue("span", f"{of.sql}[{index if index < 0 else index + 1}]", "true")
            case "span", int(index) if -len(SPAN_PARTS) <= index < len(SPAN_PARTS):
                part = SPAN_PARTS[index]
                return replace(of, kind="number", sql=f"{of.sql}.{part}", exact=part != "score")
        if of.kind == "document":
            self.raise_compile_error(f"the documents of a lake have no field {at!r} beside metadata")
        return self.raise_compile_error(f"it takes {at!r} of something that has none")

    def _compile_call(self, name: str, argument: JqTerm | None, given: _JqValue) -> _JqValue:
        if argument is not None:
            if name == "map" and given.kind == "spans":
                return self._compile_map(argument, given)
        elif name == "length" and given.kind in {"spans", "numbers"}:
            size = f"len({given.sql})"
            return _JqValue("number", size if given.fails else f"coalesce({size}, 0)", fails=given.fails, exact=True)
        elif name == "length" and given.kind == "field" and given.sql in ALWAYS:
            return _JqValue("number", f"length({self._columns.field(given.sql, 'VARCHAR')})", exact=True)
        elif name in _OF_NUMBERS and given.kind == "numbers":
            null_if = f"{given.base} IS NOT NULL"  # of no numbers; of null they are an error
            return _JqValue("number", f"{_OF_NUMBERS[name]}({given.sql})", null_if, fails=True, exact=given.exact)
        elif name == "not" and given.kind == "truth":
            return replace(given, sql=f"NOT ({given.sql})")
        return self.raise_compile_error(f"the function {name} has no counterpart here")

    def _compile_map(self, argument: JqTerm, given: _JqValue) -> _JqValue:
        span = _JqValue("span", "s")
        if isinstance(argument, JqCall) and argument.name == "select" and argument.argument is not None:
            chosen = self.compile_term(argument.argument, span)
            if chosen.kind != "truth" or chosen.fails:
                self.raise_compile_error("select takes a comparison of one span")
            return _JqValue("spans", f"list_filter({given.sql}, lambda s: {chosen.sql})", fails=True)
        value = self.compile_term(argument, span)
        if value.kind != "number" or value.fails:
            self.raise_compile_error("map takes sums, differences and products of a span's values")
        listed = f"list_transform({given.sql}, lambda s: {value.sql})"
        return _JqValue("numbers", listed, fails=True, exact=value.exact, base=given.sql)

    def _compile_binary(self, sign: str, left: _JqValue, right: _JqValue) -> _JqValue:
        if sign in {"and", "or"}:
            return self._compile_and_or(sign, self._compile_truth(left), self._compile_truth(right))
        if sign in _TURNED:
            if left.kind == "literal" and right.kind != "literal":
                left, right, sign = right, left, _TURNED[sign]
            return self._compile_comparison(sign, left, right)
        if sign == "//":
            return self._compile_alternative(left, right)
        return self._compile_arithmetic(sign, left, right)

    def _compile_truth(self, value: _JqValue) -> _JqValue:
        """What `and`, `or` and `not` take a value for: all but false and null is true."""
        if value.kind == "truth":
            return value
        if value.kind == "spans" and not value.fails:
            return _JqValue("truth", f"{value.sql} IS NOT NULL")
        return self.raise_compile_error("and, or: give comparisons")

    def _compile_and_or(self, sign: str, left: _JqValue, right: _JqValue) -> _JqValue:
        """Jq looks at the right side only if the left one does not decide; if the left one fails, all fails."""
        fails = left.fails or right.fails
        if not left.fails:
            return _JqValue("truth", f"({left.sql}) {sign.upper()} ({right.sql})", fails=fails)
        decided = ("true", right.sql) if sign == "or" else (right.sql, "false")
        return _JqValue(
            "truth", f"CASE WHEN {left.sql} THEN {decided[0]} WHEN NOT ({left.sql}) THEN {decided[1]} END", fails=fails
        )

    def _compile_alternative(self, left: _JqValue, right: _JqValue) -> _JqValue:
        if right.kind == "literal" and not left.fails:
            if left.kind == "spans" and right.value == []:
                return replace(left, sql=f"coalesce({left.sql}, [])", null_if="")
            if left.kind == "number" and type(right.value) in {int, float}:
                other = _cast_number_for_sql(self._compile_number(right), left)
                return _JqValue("number", f"coalesce({left.sql}, {other.sql})", exact=left.exact and other.exact)
        return self.raise_compile_error("// takes spans and [], or a number of a span and a number")

    def _compile_arithmetic(self, sign: str, left: _JqValue, right: _JqValue) -> _JqValue:
        a, b = (self._compile_number(each) for each in (left, right))
        if sign == "%" or (sign == "+" and (a.null_if or b.null_if)):
            self.raise_compile_error(
                f"{sign} has no counterpart here for values that may be missing or are no integers"
            )
        nulls = bool(a.null_if or b.null_if or a.fails or b.fails)
        if sign == "/":
            return _JqValue("number", f"({a.sql} / nullif({b.sql}, 0))", fails=True)
        a, b = _cast_number_for_sql(a, b), _cast_number_for_sql(b, a)
        return _JqValue("number", f"({a.sql} {sign} {b.sql})", fails=nulls, exact=a.exact and b.exact)

    def _compile_number(self, value: _JqValue) -> _JqValue:
        if value.kind == "literal" and type(value.value) in {int, float}:
            written = repr(value.value)
            return _JqValue("number", written, exact="e" not in written, value=value.value)
        if value.kind != "number":
            self.raise_compile_error("it computes with something that is no number")
        return value

    def _compile_comparison(self, sign: str, left: _JqValue, right: _JqValue) -> _JqValue:
        if right.kind == "literal" and right.value is None:
            return self._with_null(sign, left)
        if left.kind == "field":
            return self._compile_field_comparison(sign, left, right)
        if left.kind == "spans" and not left.fails:
            return self._compile_list_comparison(sign, left, right)
        a, b = self._compile_number(left), self._compile_number(right)
        if b.null_if or b.fails:
            self.raise_compile_error(f"the right side of {sign} may be missing; compare with a written number")
        return self._compile_ordering(sign, a, b.sql)

    def _compile_ordering(self, sign: str, value: _JqValue, bound: str) -> _JqValue:
        """A comparison with a number, where null is smaller than all of them."""
        plain = f"{value.sql} {_SQL_SIGNS.get(sign, sign)} {bound}"
        if not value.null_if:
            return _JqValue("truth", plain, fails=value.fails)
        of_null = "true" if sign in _SMALLER_THAN_NUMBERS else "false"
        if value.null_if == "true":
            return _JqValue("truth", f"coalesce({plain}, {of_null})")
        return _JqValue("truth", f"coalesce({plain}, CASE WHEN {value.null_if} THEN {of_null} END)", fails=True)

    def _with_null(self, sign: str, value: _JqValue) -> _JqValue:
        if sign not in {"==", "!="} or value.fails or value.kind not in {"spans", "span", "number"}:
            self.raise_compile_error("null is compared by == and != with spans of attributes and their values")
        return _JqValue("truth", f"{value.sql} IS {'NOT ' if sign == '!=' else ''}NULL")

    def _compile_list_comparison(self, sign: str, spans: _JqValue, right: _JqValue) -> _JqValue:
        if right.kind != "literal":
            self.raise_compile_error("spans are compared with a written value")
        if right.value == [] and sign in {"==", "!="}:
            equal = f"coalesce(len({spans.sql}) = 0, false)"
            return _JqValue("truth", equal if sign == "==" else f"NOT {equal}")
        if type(right.value) not in {int, float}:
            self.raise_compile_error("spans are compared with [], null or a number")
        of_list, of_null = sign in _LARGER_THAN_NUMBERS, sign in _SMALLER_THAN_NUMBERS
        if of_list == of_null:
            return _JqValue("truth", "true" if of_list else "false")
        return _JqValue("truth", f"{spans.sql} IS {'NOT ' if of_list else ''}NULL")

    def _compile_field_comparison(self, sign: str, value: _JqValue, right: _JqValue) -> _JqValue:
        if right.kind != "literal" or isinstance(right.value, list):
            self.raise_compile_error("a field of documents is compared with a written number, text, true or false")
        try:
            column = self._columns.field(value.sql, type_of_bound(right.value))
        except RecipeError as error:
            self.raise_compile_error(str(error))
        if type(right.value) in {int, float}:
            return self._compile_ordering(sign, _JqValue("number", column, "true"), repr(right.value))
        if sign not in {"==", "!="}:
            self.raise_compile_error(f"{sign} orders texts otherwise than SQL")
        equal = f"coalesce({column} = {literal_sql(right.value)}, false)"
        return _JqValue("truth", equal if sign == "==" else f"NOT {equal}")
