"""Decoded rows become documents: fields give the id, the text and the times; the others become metadata."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from msgspec import UNSET, UnsetType

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.readers.mapping.fields import (
    MISSING,
    IdTemplate,
    NoField,
    RowTrouble,
    Taker,
    TimeUnit,
    beside,
    field_as_id,
    field_as_text,
    field_as_time,
    find_field,
    join_text_fields,
    make_field_taker,
    merge_metadata_fields,
    names,
    put,
    take_field,
)
from gristmill.readers.mapping.many import Plan, plan_of_options
from gristmill.readers.mapping.turns import Turns
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import RawObject, Refused
from gristmill.recipes.reader import Reader, RowIds
from gristmill.recipes.row_format import Chat, Format, Prebuilt, Text

_STRINGS = frozenset({str})


class _Takers(NamedTuple):
    """What takes the fields of the options out of a row."""

    id: Taker
    text: Taker
    texts: tuple[tuple[str, Taker], ...]
    source: Taker
    times: dict[str, Taker]
    renamed: tuple[tuple[str, Taker], ...]
    left_out: tuple[Taker, ...]


@dataclass(frozen=True, kw_only=True)
class RowDocuments(Reader):
    """How a decoded row becomes a document. A field is named by its name, or by its path with dots: `meta.id`.

    The fields that give the document its id, its text and its times are not kept a second time; those of `id_template`
    are. `added` and `created` become the document's, if they are strings or null. The keys of an object `metadata`
    become keys of the document's metadata. All other fields become metadata under their own names: also `source`,
    unless it is the document's.

    A row that lacks a field that is named here is refused, with the names that it has. `optional` lists fields that a
    row may lack.

    Attributes:
        source: name of the source, which is the source of every document without a `source_key`.
        format: the form of the rows. The field that it names gives the document's text.
        id_key: the field with the id. A row without an id is refused. None: no field has ids, and each row gets the raw
            object's name and its row number as id.
        id_template: template of an id from several fields, such as "{repo}/{path}", in place of `id_key`.
        text_keys: several fields that give the text together, in place of the format's. Null and empty ones are left
            out.
        text_separator: put between the texts of two of them.
        source_key: the field with the document's own source.
        created_key: the field with the time when the document was written.
        added_key: the field with the time when it was acquired.
        time_unit: unit of the numbers in `created_key` and `added_key`. Numbers become strings in UTC.
        added: the time of acquisition, for rows without one.
        turns: reader of a column of turns, which become the messages of the format, which is a Chat then.
        keep: the fields that become metadata; None: all others.
        leave_out: fields that do not become metadata.
        rename: key of the metadata that each field becomes, by the field's name. A field that is named here is kept.
        optional: fields that a row may lack.
    """

    source: str
    format: Format = field(default_factory=Text)
    id_key: str | None = "id"
    id_template: str | None = None
    text_keys: tuple[str, ...] = ()
    text_separator: str = "\n\n"
    source_key: str | None = None
    created_key: str | None = None
    added_key: str | None = None
    time_unit: TimeUnit = "text"
    added: str | None = None
    turns: Turns | None = None
    keep: tuple[str, ...] | None = None
    leave_out: tuple[str, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    optional: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one is of another type, or two of them contradict each other.
        """
        what = f"{type(self).__name__} of source {self.source!r}"
        check_types(self, what)
        wrong = self._contradictory_options()
        if wrong:
            raise RecipeError(f"{what}: {wrong}")
        _ = self._id_template

    def _contradictory_options(self) -> str:
        """What is wrong with the options together; empty if nothing is."""
        if self.id_template is not None and self.id_key not in {"id", None}:
            return "id_key and id_template are both given; give one"
        if self.text_keys and not (isinstance(self.format, Text) and self.format.text_key == "text"):
            return "text_keys takes the place of format=Text(text_key=...); give one of the two"
        if self.turns is not None and not isinstance(self.format, Chat):
            return "turns make messages; give format=Chat() too"
        if self.added is not None and self.added_key is not None:
            return "added and added_key are both given; give one"
        both = sorted(set(self.keep or ()) & {*self.leave_out, *self.rename})
        if both:
            return f"{', '.join(both)}: a field of keep cannot be in leave_out or rename too"
        if len(set(self.rename.values())) < len(self.rename):
            return "rename gives two fields one name"
        empty = sorted(option for key, option in self.named().items() if not key and option not in {"id_key", "format"})
        if empty or "" in (*self.rename.values(), self.added):
            return f"{(empty or ['rename or added'])[0]} has an empty string; give the name of a field"
        unknown = sorted(set(self.optional) - set(self.named()))
        return f"optional has {', '.join(unknown)}, which no other option names" if unknown else ""

    @cached_property
    def _id_template(self) -> IdTemplate | None:
        what = f"{type(self).__name__} of source {self.source!r}: id_template"
        return None if self.id_template is None else IdTemplate(self.id_template, what)

    @cached_property
    def plan(self) -> Plan | None:
        """The options for making documents of many rows at once; None: rows are read one by one."""
        return plan_of_options(self, self._id_template)

    @cached_property
    def _optional_fields(self) -> frozenset[str]:
        return frozenset(self.optional)

    def row_ids(self) -> RowIds:
        source, needs_source = self.source_key, self.source_key is not None
        if self.id_template is not None:
            return RowIds("template", self.id_template, source=source, needs_source=needs_source)
        kind: Literal["number", "field"] = "number" if self.id_key is None else "field"
        return RowIds(kind, self.id_key or "", source=source, needs_source=needs_source)

    def named(self) -> dict[str, str]:
        """The fields that the options name, and the option that names each. A row or schema should have them all."""
        known: dict[str, str] = {}
        if self._id_template is not None:
            known |= dict.fromkeys(self._id_template.keys, "id_template")
        elif self.id_key is not None:
            known[self.id_key] = "id_key"
        if self.turns is not None:
            known[self.turns.column] = "turns"
        elif not isinstance(self.format, Text):
            known[_content_key_of_format(self.format)] = "format"
        elif not self.text_keys:
            known[self.format.text_key] = "format"
        known |= dict.fromkeys(self.text_keys, "text_keys")
        for option in ("source_key", "created_key", "added_key"):
            known |= {key: option for key in [getattr(self, option)] if key is not None}
        return known | dict.fromkeys(self.keep or (), "keep") | dict.fromkeys(self.rename, "rename")

    def implied_fields(self) -> tuple[str, ...]:
        """The fields that a document gets without an option that names them."""
        content = () if isinstance(self.format, Text) else _content_keys(self.format)
        return ("added", "created", "source", "text", *content)

    def document(self, row: object, raw: RawObject, number: int, line: bytes) -> Document | Refused:
        """Makes a document from a row.

        A `Text` row gives its text, a `Chat` row its conversation as readable text. A `Prebuilt` row holds token ids:
        its text is the field `text`, or empty.

        Args:
            row: the decoded row.
            raw: the raw object that holds it.
            number: its number in the raw object, counted from 0.
            line: its bytes, for the quarantine.

        Returns:
            The document, or why the row was refused.
        """
        if not isinstance(row, dict) or not _STRINGS.issuperset(map(type, row)):
            return Refused("not an object", f"{raw.name} row {number}", line)
        try:
            return self._build_document(dict(row), raw, number)
        except RowTrouble as trouble:
            where = f"{raw.name} row {number}"
            detail = trouble.detail or (names(row, trouble.path) if isinstance(trouble, NoField) else "")
            return Refused(trouble.reason, f"{where} ({detail})" if detail else where, line)

    def _build_document(self, fields: dict[str, Any], raw: RawObject, number: int) -> Document:
        take = self._field_takers
        if self._id_template is not None:
            row_id = self._id_template.made(fields)
        elif self.id_key is None:
            row_id = f"{raw.path.rpartition('/raw/')[2]}:{number}"
        else:
            row_id = field_as_id(take.id(fields), self.id_key)
        messages = None if self.turns is None else self.turns.messages(fields)
        text = self._row_text(fields)
        source = self.source if self.source_key is None else field_as_id(take.source(fields), self.source_key)
        added, created = (
            self._time_field(fields, "added", self.added_key),
            self._time_field(fields, "created", self.created_key),
        )
        if self.added is not None and (added is UNSET or added is None):
            added = self.added
        if "source" in fields and fields["source"] == source:
            del fields["source"]
        metadata = self._row_metadata(fields, messages)
        if not isinstance(self.format, Text):
            content = _metadata_list(metadata or {}, _content_key_of_format(self.format))
            if not content and isinstance(self.format, Chat):
                raise RowTrouble("no turns")
            text = conversation_text(content) if isinstance(self.format, Chat) else text
        if "\x00" in row_id:
            raise RowTrouble("NUL in id")
        return Document(row_id, text, source, added, created, UNSET if metadata is None else metadata)

    @cached_property
    def _field_takers(self) -> _Takers:
        def taker_of(key: str | None) -> Taker:
            return make_field_taker(key or "", optional=key in self.optional)

        text_key = self.format.text_key if isinstance(self.format, Text) else ""
        return _Takers(
            id=taker_of(self.id_key),
            text=taker_of(text_key),
            texts=tuple((key, taker_of(key)) for key in self.text_keys),
            source=taker_of(self.source_key),
            times={key: taker_of(key) for key in (self.added_key, self.created_key) if key is not None},
            renamed=tuple((name, taker_of(key)) for key, name in self.rename.items()),
            left_out=tuple(make_field_taker(key, optional=True) for key in self.leave_out),
        )

    def _row_text(self, fields: dict[str, Any]) -> str:
        if isinstance(self.format, Text):
            if not self.text_keys:
                given = self._field_takers.text(fields)
                return given if isinstance(given, str) else field_as_text(given, self.format.text_key)
            texts = {key: take(fields) for key, take in self._field_takers.texts}
            return join_text_fields(
                {key: None if it is MISSING else it for key, it in texts.items()}, self.text_separator
            )
        if isinstance(self.format, Prebuilt) and isinstance(fields.get("text"), str):
            return str(fields.pop("text"))
        return ""

    def _time_field(self, fields: dict[str, Any], name: str, key: str | None) -> str | UnsetType | None:
        """The document's `added` or `created`, as far as it is known."""
        if key is None:
            if name in fields and (fields[name] is None or isinstance(fields[name], str)):
                plain: str | None = fields.pop(name)
                return plain
            return UNSET
        given = self._field_takers.times[key](fields)
        return UNSET if given is MISSING else field_as_time(given, key, self.time_unit)

    def _row_metadata(self, fields: dict[str, Any], messages: list[dict[str, Any]] | None) -> dict[str, Any] | None:
        """The rest of a row, arranged as the options say; None if nothing is left."""
        renamed: dict[str, Any] = {}
        for name, take in self._field_takers.renamed:
            value = take(fields)
            if value is not MISSING:
                renamed[name] = value
        if messages is not None and self.turns is not None:
            take_field(fields, self.turns.column)
            renamed[self._messages_field] = messages
        if self.keep is not None:
            fields = self._kept_fields(fields, self.keep)
        for take in self._field_takers.left_out:
            take(fields)
        metadata = merge_metadata_fields(fields) if "metadata" in fields else fields or None
        if not renamed:
            return metadata
        if metadata is None:
            return renamed
        return beside(metadata, renamed)

    @property
    def _messages_field(self) -> str:
        return self.format.messages_field if isinstance(self.format, Chat) else ""

    def _kept_fields(self, fields: dict[str, Any], keep: tuple[str, ...]) -> dict[str, Any]:
        """The fields that the recipe keeps, and those of the format."""
        kept: dict[str, Any] = {}
        content = () if isinstance(self.format, Text) or self.turns is not None else _content_keys(self.format)
        for key in (*keep, *content):
            value = find_field(fields, key)
            if value is not MISSING:
                put(kept, key, fields, value)
            elif key not in self._optional_fields and key not in content:
                raise NoField(key)
        return kept


def _metadata_list(metadata: Mapping[str, Any], key: str) -> list[Any]:
    """The turns, or the token ids, of a row."""
    given = metadata.get(key, MISSING)
    if given is MISSING:
        raise NoField(key)
    if not isinstance(given, list):
        raise RowTrouble(f"{key} is {'null' if given is None else 'no list'}")
    return given


def conversation_text(messages: list[Any]) -> str:
    r"""A conversation as readable text: one paragraph per message, with the role and a colon in front.

    Args:
        messages: objects with `role` and `content`. Entries that are not objects are left out.

    >>> conversation_text([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}])
    'user: Hi\n\nassistant: Ho'
    """
    turns = [turn for turn in messages if isinstance(turn, dict)]
    return "\n\n".join(f"{turn.get('role', '')}: {_message_text(turn.get('content'))}" for turn in turns)


def _message_text(content: object) -> str:
    """The text of a message. If the content is a list of pieces, their texts are joined."""
    if isinstance(content, list):
        return "".join(str(piece.get("text", "")) for piece in content if isinstance(piece, dict))
    return content if isinstance(content, str) else ""


def _content_key_of_format(declared: Chat | Prebuilt) -> str:
    """The field that holds the rows' content in this format."""
    return declared.messages_field if isinstance(declared, Chat) else declared.input_ids_key


def _content_keys(declared: Chat | Prebuilt) -> tuple[str, ...]:
    """All fields of a row that the format names."""
    if isinstance(declared, Chat):
        keys = (declared.messages_field, declared.system_prompt, declared.chat_template_kwargs)
    else:
        keys = (declared.input_ids_key, declared.loss_weights_key, None)
    return tuple(key for key in keys if key is not None)
