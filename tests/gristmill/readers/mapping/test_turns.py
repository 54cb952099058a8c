"""Turns in any form become messages in OpenAI's form."""

from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.readers.mapping.fields import RowTrouble
from gristmill.readers.mapping.turns import Turns, sharegpt

TALK = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho", "weight": 0}]


def test_sharegpt_turns_become_messages_and_keep_their_other_keys() -> None:
    assert sharegpt("meta.talk").messages({"meta": {"talk": TALK}}) == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Ho", "weight": 0},
    ]


def test_names_of_speakers_without_declared_roles_are_kept() -> None:
    turns = Turns(column="talk", role_key="from", content_key="value")
    assert [each["role"] for each in turns.messages({"talk": TALK})] == ["human", "gpt"]


@pytest.mark.parametrize(
    ("row", "reason", "detail"),
    [
        ({"text": "t"}, "no field 'conversations'", ""),
        ({"conversations": None}, "conversations is null", ""),
        ({"conversations": "Hi"}, "conversations is no list", ""),
        ({"conversations": ["Hi"]}, "a turn is no object", "conversations[0]"),
        (
            {"conversations": [{"role": "user", "content": "Hi"}]},
            "from of a turn is no string",
            "conversations[0], which has: role, content",
        ),
        (
            {"conversations": [*TALK, {"from": "gpt", "value": None}]},
            "value of a turn is no string",
            "conversations[2], which has: from, value",
        ),
        (
            {"conversations": [{"from": "narrator", "value": "x"}]},
            "unknown role",
            "conversations[0] is by 'narrator'; roles declares: human, user, gpt,",
        ),
        (
            {"conversations": [{"from": "gpt", "value": "x", "role": "y"}]},
            "a turn has role or content twice",
            "conversations[0] has role too",
        ),
    ],
)
def test_turns_of_another_form_are_refused_with_the_place(row: Any, reason: str, detail: str) -> None:
    with pytest.raises(RowTrouble) as trouble:
        sharegpt().messages(row)
    assert trouble.value.reason == reason
    assert trouble.value.detail.startswith(detail)


@pytest.mark.parametrize("options", [{"column": ""}, {"role_key": ""}, {"role_key": "x", "content_key": "x"}])
def test_keys_that_are_empty_or_the_same_are_an_error(options: dict[str, Any]) -> None:
    with pytest.raises(RecipeError, match="Turns: give the names of the column, and of two different keys"):
        Turns(**{"column": "talk", **options})
