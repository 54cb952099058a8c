"""Rows of conversations: rendered by a chat template, encoded once, with a mask of the assistant's tokens."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from gristmill.encoding.encoder import Encoder, Ids
from gristmill.encoding.offsets import TokenOffsets
from gristmill.errors import RecipeError
from gristmill.recipes.row_format import Chat
from gristmill.stages.chat_templates.budget import Unrendered
from gristmill.stages.chat_templates.template import UNDEFINED, ChatTemplate, Span, Turn
from gristmill.stages.token_cache.rows import (
    MISSING,
    NORMALIZED,
    SPECIAL,
    CacheRows,
    RowError,
    RowLengths,
    document_field,
    type_in_words,
)
from gristmill.text.utf8 import utf8_sizes

_ARGUMENTS = ("conversations", "return_assistant_tokens_mask", "return_dict", "return_message_spans", "self")
FORBIDDEN = frozenset((*_ARGUMENTS, "tokenize", "tokenizer", "messages", "bos_token", "eos_token"))
"""Variables that a row may not set. They are the template's own, such as `eos_token`, or arguments of the functions
that render in Levanter."""


class _Conversation(msgspec.Struct):
    id: str
    source: str
    text: str
    metadata: dict[str, Any] | None = None


class _Rendered(NamedTuple):
    """What a template made of a row; `brought` is a special token that comes from the row, although it may not."""

    text: str = ""
    spans: Sequence[Span] = ()
    brought: str | None = None


class ChatRows:
    """Renders and encodes conversations.

    Args:
        declared: the format.
        template: the chat template: from the recipe or, if it has none, from the tokenizer.
        offsets: finder of the tokens of a span of text.
        encoder: encoder of the texts; it has the same tokenizer as `offsets`.
        name: the tokenizer's name in Levanter's metadata.

    Raises:
        RecipeError: the template is wrong Jinja.
    """

    row_type = _Conversation

    def __init__(self, declared: Chat, template: str, offsets: TokenOffsets, encoder: Encoder, name: str) -> None:
        self._declared, self._encoder = declared, encoder
        self._offsets = offsets
        self._template = self._compile_chat_template(template, strict=declared.undefined == "levanter")
        self._lenient = self._compile_chat_template(template, strict=False)
        self.engine = encoder.engine
        self.metadata = {
            "tokenizer": name,
            "vocab_size": encoder.vocab_size,
            "chat_template": template,
            "messages_field": declared.messages_field,
            "system_prompt_field": declared.system_prompt,
            "chat_template_kwargs_field": declared.chat_template_kwargs,
        }

    def _compile_chat_template(self, template: str, *, strict: bool) -> ChatTemplate:
        options = self._encoder.options
        bos, eos = options.bos or "", options.eos or ""
        today, refused = self._declared.today, self._encoder.refused
        return ChatTemplate(template, bos=bos, eos=eos, strict=strict, today=today, specials=refused)

    def __call__(self, documents: Sequence[Any]) -> CacheRows:
        """See RowEncoder."""
        troubles: list[RowError] = []
        rendered: list[_Rendered] = []
        for number, document in enumerate(documents):
            conversation, trouble = self._render_document(document, number)
            rendered.append(conversation)
            if trouble:
                troubles.append(trouble)
        ids, lengths = self._encoder.encode_bare([conversation.text for conversation in rendered])
        masks = np.zeros(len(ids), np.int32)
        in_trouble = {trouble.row for trouble in troubles}
        end = 0
        for number, (conversation, length) in enumerate(zip(rendered, lengths.tolist(), strict=True)):
            start, end = end, end + length
            masks[start:end] = self._offsets.mask_tokens_in_spans(conversation.text, ids[start:end], conversation.spans)
            if self._declared.mask_user_turns and number not in in_trouble and not masks[start:end].any():
                troubles.append(RowError(number, "no assistant turn", "nothing in it would be learnt"))
        troubles += self._normalization_errors(rendered, ids, lengths, in_trouble)
        sizes = utf8_sizes([conversation.text for conversation in rendered])
        return CacheRows({"input_ids": (ids, lengths), "assistant_masks": (masks, lengths)}, troubles, sizes)

    def _render_document(self, document: Any, number: int) -> tuple[_Rendered, RowError | None]:
        """The text of a document's conversation, and the error of its row."""
        try:
            messages, variables = self._document_turns(document), self._template_variables(document)
            template = self._template
            if "chat_template" in variables:
                template = self._compile_row_template(variables.pop("chat_template"))
            special = self._special_token_error(messages, number)
        except Unrendered as error:
            return _Rendered(), RowError(number, error.reason, error.detail, keepable=False)
        except RecursionError:
            return _Rendered(), RowError(number, "not rendered", "its turns are nested too deep", keepable=False)
        conversation, trouble = self._render_conversation(template, messages, variables, number)
        if special is None and conversation.brought is not None:
            special = RowError(number, SPECIAL, f"{conversation.brought!r} in the rendered text, not from the template")
        return conversation, trouble or special

    def _render_conversation(
        self, template: ChatTemplate, messages: Sequence[Turn], variables: Mapping[str, Any], number: int
    ) -> tuple[_Rendered, RowError | None]:
        """The text of a conversation. An undefined variable renders as nothing, and the row can still be kept."""
        try:
            return _Rendered(*template.render(messages, variables)), None
        except Unrendered as error:
            trouble = RowError(number, error.reason, error.detail, keepable=False)
        if template is self._template and trouble.reason == UNDEFINED:
            try:
                return _Rendered(*self._lenient.render(messages, variables)), trouble._replace(keepable=True)
            except Unrendered:
                pass
        return _Rendered(), trouble

    def _normalization_errors(
        self, rendered: Sequence[_Rendered], ids: Ids, lengths: RowLengths, in_trouble: set[int]
    ) -> Iterator[RowError]:
        """The errors of conversations that have more special tokens than their texts have special strings."""
        refused = self._encoder.refused
        if refused is None:
            return
        counts = self._encoder.specials_in(ids, lengths).tolist()
        for number, (conversation, count) in enumerate(zip(rendered, counts, strict=True)):
            if number not in in_trouble and count > sum(1 for _ in refused.finditer(conversation.text)):
                yield RowError(number, SPECIAL, NORMALIZED)

    def _special_token_error(self, messages: Sequence[Turn], number: int) -> RowError | None:
        """The error of a conversation whose turns hold a special token, if the recipe refuses these."""
        refused = self._encoder.refused
        if refused is None:
            return None
        for place, turn in enumerate(messages):
            match = refused.search(strings_in_turn(turn))
            if match:
                return RowError(number, SPECIAL, f"{match[0]!r} in turn {place}")
        return None

    def _compile_row_template(self, template: object) -> ChatTemplate:
        """Compiles a template that a row has among its variables."""
        if not self._declared.row_templates:
            raise Unrendered(
                "row brings its own template", "only a format with row_templates=True lets data bring templates"
            )
        if not isinstance(template, str):
            raise Unrendered("row brings its own template", f"it is {type_in_words(template)}, not a string")
        try:
            return self._compile_chat_template(template, strict=self._declared.undefined == "levanter")
        except RecipeError as error:
            raise Unrendered("row brings its own template", str(error)) from error

    def _document_turns(self, document: Any) -> list[Turn]:
        key = self._declared.messages_field
        turns = document_field(document, key)
        if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
            raise Unrendered("no messages", f"metadata.{key} is {type_in_words(turns)}, not a list of turns")
        return [*self._system_prompt_turns(document), *turns]

    def _system_prompt_turns(self, document: Any) -> list[Turn]:
        """The system prompt as the first turn, if the row has one."""
        key = self._declared.system_prompt
        prompt = MISSING if key is None else document_field(document, key)
        if prompt is MISSING or prompt is None:
            return []
        if isinstance(prompt, str):
            return [{"role": "system", "content": prompt}]
        if isinstance(prompt, dict) and "content" in prompt:
            return [{**prompt, "role": "system"}]
        raise Unrendered(
            "no system prompt", f"metadata.{key} is {type_in_words(prompt)}: give a string, or a turn with content"
        )

    def _template_variables(self, document: Any) -> dict[str, Any]:
        """The row's own variables for the template."""
        key = self._declared.chat_template_kwargs
        variables = MISSING if key is None else document_field(document, key)
        if variables is MISSING or variables is None:
            return {}
        if not isinstance(variables, dict):
            what = f"metadata.{key} is {type_in_words(variables)}, not a mapping"
            raise Unrendered("template variables are not valid", what)
        for name in sorted(FORBIDDEN & variables.keys()):
            raise Unrendered("template variables are not valid", f"metadata.{key} may not set {name}")
        return {name: value for name, value in variables.items() if name != "add_generation_prompt"}


def strings_in_turn(value: object) -> str:
    """All strings in a turn, at any depth, joined by line feeds."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(strings_in_turn(part) for part in value.values())
    return "\n".join(map(strings_in_turn, value)) if isinstance(value, list) else ""
