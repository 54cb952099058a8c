"""Filters of Dolma's mixer as SQL: the same rows, and by name what has no SQL."""

from random import Random
from typing import Any

import pyarrow as pa
import pytest

from gristmill.dolma.formats.path_parser import parse_path
from gristmill.dolma.recipes.mapped_names import LakeColumns, MappedNames
from gristmill.dolma.recipes.path_sql import json_path_to_sql, rule_name
from gristmill.errors import RecipeError
from gristmill.recipes.rules import Rule
from gristmill.recipes.selection import Selection
from gristmill.stages.mixing.rule_engine import typed_array
from gristmill.stages.mixing.rule_verdicts import RuleVerdicts

PLACES = [f"@.{label}{index}" for label in "ab" for index in ("", "[0]", "[0][2]", "[1][2]", "[0][0]")]

PRESENT = "s__w IS NOT NULL OR s__v IS NOT NULL"


def columns(attributes: tuple[str, ...] = ("s",)) -> LakeColumns:
    return LakeColumns(MappedNames({}, "mix"), attributes)


@pytest.mark.parametrize(
    ("path", "sql"),
    [
        ("$.attributes[?(@.w && @.w[0] && @.w[0][2] < 50)]", "s__w[1].score < 50"),
        ("$@.attributes[?(@.w && @.w[0] && @.w[0][2] >= 1.0)]", "s__w[1].score >= 1.0"),
        ("$.attributes[?(@.w && @.v[0][2] > 5)]", "s__w IS NOT NULL AND s__v[1].score > 5"),
        ("$.attributes[?(@.w[0][2] < 5 || !(@.v[2]))]", "s__w[1].score < 5 OR NOT coalesce(len(s__v) > 2, false)"),
        (
            "$.attributes[?((@.w || @.v) && @.w[0][1] > 7)]",
            "(s__w IS NOT NULL OR s__v IS NOT NULL) AND s__w[1].end > 7",
        ),
        ("$.attributes.w", "s__w IS NOT NULL"),
        ("$.attributes.w[?(@[2] > 0.5)]", "len(list_filter(s__w, lambda s: s.score > 0.5)) > 0"),
        ("$.attributes[?(@.w[0][2] != 1)]", "NOT coalesce(s__w[1].score = 1, false)"),
        ("$.metadata[?(@.lang == 'en')]", "metadata_lang = 'en'"),
        ("$[?(@.source in ['x','y'])]", "source IN ('x', 'y')"),
        ("$.id", "id IS NOT NULL"),
        ("$.text", "id IS NOT NULL"),
        ("$[?(@.id && @.source == 'x')]", "id IS NOT NULL AND source = 'x'"),
        ("$.metadata[?(@.word ~= '^m.*l$')]", "regexp_matches(metadata_word, '^m.*l$')"),
    ],
)
def test_a_filter_is_a_condition_over_columns(path: str, sql: str) -> None:
    assert json_path_to_sql(path, columns()) == sql


def test_a_key_of_several_sets_is_that_of_the_last() -> None:
    assert json_path_to_sql("$.attributes.w[0]", columns(("s", "t"))) == "len(coalesce(t__w, s__w)) > 0"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("$.attributes", "whether a document has a field"),
        ("$.created", "whether a document has a field"),
        ("$.metadata.lang", "whether a document has a field"),
        ("$..deep", "a step that is no key and no index"),
        ("$.attributes[?(@.w[0][3] > 1)]", "a span has three values, and none at \\[3\\]"),
        ("$.attributes[?(@.w > 1)]", "a span is compared with a number"),
        ("$.attributes[?(@.w[0][2] > 'x')]", "a span is compared with a number"),
        ("$.attributes[?(@.w[0][2] > @.v[0][2])]", "the right side of > is a path"),
        ("$.attributes[?(5 > @.w[0][2])]", "a written value is on the left"),
        ("$.attributes.w[?(@[0] && @[1])]", "one comparison, such as"),
        ("$.attributes.w[?(@[2] > 1)][0]", "a filter comes before other steps"),
        ("$.metadata[?(@.n == null)]", "no column has values of the type of None"),
        ("$.metadata[?(@.n > 1 && @.n == 'x')]", "two types, DOUBLE and VARCHAR"),
        ("$.metadata[?(@.n size 1)]", "the sign size has no counterpart"),
        ("$.attributes[?(@.w < 1", "a filter ends with"),
    ],
)
def test_what_has_no_sql_is_refused_by_name(path: str, said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        json_path_to_sql(path, columns())


def test_rules_have_names_that_people_understand() -> None:
    assert rule_name("$.attributes[?(@.g__words && @.g__words[0][2] < 0.5)]") == "words-below-0-5"
    assert rule_name("$.metadata[?(@.lang == 'en')]") == "lang-is-en"
    assert rule_name("$.attributes[?(@.a || @.b)]") is None


def condition(draw: Random, depth: int = 2) -> str:
    if depth and draw.random() < 0.5:
        inner = condition(draw, depth - 1), condition(draw, depth - 1)
        return f"{draw.choice(['', '!'])}({inner[0]} {draw.choice(['&&', '||'])} {inner[1]})"
    if draw.random() < 0.15:
        return f"$.metadata.n {draw.choice(['<', '>=', '==', '!='])} {draw.choice([1.0, 2.5, 3.0])}"
    place = draw.choice(PLACES)
    sign = draw.choice(["<", ">", "<=", ">=", "==", "!="]) if place.count("[") == 2 else ""
    return f"{place} {sign} {float(draw.randrange(6)) / 2}" if sign else place


def test_drawn_filters_match_the_rows_that_the_mixer_matches() -> None:
    """Scores are floats in both, because the mixer tells the number 1 from 1.0, and a lake does not."""
    draw = Random(5)
    given = columns()
    paths = [f"$.attributes[?({condition(draw)})]" for _ in range(30)]
    paths = [path.replace("[0][0] ", "[0][2] ") for path in paths] + ["$.attributes.a[?(@[2] > 0.5)]"]
    rules = [Rule(f"r-{number}", json_path_to_sql(path, given), "drawn") for number, path in enumerate(paths)]
    rows: list[dict[str, Any]] = []
    for _ in range(80):
        spans = {label: [(0, 1, draw.randrange(6) / 2) for _ in range(draw.randrange(3))] for label in "ab"}
        attributes = {label: spans[label] for label in "ab" if draw.random() < 0.7}
        rows.append({"attributes": attributes, "metadata": {"n": draw.choice([1.0, 2.5, 3.0])}})
    values = {
        column.name: [
            row["attributes"].get(column.path[3:]) if column.type == "spans" else row["metadata"]["n"] for row in rows
        ]
        for column in given.columns
    }
    table = pa.table([typed_array(c, values[c.name]) for c in given.columns], names=[c.name for c in given.columns])
    found = RuleVerdicts(Selection(columns=given.columns, exclude=tuple(rules))).dropped_rows(table)
    for path, rule, matched in zip(paths, rules, found.tolist(), strict=True):
        for row, drops in zip(rows, matched, strict=True):
            plain = {**row, "attributes": {label: list(map(list, each)) for label, each in row["attributes"].items()}}
            assert parse_path(path).matches(plain) == drops, (path, rule.where, row)
    assert 0.2 < found.mean() < 0.8
