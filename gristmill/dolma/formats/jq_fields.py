"""Which fields of a row a jq expression reads, so that a long text is not read for the attributes beside it."""

from gristmill.dolma.formats.jq_parser import JqBinary, JqCall, JqInput, JqPlace, JqTerm, parse_jq
from gristmill.errors import RecipeError


def fields_of_jq(text: str) -> frozenset[str] | None:
    """The top fields that an expression reads.

    Args:
        text: the expression.

    Returns:
        The fields; None if it may read any, or has what parse_jq() does not take.

    >>> sorted(fields_of_jq(".attributes.words[0][2] / (.text | length) > 2"))
    ['attributes', 'text']
    >>> fields_of_jq("to_entries | length > 5")
    """
    try:
        return _fields_read_by_term(parse_jq(text))
    except RecipeError:
        return None


def _fields_read_by_term(term: JqTerm) -> frozenset[str] | None:
    """The fields that a term reads whose input is the row."""
    match term:
        case JqPlace(JqInput(), str(key)):
            return frozenset({key})
        case JqPlace(of, _):
            return _fields_read_by_term(of)
        case JqBinary("|", left, _):
            return _fields_read_by_term(left)
        case JqBinary(_, left, right):
            found, more = _fields_read_by_term(left), _fields_read_by_term(right)
            return None if found is None or more is None else found | more
        case JqInput() | JqCall():
            return None
    return frozenset()
