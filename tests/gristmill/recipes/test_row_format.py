"""Formats as they are declared."""

from typing import Any

import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.mix import Stream
from gristmill.recipes.row_format import Chat, Prebuilt, Text, format_from_mapping, format_parameters


def test_the_references_spelling_and_levanters_mean_the_same() -> None:
    expected = Chat(messages_field="turns", pack=False, mask_user_turns=False)
    for key in ("messages_key", "messages_field"):
        assert format_from_mapping({"type": "chat", key: "turns", "pack": False, "mask_user_turns": False}) == expected
    assert format_from_mapping({}) == format_from_mapping({"type": "text", "text_key": "text"}) == Text()
    assert format_from_mapping({"type": "prebuilt", "loss_weights_key": "w"}) == Prebuilt(loss_weights_key="w")
    given: Any = {"type": "chat", "messages_key": "turns"}
    assert Stream(source="s", version="v0", format=given).format == Chat(messages_field="turns")


def test_levanter_gets_its_own_spelling() -> None:
    assert Chat(messages_field="turns", pack=4).as_levanter()["messages_field"] == "turns"
    assert format_from_mapping(Chat(pack=4, slice_strategy="drop").as_levanter()) == Chat(pack=4, slice_strategy="drop")
    assert format_from_mapping(Prebuilt(loss_weights_key="w").as_levanter()) == Prebuilt(loss_weights_key="w")


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"type": "supervised"}, "format 'supervised' is unknown; known: text, chat, prebuilt"),
        ({"type": "chat", "message_key": "m"}, "has no option message_key; it has messages_field"),
        ({"type": "chat", "messages_key": "a", "messages_field": "b"}, "two names for the same option"),
        ({"type": "prebuilt", "loss_weight_transform": "f"}, "belongs to the trainer"),
        ({"type": "chat", "pack": 0}, "pack is 0"),
        ({"type": "chat", "pack": "yes"}, "pack is 'yes'"),
        ({"type": "chat", "slice_strategy": "middle"}, "slice_strategy is 'middle'"),
        ({"type": "text", "on_trouble": "ignore"}, "on_trouble is 'ignore'"),
        ({"type": "text", "text_key": ""}, "text_key is empty"),
        ({"type": "prebuilt", "length": 0}, "length 0"),
        ({"type": "prebuilt", "length": True}, "length is True"),
        ({"type": "prebuilt", "length": "8"}, "length is '8'"),
        ({"type": "chat", "mask_user_turns": "no"}, "mask_user_turns is 'no'"),
        ({"type": "chat", "mask_user_turns": 0}, "mask_user_turns is 0"),
        ({"type": "chat", "row_templates": "false"}, "row_templates is 'false'"),
        ({"type": "chat", "messages_field": None}, "messages_field is None"),
        ({"type": "chat", "chat_template": ["a"]}, "chat_template is \\['a'\\]"),
        ({"type": "chat", "chat_template_kwargs": False}, "chat_template_kwargs is False"),
        ({"type": "chat", "today": 20261130}, "today is 20261130"),
        ({"type": "chat", "on_trouble": ["drop"]}, "on_trouble is \\['drop'\\]"),
        ({"type": "chat", "on_trouble": None}, "on_trouble is None"),
        ({"type": "prebuilt", "loss_weights_key": "input_ids"}, "cannot hold both"),
    ],
)
def test_what_is_no_format_is_refused_with_what_there_is(declared: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        format_from_mapping(declared)


def test_what_is_the_trainers_changes_no_cache() -> None:
    assert format_parameters(Chat(pack=4, slice_strategy="drop")) == format_parameters(Chat())
    assert format_parameters(Chat(mask_user_turns=False)) != format_parameters(Chat())
