from dataclasses import replace

import pytest
from streams import rule, stream

from gristmill.errors import RecipeError
from gristmill.previews.changed_selection import change_selections
from gristmill.recipes.rules import field

NUMBER = (field("metadata.number", "BIGINT"),)
BOTH = stream(columns=NUMBER, include=rule("number > 1", "large"), exclude=rule("number > 9", "huge"))
ONE = stream(columns=NUMBER, exclude=rule("number > 8", "huge"))


def test_a_rule_changes_in_each_stream_that_has_it_and_keeps_its_side() -> None:
    both, one = change_selections([BOTH, ONE], "", {"huge": "number > 5"})
    assert [each.where for each in (*both.include, *both.exclude, *one.exclude)] == [
        "number > 1",
        "number > 5",
        "number > 5",
    ]
    assert (both.source, both.version) == (BOTH.source, BOTH.version)


def test_a_condition_is_added_to_each_stream() -> None:
    assert [each.include[-1].where for each in change_selections([BOTH, ONE], "number % 2 = 0", {})] == [
        "number % 2 = 0"
    ] * 2


def test_nothing_asked_for_changes_nothing() -> None:
    assert change_selections([BOTH, ONE], "", {}) == [BOTH, ONE]


def test_an_unknown_rule_and_a_wrong_condition_are_refused() -> None:
    with pytest.raises(RecipeError, match=r"no rule 'hug' to change; .*huge"):
        change_selections([BOTH, ONE], "", {"hug": "TRUE"})
    with pytest.raises(RecipeError, match="no column 'letters'"):
        change_selections([BOTH], "", {"huge": "letters > 5"})


def test_a_condition_that_one_of_several_streams_cannot_answer_names_it_and_what_to_ask() -> None:
    bare = replace(ONE, name="bare", columns=(), exclude=())
    with pytest.raises(RecipeError, match=r"stream 'bare': rule 'where': no columns .*; --stream NAME asks for one"):
        change_selections([BOTH, bare], "number > 1", {})
    with pytest.raises(RecipeError, match=r"^rule 'where': no columns are declared; declare those that it names$"):
        change_selections([bare], "number > 1", {})
