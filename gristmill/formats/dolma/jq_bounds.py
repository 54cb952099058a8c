"""Which jq expressions are certain to end soon, in little more memory than their row has."""

from gristmill.errors import RecipeError
from gristmill.formats.dolma.jq_parser import JqBinary, JqCall, JqLiteral, JqPlace, JqTerm, parse_jq

_FUNCTIONS = frozenset(
    {"add", "all", "any", "endswith", "first", "floor", "has", "last", "length", "map", "max", "min", "not", "select"}
    | {"startswith", "tonumber", "type"}
)
"""They read each part of a value once, and give no more than they read."""
_SIGNS = frozenset({"|", "//", "or", "and", "==", "!=", "<", "<=", ">", ">=", "%"})


def is_bounded_jq(text: str) -> bool:
    """Whether the time and the memory of an expression are bounded by the size of its row.

    A few forms are: paths, comparisons, and functions that read a value once. With others a short expression may never
    end (`repeat(.)`), or need any amount of memory (`[range(1e12)]`, `. * 1e9`).

    Args:
        text: the expression.

    >>> is_bounded_jq(".attributes.words[0][2] > 5 and (.text | length) < 100")
    True
    >>> is_bounded_jq("[range(1e12)] | length > 5")
    False
    """
    try:
        return _bounded(parse_jq(text))
    except RecipeError:
        return False


def _bounded(term: JqTerm) -> bool:
    match term:
        case JqPlace(of, _):
            return _bounded(of)
        case JqBinary("+" | "-", left, right):  # `. + .` doubles, and `. - .` of lists compares all pairs
            return isinstance(left, JqLiteral) != isinstance(right, JqLiteral) and _bounded(left) and _bounded(right)
        case JqBinary(sign, left, right):
            return sign in _SIGNS and _bounded(left) and _bounded(right)
        case JqCall(name, argument):
            return name in _FUNCTIONS and (argument is None or _bounded(argument))
    return True
