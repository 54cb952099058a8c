"""What rules read, by the syntax tree: a text holds the same letters without the same meaning."""

import pytest

from gristmill.recipes.rules import Rule, check_rules, field, score, spans
from gristmill.recipes.sql.rule_sql import open_sandbox
from gristmill.recipes.sql.rule_tree import column_comparisons, named_columns

COLUMNS = (score("a-1__words", "words"), score("a-1__symbols", "symbols"), field("text"), spans("a-1__toxic", "toxic"))


def checked(where: str) -> str:
    check_rules(COLUMNS, [], [Rule("rule", where, "a test")])
    return where


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("words >= 80", ["words >= 80"]),
        ('Words>=.5 AND "words" < 1e3 OR symbols > 1_000 -- < 7', ["words >= 0.5", "words < 1000", "symbols > 1000"]),
        ("-2 <= words OR (7) > (words)", ["words >= -2", "words < 7"]),
        ("words BETWEEN -5 AND 9", ["words >= -5", "words <= 9"]),
        ("5 BETWEEN words AND symbols", ["words <= 5", "symbols >= 5"]),
        ("words NOT BETWEEN 5 AND 9", ["words < 5", "words > 9"]),
        ("NOT (words > 5 AND NOT symbols >= 9)", ["words <= 5", "symbols >= 9"]),
        ("CASE WHEN NOT words < 5 THEN symbols <= 9 ELSE FALSE END", ["words >= 5", "symbols <= 9"]),
        ("NOT coalesce(words > 5, FALSE)", ["words > 5"]),
        ("coalesce(words, -1) < 3 AND ifnull(symbols, 0) > 4", ["words < 3", "symbols > 4"]),
        ("words > 3.7::INTEGER AND words < CAST('8' AS DOUBLE)", ["words > 4", "words < 8"]),
        ("words > 2.25::DECIMAL(4, 2)", ["words > 2.25"]),
    ],
)  # fmt: skip
def test_a_column_compared_with_a_constant_has_a_threshold(where: str, found: list[str]) -> None:
    with open_sandbox() as connection:
        assert [f"{name} {order} {at:g}" for name, order, at in column_comparisons(connection, checked(where))] == found


@pytest.mark.parametrize(
    "where",
    [
        "symbols / words > 0.1",
        "2 * words < 50",
        "words < 10 * symbols",
        "symbols + words < 30",
        "-words < 3",
        "words > 3 * 4",
        "words - 3 < symbols",
        "abs(words) < 3",
        "coalesce(words, symbols) < 3",
        "words::BIGINT < 3",
        "words < symbols OR 3 < 4",
        "words = 3 OR words IN (3, 4) OR words IS NULL",
        "text LIKE '% words > 3 %' /* words > 3 */",
        "len(list_filter(toxic, lambda s: s.score > 3)) > 4",
        "toxic[1].score > 3",
        "words > NULL",
        "CASE WHEN words IS NULL THEN TRUE ELSE words > 'x'::INTEGER END",
    ],
)
def test_a_rule_that_compares_something_else_has_no_threshold(where: str) -> None:
    with open_sandbox() as connection:
        assert list(column_comparisons(connection, checked(where))) == []


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ('WORDS > 3 AND "symbols" < 4', {"words", "symbols"}),
        ("text = 'words' -- symbols", {"text"}),
        ("toxic[1].score > 3", {"toxic"}),
        ("list_max(list_transform(toxic, lambda s: s.score)) > words", {"toxic", "s", "words"}),
    ],
)  # fmt: skip
def test_the_names_of_a_rule_are_those_of_its_tree(where: str, names: set[str]) -> None:
    assert named_columns(checked(where)) == names


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("words > 1" + " AND (symbols > 1" * 400 + ")" * 400, 401),
        ("words > 1" + "::INTEGER" * 400, 1),
        ("NOT " * 200 + "words > 1", 1),
    ],
    ids=["and", "casts", "not"],
)
def test_deep_rules_that_are_accepted_are_read(where: str, count: int) -> None:
    with open_sandbox() as connection:
        assert [order for _, order, _ in column_comparisons(connection, checked(where))] == [">"] * count
