"""Rules over columns: the same answer as the path itself, on drawn conditions and drawn attributes."""

from typing import Any

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.dolma.formats.path_parser import parse_path
from gristmill.dolma.mixing.column_rules import ABSENT, AttributeColumns, column_rule, label_of_path

PLACES = st.builds("@.{}{}".format, st.sampled_from(["a", "b"]), st.sampled_from(["", "[0]", "[0][2]", "[1][2]"]))
ATOMS = st.one_of(
    PLACES,
    st.builds(
        "{} {} {}".format, PLACES, st.sampled_from(["<", ">", "<=", ">="]), st.sampled_from(["1", "1.0", "-2", "0.5"])
    ),
)
CONDITIONS = st.recursive(
    ATOMS, lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["&&", "||"]), inner), max_leaves=5
)
NUMBERS = st.sampled_from([0, 1, 1.0, 2.5, -2, True, "1", None])
SPANS = st.lists(st.lists(NUMBERS, max_size=4), max_size=3)
VALUES = st.one_of(SPANS, NUMBERS, st.just({"0": 1}))
ATTRIBUTES = st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES)


@pytest.mark.slow
@settings(max_examples=draws(150))
@given(CONDITIONS, st.lists(ATTRIBUTES, min_size=1, max_size=6))
def test_a_column_rule_gives_what_the_path_gives(condition: str, rows: list[dict[str, Any]]) -> None:
    path = parse_path(f"$.attributes[?({condition})]")
    rule = column_rule(path)
    assert rule is not None
    columns = AttributeColumns({label: [row.get(label, ABSENT) for row in rows] for label in rule.labels})
    assert list(rule.matches(columns)) == [path.matches({"attributes": row}) for row in rows]


@pytest.mark.parametrize(
    "text",
    [
        "$.attributes[?(!@.a)]",
        "$.attributes[?(@.a == 'x')]",
        "$.metadata[?(@.a)]",
        "$.attributes.a",
        "$.attributes[?(@.a[*] > 1)]",
        "$.attributes[?($.text)]",
    ],
)
def test_other_paths_read_whole_rows(text: str) -> None:
    assert column_rule(parse_path(text)) is None


def test_the_label_of_a_path() -> None:
    assert label_of_path(parse_path("$.attributes.toxic")) == "toxic"
    assert label_of_path(parse_path("$.attributes.toxic[0]")) is None
