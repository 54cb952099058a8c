"""Formats: how the documents of a stream become rows of a token cache, in Levanter's three forms.

A field that a format names is looked up in a document: `text` is its text, every other name a key of its `metadata`.

Source: Levanter's Dataset Format Reference, and marin-levanter 0.2, `levanter.data.text.formats`, whose spelling
`as_levanter` gives where the two differ (`messages_key` there, `messages_field` here).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from gristmill.errors import RecipeError
from gristmill.formats.levanter.dtype import DType

OnTrouble = Literal["raise", "drop", "keep"]
"""What becomes of a row in trouble: it stops its shard, or is left out, or is kept as far as it can be; counted."""

Slice = Literal["left", "right", "raise", "drop"]
"""What becomes of a document that is longer than an example: its beginning or its end is kept, or an error, or left
out."""

Pack = bool | int | None
"""True: at most 64 documents an example; a number: so many; False: one, and a longer one is an error; None: the
format's own."""

SEGMENTS = 64
"""Documents in an example that is packed, unless a number is given."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """Language modelling: one text is one row.

    Attributes:
        text_key: the field that holds it.
        pack: whether whole documents share an example; by default all are one stream, cut anywhere.
        on_trouble: for a text that is missing or null. Kept, it is an empty one.
    """

    type: ClassVar[str] = "text"
    text_key: str = "text"
    pack: Pack = None
    on_trouble: OnTrouble = "raise"

    def __post_init__(self) -> None:
        """See `_check`."""
        _check(self)

    @property
    def slice_strategy(self) -> Slice:
        """Of packed text; it is not an option there."""
        return "left"

    @property
    def dtypes(self) -> dict[str, DType]:
        """The cache's fields, ids first."""
        return {"input_ids": "int32"}

    def as_levanter(self) -> dict[str, Any]:
        """The format as Levanter's configuration spells it."""
        return {"type": "text", "text_key": self.text_key}


@dataclass(frozen=True, kw_only=True)
class Chat:
    """Conversations: turns are rendered by a chat template, and what the assistant said is what is learnt.

    Attributes:
        messages_field: the field with the list of turns: `role`, `content` and whatever the template asks for.
        chat_template: Jinja, with `{% generation %}` around what the assistant said; None: the tokenizer's own.
        system_prompt: the field with a system prompt: a string, or a turn without its role.
        chat_template_kwargs: the field with variables of the row's own for the template.
        row_templates: whether that field may bring a `chat_template` too: then data are run as templates, sandboxed.
        undefined: what a variable that is not there does: `levanter` is in trouble, `transformers` renders nothing
            (and knows `tools` and `documents` as null).
        today: what `strftime_now` tells: `2026-11-30`. Without it a template that asks for the date is an error:
            the same rows would give other ids tomorrow.
        pack: documents an example; by default up to 64.
        mask_user_turns: whether only what the assistant said counts in the loss.
        slice_strategy: for conversations longer than an example.
        on_trouble: for a conversation without an assistant's turn, without messages, or that cannot be rendered.
    """

    type: ClassVar[str] = "chat"
    messages_field: str = "messages"
    chat_template: str | None = None
    system_prompt: str | None = None
    chat_template_kwargs: str | None = "chat_template_kwargs"
    row_templates: bool = False
    undefined: Literal["levanter", "transformers"] = "levanter"
    today: str | None = None
    pack: Pack = None
    mask_user_turns: bool = True
    slice_strategy: Slice = "left"
    on_trouble: OnTrouble = "raise"

    def __post_init__(self) -> None:
        """See `_check`."""
        _check(self)

    @property
    def dtypes(self) -> dict[str, DType]:
        """The cache's fields, ids first."""
        return {"input_ids": "int32", "assistant_masks": "int32"}

    def as_levanter(self) -> dict[str, Any]:
        """See Text."""
        return {
            "type": "chat",
            "messages_field": self.messages_field,
            "chat_template": self.chat_template,
            "system_prompt": self.system_prompt,
            "chat_template_kwargs": self.chat_template_kwargs,
            "pack": self.pack,
            "mask_user_turns": self.mask_user_turns,
            "slice_strategy": self.slice_strategy,
        }


@dataclass(frozen=True, kw_only=True)
class Prebuilt:
    """Ids that others made: one row is one example.

    Attributes:
        input_ids_key: the field with the ids.
        loss_weights_key: the field with as many loss weights; None: all count.
        length: of every row, in tokens: Levanter trains on rows as they are, and only on rows of one length. None:
            any length.
        on_trouble: for rows without ids, of another length, with ids outside the vocabulary or other weights than ids.
            Kept are only rows of another length.
    """

    type: ClassVar[str] = "prebuilt"
    input_ids_key: str = "input_ids"
    loss_weights_key: str | None = None
    length: int | None = None
    on_trouble: OnTrouble = "raise"

    def __post_init__(self) -> None:
        """See `_check`."""
        _check(self)
        if self.input_ids_key == self.loss_weights_key:
            raise RecipeError(f"format prebuilt: {self.input_ids_key!r} cannot hold both ids and weights")
        if self.length is not None and self.length < 1:
            raise RecipeError(f"format prebuilt: length {self.length}: give tokens, 1 or more")

    @property
    def pack(self) -> Pack:
        """Rows are examples already."""
        return False

    @property
    def dtypes(self) -> dict[str, DType]:
        """The cache's fields, ids first."""
        found: dict[str, DType] = {self.input_ids_key: "int32"}
        if self.loss_weights_key is not None:
            found[self.loss_weights_key] = "float32"
        return found

    def as_levanter(self) -> dict[str, Any]:
        """See Text."""
        return {
            "type": "prebuilt",
            "input_ids_key": self.input_ids_key,
            "loss_weights_key": self.loss_weights_key,
        }


Format = Text | Chat | Prebuilt
FORMATS: dict[str, type[Text] | type[Chat] | type[Prebuilt]] = {"text": Text, "chat": Chat, "prebuilt": Prebuilt}
_ALIASES = {"messages_key": "messages_field", "system_prompt_field": "system_prompt"}
_CHOICES = {
    "on_trouble": ("raise", "drop", "keep"),
    "slice_strategy": ("left", "right", "raise", "drop"),
    "undefined": ("levanter", "transformers"),
}


def format_of(declared: Format | Mapping[str, Any]) -> Format:
    """A format from the mapping that Levanter's YAML has, under its own names or the reference's.

    Raises:
        RecipeError: an unknown type or option, or a value that is none.
    """
    if isinstance(declared, Text | Chat | Prebuilt):
        return declared
    options = {_ALIASES.get(name, name): value for name, value in declared.items()}
    if len(options) != len(declared):
        raise RecipeError(f"format {dict(declared)!r}: two spellings of one option; give one")
    name = options.pop("type", "text")
    if name not in FORMATS:
        raise RecipeError(f"format {name!r} is unknown; known: {', '.join(FORMATS)}")
    if options.pop("loss_weight_transform", None) is not None:
        raise RecipeError("format prebuilt: loss_weight_transform belongs to the trainer, not into a cache; remove it")
    known = [each.name for each in fields(FORMATS[name])]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise RecipeError(f"format {name!r} has no option {', '.join(unknown)}; it has {', '.join(known)}")
    return FORMATS[name](**options)


def parameters_of(declared: Format) -> dict[str, Any]:
    """What of a format changes a cache's rows, as JSON: neither packing nor slicing, which are the trainer's."""
    trained = {"pack", "slice_strategy"}
    found = {each.name: getattr(declared, each.name) for each in fields(declared) if each.name not in trained}
    return {"type": declared.type, **found}


def _check(declared: Format) -> None:
    """Checks what types cannot: a recipe may come from YAML.

    Raises:
        RecipeError: an option has a value that is none.
    """
    for name, choices in _CHOICES.items():
        value = getattr(declared, name, None)
        if value is not None and value not in choices:
            raise RecipeError(f"format {declared.type}: {name} is {value!r}; give one of {', '.join(choices)}")
    pack = declared.pack
    if not isinstance(pack, bool | None) and (not isinstance(pack, int) or pack < 1):
        raise RecipeError(f"format {declared.type}: pack is {pack!r}; give true, false, or documents an example")
    for each in fields(declared):
        if each.name.endswith(("_key", "_field")) and getattr(declared, each.name) == "":
            raise RecipeError(f"format {declared.type}: {each.name} is empty; name a field of the documents")
