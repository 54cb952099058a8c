r"""Reads conversations that are one string with marks before each turn, such as `\n\nHuman: ... \n\nAssistant: ...`.

Source: the data of "Training a Helpful and Harmless Assistant" (hh-rlhf): pairs of conversations, chosen and rejected.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.readers.chats.json_rows import JsonRow, json_rows
from gristmill.readers.mapping.fields import beside
from gristmill.readers.parts.units import cut_by
from gristmill.readers.records import conversation_text
from gristmill.readers.text import Unfit
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import Converted, RawObject, Refused
from gristmill.recipes.reader import Reader

_DIGITS = 32


def split_marked_turns(text: str, marks: Mapping[str, str]) -> list[dict[str, str]]:
    r"""The turns of a marked string, in OpenAI's form.

    A mark counts at the beginning of a paragraph, with a colon behind it. White space around a turn is not kept.

    Args:
        text: the conversation.
        marks: the role of each mark.

    Raises:
        Unfit: "no turn", or "text before the first turn".

    >>> split_marked_turns("\n\nHuman: Hi\n\nAssistant: Ho", {"Human": "user", "Assistant": "assistant"})
    [{'role': 'user', 'content': 'Hi'}, {'role': 'assistant', 'content': 'Ho'}]
    """
    either = "|".join(map(re.escape, marks))
    before, *parts = re.split(rf"(?:^|\n\n)({either}):", text)
    if not parts:
        raise Unfit("no turn", f"no paragraph begins with {' or '.join(f'{mark}:' for mark in marks)}")
    if before.strip():
        raise Unfit("text before the first turn", before.strip()[:80])
    return [
        {"role": marks[mark], "content": words.strip()} for mark, words in zip(parts[::2], parts[1::2], strict=True)
    ]


@dataclass(frozen=True, kw_only=True)
class MarkedTurns(Reader):
    """Reads JSON lines whose strings are conversations with marks. Use it as the `convert` of a source.

    Each declared field of a line becomes one document. Its id is a digest of all the declared fields of the line, with
    the field's name: so both conversations of a pair share its beginning. Metadata are `messages`, `choice` (the
    field's name), and all other fields of the line. A line with a field `messages` or `choice` of its own is refused.

    Attributes:
        source: name of the source, which is the source of every document.
        keys: the fields that hold conversations, such as `("chosen", "rejected")`.
        marks: the role of each mark.
        leave_out: fields that do not become metadata.
    """

    source: str
    keys: tuple[str, ...] = ("chosen",)
    marks: Mapping[str, str] = field(default_factory=lambda: {"Human": "user", "Assistant": "assistant"})
    leave_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_types(self, f"MarkedTurns of source {self.source!r}")
        if not self.keys or not self.marks:
            raise RecipeError(f"MarkedTurns of source {self.source!r}: keys or marks is empty; name at least one")

    def cut_by(self, name: str) -> str:
        """The units at which an object of this name is cut, such as `lines`; empty if it is never cut. See Split."""
        return cut_by(name)

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one conversation for each declared field of each line. See gristmill.recipes.source.Source.convert."""
        for row in json_rows(raw):
            if isinstance(row, Refused):
                yield row
                continue
            span = raw.raw_span
            for each in self._convert_row(row):
                raw.raw_span = span
                yield each

    def _convert_row(self, row: JsonRow) -> Iterator[Converted]:
        others = {key: value for key, value in row.fields.items() if key not in (*self.keys, *self.leave_out)}
        digest = hashlib.sha256()
        for key in self.keys:
            if not isinstance(row.fields.get(key), str):
                yield row.refused(f"no field {key!r}", f"as a string; the row has: {', '.join(row.fields)}"[:200])
                return
            digest.update(row.fields[key].encode("utf-8", "surrogatepass") + b"\xff")
        for key in self.keys:
            row_id = f"{digest.hexdigest()[:_DIGITS]}-{key}"
            try:
                messages = split_marked_turns(row.fields[key], self.marks)
                metadata = beside(others, {"messages": messages, "choice": key}, "name it in leave_out, or rename it")
            except Unfit as unfit:
                yield row.refused(unfit.reason, f"field {key!r}: {unfit.detail}")._replace(id=row_id)
                continue
            yield Document(id=row_id, text=conversation_text(messages), source=self.source, metadata=metadata)
