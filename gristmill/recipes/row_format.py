"""Formats: how the documents of a stream become rows of a token cache, in Levanter's three forms.

A format names fields of a document: `text` is its text, every other name is a key of its `metadata`.

Source: Levanter's Dataset Format Reference, and `levanter.data.text.formats` of marin-levanter 0.2. Where their names
differ (`messages_key` and `messages_field`), we use those of `levanter.data.text.formats`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from gristmill.errors import RecipeError
from gristmill.formats.levanter.dtype import DType
from gristmill.recipes.option_types import check_types

OnTrouble = Literal["raise", "drop", "keep"]
"""The effect of a row with an error. raise: its shard fails. drop: the row is left out. keep: the row is kept as far as
possible. Dropped and kept rows are counted."""

Slice = Literal["left", "right", "raise", "drop"]
"""The effect of a document that is longer than an example. left: its beginning is kept. right: its end is kept.
raise: an error. drop: it is left out."""

Pack = bool | int | None
"""Documents per example. True: at most 64. A number: at most that many. False: one, and a longer one is an error.
None: the default of the format."""

NULL_KEYS = ("reasoning_content", "tool_calls")
"""Keys that are null in a turn of Levanter's that does not have them."""

SEGMENTS = 64
"""Largest number of documents in a packed example, unless the recipe gives a number."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """Language modelling: the text of one document is one row.

    Attributes:
        text_key: the field that holds the text.
        pack: whether whole documents share an example. By default the texts form one stream that is cut anywhere.
        on_trouble: choice for a text that is missing or null. If it is kept, it counts as empty.
    """

    type: ClassVar[str] = "text"
    text_key: str = "text"
    pack: Pack = None
    on_trouble: OnTrouble = "raise"

    def __post_init__(self) -> None:
        """See `_check_format_values`."""
        _check_format_values(self)

    @property
    def slice_strategy(self) -> Slice:
        """The side on which packed texts are cut. For texts this is not an option."""
        return "left"

    @property
    def packs(self) -> bool:
        """Whether an example holds whole documents, so that it may have padding and a document may be cut."""
        return bool(self.pack)

    @property
    def dtypes(self) -> dict[str, DType]:
        """The element type of each field of the cache, ids first."""
        return {"input_ids": "int32"}

    def as_levanter(self) -> dict[str, Any]:
        """The format with the names and values of Levanter's configuration."""
        return {"type": "text", "text_key": self.text_key}


@dataclass(frozen=True, kw_only=True)
class Chat:
    """Conversations. A chat template renders the turns; by default only the assistant's turns count in the loss.

    Attributes:
        messages_field: the field with the list of turns: `role`, `content` and other keys that the template uses.
        chat_template: a Jinja template with `{% generation %}` around the assistant's turns; None: the tokenizer's own.
        system_prompt: the field with a system prompt: a string, or a turn without its role.
        chat_template_kwargs: the field with the row's own variables for the template.
        row_templates: whether that field may also hold a `chat_template`. Then templates from data are run, sandboxed.
        undefined: the effect of a variable that does not exist. `levanter`: an error in the row, but for the keys in
            NULL_KEYS of a turn. `transformers`: it renders as nothing, and `tools` and `documents` are null.
        today: the date for `strftime_now`, such as `2026-11-30`. Without it, a template that asks for the date is an
            error, because the same rows would get other ids tomorrow.
        pack: number of documents per example; by default up to 64.
        mask_user_turns: whether only the assistant's turns count in the loss.
        slice_strategy: side on which a conversation is cut that is longer than an example.
        on_trouble: choice for a conversation that has no messages or no assistant's turn, or cannot be rendered.
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
        """See `_check_format_values`."""
        _check_format_values(self)

    @property
    def packs(self) -> bool:
        """Whether rows are packed into examples. With `pack=False`, one conversation alone is an example."""
        return True

    @property
    def dtypes(self) -> dict[str, DType]:
        """The element type of each field of the cache, ids first."""
        return {"input_ids": "int32", "assistant_masks": "int32"}

    def as_levanter(self) -> dict[str, Any]:
        """The format with the names and values of Levanter's configuration."""
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
    """Rows that hold token ids already. One row is one example.

    Attributes:
        input_ids_key: the field with the ids.
        loss_weights_key: the field with one loss weight per id; None: all ids count.
        length: number of tokens of every row; None: any number. Levanter trains on such rows only if all have the same
            length.
        on_trouble: choice for rows without ids, of another length, with ids outside the vocabulary, or with another
            number of weights than ids. Only rows of another length can be kept.
    """

    type: ClassVar[str] = "prebuilt"
    input_ids_key: str = "input_ids"
    loss_weights_key: str | None = None
    length: int | None = None
    on_trouble: OnTrouble = "raise"

    def __post_init__(self) -> None:
        """See `_check_format_values`."""
        _check_format_values(self)
        if self.input_ids_key == self.loss_weights_key:
            raise RecipeError(f"format prebuilt: {self.input_ids_key!r} cannot hold both ids and weights")
        if self.length is not None and self.length < 1:
            raise RecipeError(f"format prebuilt: length {self.length}; give a number of tokens, 1 or more")

    @property
    def pack(self) -> Pack:
        """No packing, because rows are examples already."""
        return False

    @property
    def packs(self) -> bool:
        """Whether rows are packed into examples: always."""
        return False

    @property
    def dtypes(self) -> dict[str, DType]:
        """The element type of each field of the cache, ids first."""
        dtypes: dict[str, DType] = {self.input_ids_key: "int32"}
        if self.loss_weights_key is not None:
            dtypes[self.loss_weights_key] = "float32"
        return dtypes

    def as_levanter(self) -> dict[str, Any]:
        """The format with the names and values of Levanter's configuration."""
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


def format_from_mapping(declared: Format | Mapping[str, Any]) -> Format:
    """A format from a mapping as in Levanter's YAML. Names of the code and of the reference are both accepted.

    Args:
        declared: the mapping; a format is returned as it is.

    Raises:
        RecipeError: a type or option is unknown, or a value is wrong.

    >>> format_from_mapping({"type": "chat", "messages_key": "turns"}).messages_field
    'turns'
    """
    if isinstance(declared, Text | Chat | Prebuilt):
        return declared
    if not isinstance(declared, Mapping) or not all(isinstance(name, str) for name in declared):
        raise RecipeError(
            f"format is {declared!r}; give Text(), Chat(...), Prebuilt(...), or a mapping of their options"
        )
    options = {_ALIASES.get(name, name): value for name, value in declared.items()}
    if len(options) != len(declared):
        raise RecipeError(f"format {dict(declared)!r}: two names for the same option; give one")
    name = options.pop("type", "text")
    if not isinstance(name, str) or name not in FORMATS:
        raise RecipeError(f"format {name!r} is unknown; known: {', '.join(FORMATS)}")
    if options.pop("loss_weight_transform", None) is not None:
        raise RecipeError("format prebuilt: loss_weight_transform belongs to the trainer, not to a cache; remove it")
    names = [option.name for option in fields(FORMATS[name])]
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise RecipeError(f"format {name!r} has no option {', '.join(unknown)}; it has {', '.join(names)}")
    return FORMATS[name](**options)


def format_parameters(declared: Format) -> dict[str, Any]:
    """The options of a format that change the rows of a cache, as JSON, for its recipe.

    Packing and slicing are left out, because the trainer does them.

    >>> format_parameters(Text(pack=True))
    {'type': 'text', 'text_key': 'text', 'on_trouble': 'raise'}
    """
    trained = {"pack", "slice_strategy"}
    options = {option.name: getattr(declared, option.name) for option in fields(declared)}
    return {"type": declared.type, **{name: value for name, value in options.items() if name not in trained}}


def asks_for_null_keys(declared: Format, template: str | None = None) -> bool:
    """Whether the rows of a format depend on NULL_KEYS.

    Before these keys were null, its template gave other rows, or none. So only recipes of such formats record the keys,
    and only their caches are made again.

    Args:
        declared: the format.
        template: its chat template; None: the one that the format declares.

    >>> asks_for_null_keys(Chat(chat_template="{{ messages[0].tool_calls }}")), asks_for_null_keys(Chat())
    (True, False)
    """
    if not isinstance(declared, Chat) or declared.undefined != "levanter":
        return False
    return any(key in (template or declared.chat_template or "") for key in NULL_KEYS)


def _check_format_values(declared: Format) -> None:
    """Checks the values that types cannot check at run time: a recipe may come from YAML.

    Raises:
        RecipeError: an option has a value that is wrong.
    """
    for name, choices in _CHOICES.items():
        value = getattr(declared, name, None)
        if value is not None and not (isinstance(value, str) and value in choices):
            raise RecipeError(f"format {declared.type}: {name} is {value!r}; give one of {', '.join(choices)}")
    pack = declared.pack
    if not isinstance(pack, bool | None) and (not isinstance(pack, int) or pack < 1):
        raise RecipeError(
            f"format {declared.type}: pack is {pack!r}; give true, false, or a number of documents per example"
        )
    check_types(declared, f"format {declared.type}")
    for option in fields(declared):
        if option.name.endswith(("_key", "_field")) and getattr(declared, option.name) == "":
            raise RecipeError(f"format {declared.type}: {option.name} is empty; name a field of the documents")
