import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.recipes.rules import Rule, field
from gristmill.recipes.selection import Selection
from gristmill.stages.mixing import rule_engine
from gristmill.stages.mixing.rule_engine import RuleEngine, RuleFailed
from gristmill.stages.mixing.rule_verdicts import RuleVerdicts

COLUMNS = (field("metadata.n", "BIGINT"), field("metadata.word"))


def selection(include: list[str], exclude: list[str]) -> Selection:
    return Selection(
        columns=COLUMNS,
        include=tuple(Rule(f"in-{number}", where, "a test") for number, where in enumerate(include)),
        exclude=tuple(Rule(f"ex-{number}", where, "a test") for number, where in enumerate(exclude)),
    )


def rows(numbers: list[int | None], words: list[str | None]) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64()), "word": pa.array(words, pa.string())})


def test_each_rule_answers_for_each_row_and_null_is_not_true() -> None:
    found = RuleVerdicts(selection(["n > 1"], ["n > 1", "word = 'a'"])).dropped_rows(
        rows([0, 2, None], ["a", None, "a"])
    )
    assert found.tolist() == [[True, False, True], [False, True, False], [True, False, True]]


@pytest.mark.slow
def test_the_first_rule_that_drops_a_row_is_the_decision_of_the_engine() -> None:
    numbers = st.lists(st.none() | st.integers(-3, 3), min_size=1, max_size=9)
    chosen = selection([f"n != {n}" for n in range(3)], [f"n = {n}" for n in range(-70, 0)])
    verdicts, engine = RuleVerdicts(chosen), RuleEngine(chosen.columns, chosen.include, chosen.exclude)

    @settings(max_examples=20)
    @given(numbers)
    def check(drawn: list[int | None]) -> None:
        table = rows(drawn, [None] * len(drawn))
        found = verdicts.dropped_rows(table)
        assert found.shape == (73, len(drawn))
        first = np.where(found.any(axis=0), found.argmax(axis=0) + 1, 0)
        assert first.tolist() == engine.decide_table_rows(table).tolist()

    check()


def test_a_rule_without_a_result_fails_unless_an_earlier_rule_drops_the_row() -> None:
    verdicts = RuleVerdicts(selection([], ["n > 0", "word::BIGINT > 5", "n = 2"]))
    found = verdicts.dropped_rows(rows([0, 2, 1, 0], ["6", "x", "7", None]))
    assert found.tolist() == [[False, True, True, False], [True, True, True, False], [False, True, False, False]]
    with pytest.raises(RuleFailed, match="rule 'ex-1'"):
        verdicts.dropped_rows(rows([2, 0], ["x", "x"]))


def test_slices_and_no_rows_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = RuleVerdicts(selection(["n > 2"], []))
    monkeypatch.setattr(rule_engine, "_SLICE", 1)
    assert verdicts.dropped_rows(rows([1, 2, 3], ["a"] * 3)).tolist() == [[True, True, False]]
    assert verdicts.dropped_rows(rows([], [])).shape == (1, 0)
