"""Rows of conversations: rendered by a chat template, encoded once, with a mask over what the assistant said."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from gristmill.errors import RecipeError
from gristmill.recipes.row_format import Chat
from gristmill.stages.token_cache.chat_template import ChatTemplate, Span, Turn, Unrendered
from gristmill.stages.token_cache.rows import MISSING, SPECIAL, CacheRows, Trouble, field_of, words_of
from gristmill.stages.tokenization.encoder import Encoder
from gristmill.stages.tokenization.offsets import TokenOffsets
from gristmill.text.utf8 import sizes_of

FORBIDDEN = ("tokenize", "return_assistant_tokens_mask", "return_dict")
"""What a row may not tell the template: they are arguments of the one who renders, not of the template."""


class _Conversation(msgspec.Struct):
    id: str
    source: str
    text: str
    metadata: dict[str, Any] | None = None


class Tokens(NamedTuple):
    """What a template gets as `bos_token` and `eos_token` ("" if there is none), and what finds special strings that
    nobody may have said.
    """

    bos: str
    eos: str
    refused: re.Pattern[str] | None


class _Rendered(NamedTuple):
    text: str
    spans: list[Span]


class ChatRows:
    """Renders and encodes conversations.

    Args:
        declared: the format.
        template: the template that counts: the recipe's, else the tokenizer's.
        offsets: of the tokenizer.
        encoder: of the same.
        name: the tokenizer's, as Levanter's metadata has it.
        tokens: what the template gets, and what nobody may have said.

    Raises:
        RecipeError: the template is no Jinja.
    """

    row_type = _Conversation

    def __init__(
        self, declared: Chat, template: str, offsets: TokenOffsets, encoder: Encoder, name: str, tokens: Tokens
    ) -> None:
        self._declared, self._encoder = declared, encoder
        self._offsets = offsets
        self._tokens = tokens
        self._template = self._compiled(template, strict=declared.undefined == "levanter")
        self._lenient = self._compiled(template, strict=False)
        self.engine = encoder.engine
        self.metadata = {
            "tokenizer": name,
            "vocab_size": encoder.vocab_size,
            "chat_template": template,
            "messages_field": declared.messages_field,
            "system_prompt_field": declared.system_prompt,
            "chat_template_kwargs_field": declared.chat_template_kwargs,
        }

    def _compiled(self, template: str, *, strict: bool) -> ChatTemplate:
        bos, eos, _ = self._tokens
        return ChatTemplate(template, bos=bos, eos=eos, strict=strict, today=self._declared.today)

    def __call__(self, documents: Sequence[Any]) -> CacheRows:
        """See RowMaker."""
        troubles: list[Trouble] = []
        rendered: list[_Rendered] = []
        for number, document in enumerate(documents):
            try:
                messages, variables = self._messages(document), self._variables(document)
            except Unrendered as error:
                troubles.append(Trouble(number, error.reason, error.detail, keepable=False))
                rendered.append(_Rendered("", []))
                continue
            found, trouble = self._render(messages, variables, number)
            rendered.append(found)
            trouble = trouble or self._special(messages, number)
            if trouble:
                troubles.append(trouble)
        ids, lengths = self._encoder.encode_bare([each.text for each in rendered])
        masks = np.zeros(len(ids), np.int32)
        in_trouble = {trouble.row for trouble in troubles}
        end = 0
        for number, (each, length) in enumerate(zip(rendered, lengths.tolist(), strict=True)):
            start, end = end, end + length
            masks[start:end] = self._offsets.mask(each.text, ids[start:end], each.spans)
            if self._declared.mask_user_turns and number not in in_trouble and not masks[start:end].any():
                troubles.append(Trouble(number, "no assistant turn", "nothing in it would be learnt"))
        sizes = sizes_of([each.text for each in rendered])
        return CacheRows({"input_ids": (ids, lengths), "assistant_masks": (masks, lengths)}, troubles, sizes)

    def _render(
        self, messages: Sequence[Turn], variables: Mapping[str, Any], number: int
    ) -> tuple[_Rendered, Trouble | None]:
        """The text of a conversation; one with an undefined variable can still be kept, with nothing in its place."""
        own = variables.get("chat_template")
        try:
            if own is not None:
                variables = {name: value for name, value in variables.items() if name != "chat_template"}
                template = self._own(own)
                return _Rendered(*template.render(messages, variables)), None
            return _Rendered(*self._template.render(messages, variables)), None
        except Unrendered as error:
            trouble = Trouble(number, error.reason, error.detail, keepable=False)
        if own is None and trouble.reason == "undefined template variable":
            try:
                return _Rendered(*self._lenient.render(messages, variables)), trouble._replace(keepable=True)
            except Unrendered:
                pass
        return _Rendered("", []), trouble

    def _special(self, messages: Sequence[Turn], number: int) -> Trouble | None:
        """The first special string that somebody said, if that is refused."""
        if self._tokens.refused is None:
            return None
        for place, turn in enumerate(messages):
            found = self._tokens.refused.search(words_in(turn))
            if found:
                return Trouble(number, SPECIAL, f"{found[0]!r} in turn {place}")
        return None

    def _own(self, template: object) -> ChatTemplate:
        """A template that a row brings."""
        if not self._declared.row_templates:
            raise Unrendered(
                "brings its own template", "only a format with row_templates=True lets data bring templates"
            )
        if not isinstance(template, str):
            raise Unrendered("brings its own template", f"it is {words_of(template)}, not a string")
        try:
            return self._compiled(template, strict=self._declared.undefined == "levanter")
        except RecipeError as error:
            raise Unrendered("brings its own template", str(error)) from error

    def _messages(self, document: Any) -> list[Turn]:
        key = self._declared.messages_field
        found = field_of(document, key)
        if not isinstance(found, list) or not all(isinstance(turn, dict) for turn in found):
            raise Unrendered("no messages", f"metadata.{key} is {words_of(found)}, not a list of turns")
        return [*self._system(document), *found]

    def _system(self, document: Any) -> list[Turn]:
        """The system prompt as the first turn, if the row has one."""
        key = self._declared.system_prompt
        found = MISSING if key is None else field_of(document, key)
        if found is MISSING or found is None:
            return []
        if isinstance(found, str):
            return [{"role": "system", "content": found}]
        if isinstance(found, dict) and "content" in found:
            return [{**found, "role": "system"}]
        raise Unrendered(
            "no system prompt", f"metadata.{key} is {words_of(found)}: give a string, or a turn with content"
        )

    def _variables(self, document: Any) -> dict[str, Any]:
        """What a row tells the template."""
        key = self._declared.chat_template_kwargs
        found = MISSING if key is None else field_of(document, key)
        if found is MISSING or found is None:
            return {}
        if not isinstance(found, dict):
            raise Unrendered("template variables that are none", f"metadata.{key} is {words_of(found)}, not a mapping")
        for name in FORBIDDEN:
            if name in found:
                raise Unrendered("template variables that are none", f"metadata.{key} may not set {name}")
        return {name: value for name, value in found.items() if name != "add_generation_prompt"}


def words_in(value: object) -> str:
    """All strings in a turn, however deep."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(words_in(each) for each in value.values())
    return "\n".join(map(words_in, value)) if isinstance(value, list) else ""
