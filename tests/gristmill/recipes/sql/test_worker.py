import duckdb
import pytest

from gristmill.recipes.sql.rule_sql import allowed_functions, open_sandbox
from gristmill.recipes.sql.worker import find_invalid_rule, first_message_line

COLUMNS = (("n", "BIGINT"), ("text", "VARCHAR"))


@pytest.mark.parametrize(
    ("wheres", "number", "words"),
    [
        (["n > 1", "random() < n"], 1, "the function 'random' is not allowed"),
        (["n > 1", "text > 5", "length(text)"], 1, "Binder Error"),
        (["n > 1", "length(text)"], 1, "its value is BIGINT, not BOOLEAN"),
        (["n > 1", "CAST('a' AS BIGINT) > n"], 1, "Conversion Error"),
    ],
)
def test_the_first_rule_with_a_fault_is_named_by_its_number(wheres: list[str], number: int, words: str) -> None:
    connection = open_sandbox()
    found = find_invalid_rule(connection, allowed_functions(connection), COLUMNS, wheres)
    assert found is not None
    assert found[0] == number
    assert words in found[1]


def test_valid_rules_have_no_fault() -> None:
    connection = open_sandbox()
    assert find_invalid_rule(connection, allowed_functions(connection), COLUMNS, ["n > 1", "text LIKE 'a%'"]) is None


def test_of_an_error_only_the_first_line_is_told() -> None:
    assert first_message_line(duckdb.Error("what it is\n\nLINE 1: where it is")) == "what it is"
    assert first_message_line(duckdb.Error("x" * 300)) == "x" * 200
    assert first_message_line(duckdb.Error("")) == "Error"
