import operator
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import DataError, RecipeError
from gristmill.lake.rows.document import Span
from gristmill.recipes.rules import Column, Rule, field, score, spans
from gristmill.recipes.sql.process import LIMITS
from gristmill.recipes.sql.worker import ProcessLimits
from gristmill.stages.mixing.rule_engine import RuleEngine, RuleFailed, RulesStopped, ValueRefused, typed_array

WORDS = score("length-1__words", "words")
LICENSE = field("metadata.license")
COUNT = field("metadata.n", "BIGINT")
TAGS = field("metadata.tags", "VARCHAR[]")
TOXIC = spans("toxicity-1__sentence", "toxic")

Batch = dict[str, list[Any]]


def rule(name: str, where: str) -> Rule:
    return Rule(name, where, "a test")


def decisions(column: Column, where: str, values: list[Any], *, include: bool = False) -> list[int]:
    rules = [rule("only", where)]
    engine = RuleEngine([column], rules if include else [], [] if include else rules)
    return list(map(int, engine.decide_rows({column.name: values})))


def test_the_first_rule_that_drops_a_row_is_its_reason() -> None:
    engine = RuleEngine(
        [WORDS, LICENSE],
        [rule("licensed", "license IN ('cc0', 'mit')"), rule("long", "words >= 50")],
        [rule("huge", "words > 1000"), rule("not-mit", "license <> 'mit'")],
    )
    assert engine.reasons == ("licensed", "long", "huge", "not-mit")
    found = engine.decide_rows(
        {
            "words": [50.0, 49.0, 49.0, 1001.0, 1001.0, 50.0],
            "license": ["mit", "mit", "none", "mit", "cc0", "cc0"],
        }
    )
    assert found.tolist() == [0, 2, 1, 3, 3, 4]
    assert found.dtype.name == "int16"


def test_null_is_not_true_so_it_fails_an_include_rule_and_passes_an_exclude_rule() -> None:
    assert decisions(WORDS, "words > 5", [6.0, 5.0, None], include=True) == [0, 1, 1]
    assert decisions(WORDS, "words > 5", [6.0, 5.0, None]) == [1, 0, 0]
    assert decisions(LICENSE, "license IS NULL", ["", None]) == [0, 1]
    assert decisions(WORDS, "words > 5", [None, None], include=True) == [1, 1]


def test_no_rows_and_no_rules_are_fine() -> None:
    assert decisions(WORDS, "words > 5", []) == []
    assert RuleEngine([WORDS], [], []).decide_rows({"words": [1.0, None]}).tolist() == [0, 0]
    with pytest.raises(RecipeError, match="without columns"):
        RuleEngine([], [], [])


def test_wrong_rules_make_no_engine() -> None:
    with pytest.raises(RecipeError, match="rule 'chance': the function 'random'"):
        RuleEngine([WORDS], [], [rule("chance", "random() < 0.5")])


def test_lists_and_spans_can_be_asked() -> None:
    assert decisions(TAGS, "'b' IN tags", [["a", "b"], ["a"], [], None, ["b", None], ("b",)]) == [1, 0, 0, 0, 1, 1]
    rows = [[Span(0, 4, 0.25), Span(4, 9, 0.75)], [[0, 2, 1]], [], None]
    assert decisions(TOXIC, "list_sum(list_transform(toxic, lambda s: s.score)) = 1", rows) == [1, 1, 0, 0]
    assert decisions(TOXIC, 'toxic[-1]."end" = 9 OR toxic[1].start = 7', rows) == [1, 0, 0, 0]
    assert decisions(TOXIC, "toxic IS NULL", rows) == [0, 0, 0, 1]
    assert decisions(TOXIC, "len(toxic) = 0", rows) == [0, 0, 1, 0]


def test_text_is_counted_in_code_points_and_keeps_its_nul() -> None:
    text = field("text")
    values = ["a\0b", "\0", "", "né😀", "ne\u0301"]
    assert decisions(text, "length(text) = 3", values) == [1, 0, 0, 1, 1]
    assert decisions(text, "contains(text, chr(0))", values) == [1, 1, 0, 0, 0]
    assert decisions(text, "text = 'né😀'", values) == [0, 0, 0, 1, 0]


def test_a_column_may_have_the_name_of_a_keyword_or_of_the_clock() -> None:
    columns = [
        field("metadata.order"),
        field("metadata.d", name="current_date"),
        field("metadata.rowid", "BIGINT"),
    ]
    rules = [rule("a", "\"ORDER\" = 'ö'"), rule("b", "current_date = 'x'"), rule("c", "rowid = 7")]
    rows: Batch = {"order": ["ö", "", ""], "current_date": ["x", "x", None], "rowid": [7, 7, 7]}
    assert RuleEngine(columns, [], rules).decide_rows(rows).tolist() == [1, 2, 3]


@pytest.mark.slow
def test_a_batch_of_long_texts_is_taken_in_slices_and_its_rows_keep_their_numbers() -> None:
    values = ["a" * 1_000_000] * 50
    values[40] = "b" * 1_000_000
    assert decisions(field("text"), "upper(text) LIKE 'B%'", values) == [0] * 40 + [1] + [0] * 9
    values[41] = "c"
    with pytest.raises(RuleFailed, match="row 41 of the batch"):
        decisions(field("text"), "CASE WHEN length(text) = 1 THEN text::INT > 0 END", values)


def test_a_rule_without_a_result_names_row_and_rule() -> None:
    values = ["1"] * 1000
    values[701], values[900] = "seven hundred", "nine hundred"
    engine = RuleEngine([LICENSE], [rule("any", "license <> ''")], [rule("number", "license::BIGINT > 5")])
    with pytest.raises(RuleFailed, match=r"row 701 of the batch: rule 'number': .*'seven hundred'") as failed:
        engine.decide_rows({"license": values})
    assert (failed.value.row, failed.value.rule) == (701, "number")
    assert isinstance(failed.value, DataError)
    assert engine.decide_rows({"license": ["6", "5"]}).tolist() == [2, 0]  # the engine is as good as new


@pytest.mark.slow
def test_a_rule_that_takes_too_long_is_named_with_its_rows_and_decides_about_none() -> None:
    text = field("text")
    rules = [rule("cheap", "length(text) > 0"), rule("dear", "levenshtein(text, reverse(text)) >= 0")]
    engine = RuleEngine([text], rules, [], ProcessLimits(0.6, LIMITS.memory))
    with pytest.raises(RulesStopped, match=r"rows 0 to 2 .*rule 'dear' takes more than 0\.6 s of CPU time"):
        engine.decide_rows({"text": ["a", "ab" * 50_000, "b"]})
    assert engine.decide_rows({"text": ["a", "ab", "b"]}).tolist() == [0, 0, 0]


@pytest.mark.slow
def test_a_rule_that_wants_too_much_memory_is_named_with_its_row() -> None:
    text = field("text")
    rules = [rule("cheap", "length(text) > 0"), rule("large", "length(replace(text, 'a', text)) > 0")]
    engine = RuleEngine([text], rules, [], ProcessLimits(LIMITS.seconds, 300 << 20))
    with pytest.raises(
        RuleFailed, match=r"row 1 of the batch: rule 'large': Out of Memory.*its limit is 300 MiB"
    ) as no:
        engine.decide_rows({"text": ["a", "ab" * 50_000, "b"]})
    assert (no.value.row, no.value.rule) == (1, "large")
    assert engine.decide_rows({"text": ["a", "ab", "b"]}).tolist() == [0, 0, 0]


def test_overflow_is_an_error_and_not_another_number() -> None:
    with pytest.raises(RuleFailed, match=r"row 1 .* rule 'only': Out of Range"):
        decisions(COUNT, "n + 1 > 0", [1, 2**63 - 1])


def test_a_rule_does_not_see_the_rows_that_an_earlier_one_has_dropped() -> None:
    many = ", ".join(map(str, range(100)))  # DuckDB's optimizer would make a join of it, ahead of both rules
    engine = RuleEngine(
        [LICENSE],
        [rule("digits", "regexp_full_match(license, '[0-9]+')")],
        [rule("small", f"license::INT IN ({many})")],
    )
    assert engine.decide_rows({"license": ["7", "abc", "100"]}).tolist() == [2, 1, 0]


def test_and_is_no_guard_but_case_and_try_cast_are() -> None:
    with pytest.raises(RuleFailed, match="row 1 "):
        decisions(LICENSE, "license <> 'x' AND license::INT > 1", ["2", "x"])
    assert decisions(LICENSE, "CASE WHEN license <> 'x' THEN license::INT > 1 END", ["2", "x"]) == [1, 0]
    assert decisions(LICENSE, "TRY_CAST(license AS INT) > 1", ["2", "x"]) == [1, 0]


def test_a_time_with_an_offset_is_compared_in_utc() -> None:
    rows = ["2020-01-01T00:30:00+01:00", "2019-12-31T23:30:00Z", "2020-01-01 00:30:00", None]
    assert decisions(field("created"), "created::TIMESTAMPTZ < TIMESTAMPTZ '2020-01-01'", rows) == [1, 1, 0, 0]
    assert decisions(field("created"), "year(created::TIMESTAMPTZ) = 2019", rows) == [1, 1, 0, 0]
    assert decisions(field("created"), "created::TIMESTAMP < TIMESTAMP '2020-01-01'", rows) == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        (LICENSE, "a", 1),
        (LICENSE, "a", b"a"),
        (LICENSE, "a", "\ud800"),
        (COUNT, 1, True),
        (COUNT, 1, 1.0),
        (COUNT, 1, "1"),
        (COUNT, -(2**63), 2**63),
        pytest.param(COUNT, 1, 10**5000, id="more digits than Python prints"),
        (WORDS, 1, True),
        (WORDS, 1.5, "1"),
        (WORDS, 2**53, 2**53 + 1),
        (WORDS, 1, 10**400),
        (WORDS, 1, float("nan")),
        (WORDS, 1, float("inf")),
        (field("metadata.ok", "BOOLEAN"), True, 1),
        (TAGS, ["a", None], "a"),
        (TAGS, [], ["a", 1]),
        (TAGS, [], {"a": 1}),
        (TOXIC, [[0, 1, 2]], [[0, 1]]),
        (TOXIC, [], [[0, 1, None]]),
        (TOXIC, [], [[0.0, 1, 0.5]]),
        (TOXIC, [], [[0, 1, True]]),
        (TOXIC, [], [None]),
        (TOXIC, [], 0.5),
    ],
)
def test_a_value_of_another_type_is_refused_by_row_and_column(column: Column, good: Any, bad: Any) -> None:
    engine = RuleEngine([column], [], [])
    assert engine.decide_rows({column.name: [good, None, good]}).tolist() == [0, 0, 0]
    with pytest.raises(ValueRefused) as refused:
        engine.decide_rows({column.name: [good, None, bad, bad, good]})
    assert (refused.value.row, refused.value.column) == (2, column.name)
    assert isinstance(refused.value, DataError)


def test_values_survive_the_way_to_arrow() -> None:
    assert typed_array(COUNT, [2**63 - 1, None, -(2**63)]).to_pylist() == [2**63 - 1, None, -(2**63)]
    assert typed_array(LICENSE, ["\0a\0", "", None]).to_pylist() == ["\0a\0", "", None]
    assert typed_array(WORDS, [0.1, 1, None]).to_pylist() == [0.1, 1.0, None]
    assert typed_array(TAGS, [None, ["a", None], [], None]).to_pylist() == [None, ["a", None], [], None]
    found = typed_array(TOXIC, [None, [(1, 2, 3)], [], None]).to_pylist()
    assert found == [None, [{"start": 1, "end": 2, "score": 3.0}], [], None]


def test_a_batch_must_have_the_declared_columns_equally_long() -> None:
    engine = RuleEngine([WORDS, COUNT], [], [])
    with pytest.raises(DataError, match="declare"):
        engine.decide_rows({"words": [1.0]})
    with pytest.raises(DataError, match="declare"):
        engine.decide_rows({"words": [1.0], "n": [1], "x": [1]})
    with pytest.raises(DataError, match="not equally long"):
        engine.decide_rows({"words": [1.0], "n": [1, 2]})


def test_the_errors_travel_between_processes() -> None:
    for error in (RuleFailed(3, "short", "why"), ValueRefused(4, "words", "why"), RulesStopped((3, 4), "long", "why")):
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), vars(again), type(again)) == (str(error), vars(error), type(error))


OPERATORS = {"<": operator.lt, "<=": operator.le, "=": operator.eq, "<>": operator.ne, ">": operator.gt}
COMPARISONS = st.tuples(
    st.sampled_from(["words", "n", "license"]), st.sampled_from(sorted(OPERATORS)), st.integers(0, 3)
)
ROWS = st.lists(
    st.tuples(
        st.none() | st.sampled_from([0, 0.5, 1, 2.5, 3]),
        st.none() | st.integers(0, 3),
        st.none() | st.sampled_from("0123"),
    ),
    max_size=12,
)


def as_sql(comparison: tuple[str, str, int]) -> str:
    column, sign, value = comparison
    return f"{column} {sign} '{value}'" if column == "license" else f"{column} {sign} {value}"


def in_python(comparison: tuple[str, str, int], row: tuple[Any, Any, Any]) -> bool:
    column, sign, value = comparison
    found = dict(zip(("words", "n", "license"), row, strict=True))[column]
    return found is not None and bool(OPERATORS[sign](found, str(value) if column == "license" else value))


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(COMPARISONS, max_size=3), st.lists(COMPARISONS, max_size=3), ROWS)
def test_decisions_are_what_plain_python_says(
    include: list[tuple[str, str, int]],
    exclude: list[tuple[str, str, int]],
    rows: list[tuple[Any, Any, Any]],
) -> None:
    names = [f"rule-{i}" for i in range(6)]
    included = [rule(name, as_sql(c)) for name, c in zip(names, include, strict=False)]
    excluded = [rule(name, as_sql(c)) for name, c in zip(names[3:], exclude, strict=False)]
    expected = []
    for row in rows:
        drops = [not in_python(c, row) for c in include] + [in_python(c, row) for c in exclude]
        expected.append(drops.index(True) + 1 if any(drops) else 0)
    columns = dict(zip(("words", "n", "license"), map(list, zip(*rows, strict=True)), strict=True)) if rows else {}
    batch = columns or {"words": [], "n": [], "license": []}
    assert RuleEngine([WORDS, COUNT, LICENSE], included, excluded).decide_rows(batch).tolist() == expected


def test_the_same_batch_has_the_same_decisions_however_it_is_cut() -> None:
    rows: Batch = {
        "words": [i * 37 % 1009 / 7 for i in range(10_000)],
        "license": [f"l{i % 7}" for i in range(10_000)],
    }
    rules = [rule("a", "words > 10"), rule("b", "license <> 'l3'")], [rule("c", "round(words) % 5 = 0")]
    first = RuleEngine([WORDS, LICENSE], *rules)
    whole = first.decide_rows(rows)
    assert whole.tobytes() == first.decide_rows(rows).tobytes()
    again = RuleEngine([WORDS, LICENSE], *rules)
    parts = [
        again.decide_rows({k: v[at : at + 999] for k, v in rows.items()}).tobytes() for at in range(0, 10_000, 999)
    ]
    assert b"".join(parts) == whole.tobytes()
    assert set(whole.tolist()) == {0, 1, 2, 3}
