"""Filters in jq as SQL: the rows for which jq gives true, and by name what has no SQL."""

import json
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from gristmill.dolma.mixing.jq_program import JqProgram
from gristmill.dolma.recipes.jq_sql import jq_filter_to_sql
from gristmill.dolma.recipes.mapped_names import LakeColumns, MappedNames
from gristmill.errors import RecipeError
from gristmill.recipes.rules import Rule
from gristmill.recipes.selection import Selection
from gristmill.stages.mixing.rule_engine import typed_array
from gristmill.stages.mixing.rule_verdicts import RuleVerdicts

FILTERS = """\
(.attributes.a | length == 0) or ((.attributes.a | map(.[2] * (.[1] - .[0])) | add) / (.text | length) <= 0.3)
(.attributes.a | length != 0) and ((.attributes.a | map(.[2] * (.[1] - .[0])) | add) / (.text | length) > 0.3)
(.attributes.a != null) and (.attributes.a[0][2] > 0.5)
(.attributes.a == null) or (.attributes.a[0][-1] < 1)
.attributes.a[0][-1] <= 0.5
.attributes.b[1][2] > 0.5
.attributes.a > 1
.attributes.a < 1
(.attributes.a != 1) and (.attributes.a == 1 or .source == "x")
(.attributes.b | length) > 0
.attributes.b
.attributes["a"] == []
(.attributes.a // []) | map(.[2]) | max > 0.5
(.attributes.a // []) | map(.[1]) | min < 3
((.attributes.a // []) | map(select(.[2] > 0.5)) | length) >= 1
((.attributes.a // []) | map(.[2]) | add) < 1
.attributes.a?[0]?[2]? // 7 | . > 5
(.attributes.a[0][2] // 0) + (.attributes.b[0][2] // 0) > 1.5
.attributes.a and .attributes.b | not
.metadata.n > 2
.metadata.n <= 2 and .metadata.lang == "en"
.metadata.lang != "en"
.source == "x" or 2 < .metadata.n
((.attributes.a // [] | map(.[2]) | add) / 2 > 0.2) or .metadata.n > 1
((.attributes.a // [] | map(.[2]) | add) / 2 > 0.2) and .metadata.n > 1
(.attributes.a[0][1] - .attributes.a[0][0]) * 2 >= 4""".splitlines()


def columns() -> LakeColumns:
    return LakeColumns(MappedNames({}, "mix"), ("s",))


def rows(draw: Random, count: int) -> list[dict[str, Any]]:
    found = []
    for _ in range(count):
        text = "abcdefgh"[: draw.randint(1, 8)]
        spans: dict[str, Any] = {}
        for label in "ab":
            starts = [draw.randrange(len(text)) for _ in range(draw.randrange(3))]
            ends = [draw.randint(start, len(text)) for start in starts]
            spans[label] = [[*pair, draw.choice([0.0, 0.25, 0.5, 1.0])] for pair in zip(starts, ends, strict=True)]
        metadata: dict[str, Any] = {"n": draw.choice([1.0, 2.0, 3.0]), "lang": draw.choice(["en", "fr"])}
        kept = {name: value for name, value in metadata.items() if draw.random() < 0.8}
        attributes = {label: value for label, value in spans.items() if draw.random() < 0.8}
        found.append({"text": text, "source": draw.choice("xy"), "attributes": attributes, "metadata": kept})
    return found


def value(row: dict[str, Any], path: str) -> Any:
    if path.startswith("s__"):
        return row["attributes"].get(path[3:])
    return row["metadata"].get(path[9:]) if path.startswith("metadata.") else row[path]


def true_by_jq(program: JqProgram, row: dict[str, Any]) -> bool:
    """Where jq stops with an error, the condition is not true."""
    try:
        return next(program.matches([json.dumps(row)]))
    except ValueError:
        return False


def dropped(texts: list[str], drawn: list[dict[str, Any]]) -> tuple[list[Rule], list[list[bool]]]:
    """The rule of each filter, and of which rows it is true."""
    given = columns()
    rules = [Rule(f"r-{number}", jq_filter_to_sql(text, given), "of a test") for number, text in enumerate(texts)]
    arrays = [typed_array(column, [value(row, column.path) for row in drawn]) for column in given.columns]
    table = pa.table(arrays, names=[column.name for column in given.columns])
    return rules, RuleVerdicts(Selection(columns=given.columns, exclude=tuple(rules))).dropped_rows(table).tolist()


@pytest.mark.slow
def test_filters_are_true_of_the_rows_of_which_jq_says_so() -> None:
    drawn = rows(Random(7), 120)
    for text, rule, matched in zip(FILTERS, *dropped(FILTERS, drawn), strict=True):
        program = JqProgram(text)
        assert 0 < sum(matched) < len(drawn), text
        for row, drops in zip(drawn, matched, strict=True):
            assert true_by_jq(program, row) == drops, (text, rule.where, row)


MEASURES = [
    "(.text | length)",
    "(.attributes.a | length)",
    "(.attributes.a | map(.[1] - .[0]) | add)",
    "(.attributes.a[0][1] // FACTOR)",
    "(.attributes.a | map(.[1] * FACTOR) | add)",
    "(.attributes.a | map(.[2] * FACTOR) | max)",
]
"""What jq computes of a row with one span of at most 99 code points."""


def at_the_border(draw: Random) -> str:
    """A filter with a decimal number, whose two sides are about equal for some of the rows."""
    factor, whole = draw.randrange(1, 200) / 100, draw.randrange(1, 100)
    measure = draw.choice(MEASURES).replace("FACTOR", str(factor))
    left, right = draw.choice(
        [
            (f"{factor} * {measure}", str(round(factor * whole, 4))),
            (f"{measure} - {factor}", str(round(whole - factor, 4))),
            (f"(.text | length) + {factor}", str(round(whole + factor, 4))),
            (f"{measure} * {factor} / 2", str(round(whole * factor / 2, 4))),
            (f"{measure} * 0.5 * {factor}", str(round(whole * factor / 2, 4))),
            (measure, f"{factor} * (.text | length)"),
            (measure, f"{factor} * {whole}"),
        ]
    )
    return f"{left} {draw.choice(['<', '<=', '>', '>=', '==', '!='])} {right}"


def test_decimals_at_the_border_of_a_bound_are_those_of_jq() -> None:
    """jq computes in binary: 0.29 * 100 is 28.999999999999996."""
    draw = Random(3)
    texts = ["(.attributes.a | map(.[1] - .[0]) | add) <= 0.29 * (.text | length)", "0.1 + 0.2 == 0.3"]
    texts += [at_the_border(draw) for _ in range(40)]
    drawn = [
        {"text": "x" * length, "attributes": {"a": [[0, end, 1.0]]}}
        for length, end in [(100, 29), (100, 7), *((length, length) for length in range(1, 100))]
    ]
    for text, rule, matched in zip(texts, *dropped(texts, drawn), strict=True):
        found = list(JqProgram(text).matches(json.dumps(row) for row in drawn))
        assert found == matched, (text, rule.where)


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("0.29 * (.text | length) > 1", "(0.29e0 * length(text)) > 1"),
        ("(.text | length) - 0.1 < 0.3", "(length(text) - 0.1e0) < 0.3"),
        ("(.text | length) > 0.29", "length(text) > 0.29"),
        ("0.5 * (.text | length) > 0.3", "(0.5 * length(text)) > 0.3"),
        ("(.text | length) / 0.3 > 1", "(length(text) / nullif(0.3, 0)) > 1"),
        ("(.text | length) / 3 * 0.3 > 1", "((length(text) / nullif(3, 0)) * 0.3) > 1"),
        ("(.text | length) * 1e-7 > 1", "(length(text) * 1e-07) > 1"),
        (".attributes.a | map(.[2] * 0.3) | max > 1", "list_max(list_transform(s__a, lambda s: (s.score * 0.3))) > 1"),
    ],
)
def test_only_a_decimal_that_is_computed_with_an_integer_is_written_otherwise(text: str, sql: str) -> None:
    """The other conditions stay as they were, with the digests of their recipes: their rows are the same."""
    assert jq_filter_to_sql(text, columns()).removeprefix("coalesce(").partition(", CASE")[0] == sql


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (".attributes.a[0][2]", "it gives no truth; compare its value"),
        (".metadata.n", "it gives no truth"),
        (".n > 1", "the documents of a lake have no field 'n' beside metadata"),
        (".attributes.a[] > 1", "an index is a whole number"),
        ('.text | test("mill")', "the function test has no counterpart"),
        (".attributes.a[0][2] > .attributes.b[0][2]", "the right side of > may be missing"),
        (".metadata.n + 1 > 2", "computes with something that is no number"),
        (".metadata.n != null", "null is compared by == and != with spans"),
        ('.metadata.lang < "en"', "< orders texts otherwise than SQL"),
        (".attributes.a | map(.[2] / 2)", "map takes sums"),
        (".attributes.a[0][2] + 1 > 1", "has no counterpart here for values that may be missing"),
        ("(.attributes.a", "\\) is missing at the end"),
        (".attributes.a >", "it ends too early"),
        (".text | {a: 1}", "'{a: 1}' is not taken here"),
        (".a; .b", "';' is not taken here"),
        ("(" * 50, "more than 40 levels"),
    ],
)
def test_what_has_no_sql_is_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        jq_filter_to_sql(text, columns())
