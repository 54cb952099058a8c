"""A column of turns in any form becomes messages in OpenAI's form: objects with `role` and `content`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gristmill.errors import RecipeError, shorten
from gristmill.readers.mapping.fields import MISSING, NoField, RowTrouble, find_field
from gristmill.recipes.option_types import check_types

SHAREGPT_ROLES: Mapping[str, str] = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bard": "assistant",
    "bing": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
    "function_call": "assistant",
    "observation": "tool",
}
"""The names in use for the roles of ShareGPT's form, and the roles that they mean."""


@dataclass(frozen=True, kw_only=True)
class Turns:
    """How a column of turns becomes messages. Other keys of a turn are kept.

    Attributes:
        column: its name, or its path with dots.
        role_key: the key of a turn with the speaker.
        content_key: the key of a turn with what is said: a string.
        roles: role of each speaker's name. A row with another name is refused. Empty: names are kept as they are.

    >>> talk = Turns(column="talk", role_key="by", content_key="says", roles={"A": "user"})
    >>> talk.messages({"talk": [{"by": "A", "says": "Hi", "at": 3}]})
    [{'role': 'user', 'content': 'Hi', 'at': 3}]
    """

    column: str
    role_key: str = "role"
    content_key: str = "content"
    roles: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one is empty or of another type, or both keys are the same.
        """
        check_types(self, "Turns")
        if not (self.column and self.role_key and self.content_key) or self.role_key == self.content_key:
            raise RecipeError("Turns: give the names of the column, and of two different keys of its turns")

    def messages(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The messages of a row.

        Raises:
            NoField: the column is missing.
            RowTrouble: the column is not a list of objects, a turn lacks a key, a content is not a string,
                or a role is not declared.
        """
        given = find_field(row, self.column)
        if given is MISSING:
            raise NoField(self.column)
        if not isinstance(given, list):
            raise RowTrouble(f"{self.column} is {'null' if given is None else 'no list'}")
        return [self._turn_as_message(turn, number) for number, turn in enumerate(given)]

    def _turn_as_message(self, turn: Any, number: int) -> dict[str, Any]:
        where = f"{self.column}[{number}]"
        if not isinstance(turn, dict):
            raise RowTrouble("a turn is no object", where)
        for key in (self.role_key, self.content_key):
            if not isinstance(turn.get(key), str):
                has = shorten(", ".join(turn), 200)
                raise RowTrouble(f"{key} of a turn is no string", f"{where}, which has: {has or 'nothing'}")
        role = turn[self.role_key]
        if self.roles and role not in self.roles:
            known = ", ".join(self.roles)
            raise RowTrouble("unknown role", f"{where} is by {shorten(role, 60)!r}; roles declares: {known}")
        rest = {key: value for key, value in turn.items() if key not in {self.role_key, self.content_key}}
        taken = sorted(rest.keys() & {"role", "content"})
        if taken:
            raise RowTrouble("a turn has role or content twice", f"{where} has {', '.join(taken)} too")
        return {"role": self.roles.get(role, role), "content": turn[self.content_key], **rest}


def sharegpt(column: str = "conversations", roles: Mapping[str, str] = SHAREGPT_ROLES) -> Turns:
    """A column of turns in ShareGPT's form: `from` and `value`.

    Args:
        column: the field that holds them.
        roles: role of each speaker's name, as in Turns.

    >>> sharegpt().messages({"conversations": [{"from": "gpt", "value": "Hi"}]})
    [{'role': 'assistant', 'content': 'Hi'}]
    """
    return Turns(column=column, role_key="from", content_key="value", roles=roles)
