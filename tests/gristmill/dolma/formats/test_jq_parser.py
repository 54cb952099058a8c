"""The part of jq that is read: its operators bind as in jq."""

import pytest

from gristmill.dolma.formats.jq_parser import JqBinary, JqCall, JqInput, JqLiteral, JqPlace, JqTerm, parse_jq
from gristmill.errors import RecipeError


def shown(term: JqTerm) -> str:
    """The expression with all its parentheses."""
    match term:
        case JqInput():
            return "."
        case JqLiteral(value):
            return f"{value}"
        case JqPlace(of, at):
            return f"{shown(of)}[{at}]"
        case JqCall(name, argument):
            return f"{name}({shown(argument)})" if argument else name
        case JqBinary(sign, left, right):
            return f"({shown(left)} {sign} {shown(right)})"


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        (".a | length == 0", "(.[a] | (length == 0))"),
        ("1 + 2 * 3 - 4", "((1 + (2 * 3)) - 4)"),
        (".a // .b // 1", "(.[a] // (.[b] // 1))"),
        (".a and .b or .c and true", "((.[a] and .[b]) or (.[c] and True))"),
        (".a.b[0][-1] <= 0.5", "(.[a][b][0][-1] <= 0.5)"),
        ('."a b"["c"]? | map(. * -2)', "(.[a b][c] | map((. * -2)))"),
        (".a == [] or .b != null", "((.[a] == []) or (.[b] != None))"),
        (".a // 1 > 2 | not", "((.[a] // (1 > 2)) | not)"),
    ],
)
def test_operators_bind_as_in_jq(text: str, grouped: str) -> None:
    assert shown(parse_jq(text)) == grouped


@pytest.mark.parametrize("text", [r'"\(.n)" == "5"', "01 > .n", r'."a\qb"', r'.["a\qb"]', "-01", "1e400"])
def test_what_is_no_number_or_text_of_json_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="is no number or text of JSON"):
        parse_jq(text)
