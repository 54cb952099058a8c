import pytest

from gristmill.stages.chat_templates.budget import DEEPEST, LONGEST, STEPS, Budget, Unrendered


def test_steps_characters_and_elements_are_counted() -> None:
    budget = Budget()
    for value, steps in (("a" * 1023, 0), ("a" * 1024, 1), ([0] * 32, 2), ({1: 2}, 0), (None, 0), (7, 0)):
        budget.reset_for_rendering()
        budget.value(value)
        assert STEPS - budget.left == steps
    budget.reset_for_rendering()
    budget.count_value([["a" * 2048, {"k": [1, 2]}], ()])
    assert STEPS - budget.left == 2 + 2 + 2 + 1 + 2
    with pytest.raises(Unrendered, match="not bounded: rendering takes more than 2,000,000 steps"):
        budget.count_steps(budget.left + 1)


def test_what_is_too_long_or_too_deep_is_told() -> None:
    budget = Budget()
    budget.characters(LONGEST)
    with pytest.raises(Unrendered, match="a string has more than"):
        budget.characters(LONGEST + 1)
    deep: list[object] = []
    for _ in range(DEEPEST):
        deep = [deep]
    budget.count_value(deep)
    with pytest.raises(Unrendered, match="nested more than"):
        budget.count_value([deep])
    for _ in range(DEEPEST):
        budget.begin_call()
    with pytest.raises(Unrendered, match="calls are nested"):
        budget.begin_call()
