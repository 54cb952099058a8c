"""WebDatasets: tars whose neighbouring files with one key are the parts of one sample, as Energon and others have them.

A sample becomes a document: one part has its text, parts of JSON become its metadata, and all other parts are media to
which the metadata refer by name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from msgspec import UNSET

from gristmill.energon.formats.field_map import PlaceInSample, look_up_field, parse_places
from gristmill.errors import DataError, RecipeError
from gristmill.formats.tar.keys import document_id, split_name
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.archive import TAR
from gristmill.readers.jsonl import json_value_or_refusal
from gristmill.readers.mapping.fields import beside
from gristmill.readers.tar_archive import tar_members
from gristmill.readers.text import Unfit, fit_text, plain_text
from gristmill.readers.zip_archive import Member, MemberRules
from gristmill.recipes.option_types import Json, check_types
from gristmill.recipes.raw_object import Converted, LeftOut, RawObject, Refused
from gristmill.recipes.reader import Reader

SHARDS = r"\.(tar|tgz|tar\.(gz|bz2|xz|zst|zstd))$"
"""A pattern for the `select` of a source: the tars of a dataset, without their indexes and its folder `.nv-meta`."""


@dataclass(frozen=True, kw_only=True)
class WebdatasetSamples(Reader):
    """Reads each sample of a WebDataset as one document. Use it as the `convert` of a source, with `select=SHARDS`.

    The metadata hold the fields of the parts of `keep`, and `media`: the names of all other parts, as
    `photos/tom.jpg`. Their bytes are not read; exports and trainers find them by these names.

    The names are grouped as Energon does it: the key is all up to the first dot of the file's name, the part is the
    rest, and neighbours with one key are one sample. Only a sample of one file has a place in the tar for `trace`.
    Files whose name gives no key are left out and counted. A sample is refused if it has no text, if a part of it is
    not valid, if a part comes twice, or if two of its parts, or one and the names of its media, would become one field.

    Attributes:
        source: name of the source.
        text: place of the text, as in Energon's field maps: `txt`, `json[caption]`, or several with commas, of which
            the first that a sample has is taken.
        keep: parts of JSON that are kept. The fields of `json` become metadata of their own, without the one that gives
            the text; another part becomes one field with its name.
        media_key: the metadata's field for the names of media; it is absent if a sample has none.
        exported: whether keys were made of ids by an export of ours; then documents get their ids back.
        shard_in_id: whether ids begin with the path of the tar. Without it, keys must be distinct in all tars.
        metadata: metadata of every document; what the sample says takes precedence.
        added: the time of acquisition of all documents.
    """

    source: str
    text: str = "txt,json[text]"
    keep: tuple[str, ...] = ("json",)
    media_key: str = "media"
    exported: bool = False
    shard_in_id: bool = False
    metadata: Json = field(default_factory=dict)
    added: str | None = None

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one is of another type, or `text` is not a place in a sample.
        """
        check_types(self, f"WebdatasetSamples of source {self.source!r}")
        _ = self._field_places
        if not self.media_key:
            raise RecipeError(f"WebdatasetSamples of source {self.source!r}: media_key is empty; give it a name")

    @cached_property
    def _field_places(self) -> tuple[PlaceInSample, ...]:
        return parse_places(self.text)

    @cached_property
    def _part_names_read(self) -> frozenset[str]:
        """The parts whose content is read."""
        return frozenset({*self.keep, *(place.part for place in self._field_places)})

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result for each sample: a document, or why it was refused.

        See gristmill.recipes.source.Source.convert.

        Raises:
            DataError: the object is no tar, or it is truncated or damaged.
        """
        if not raw.name.lower().endswith(TAR):
            raise DataError(f"{raw.path}: not a tar by its name; give the source select=SHARDS, or rename the file")
        rules = MemberRules(lambda _: True, raw.limits.row, None, unread=self._is_media)
        with raw.open(unpack=True) as file:
            yield from self._documents_of_neighbours(tar_members(file, raw.path, rules), raw)

    def _is_media(self, name: str) -> bool:
        pair = split_name(name)
        return pair is None or pair[1] not in self._part_names_read

    def _documents_of_neighbours(self, members: Iterator[Member], raw: RawObject) -> Iterator[Converted]:
        """The documents of neighbours with one key."""
        held: list[Member] = []
        key = ""
        others = size = 0
        for number, member in enumerate(members, start=1):
            size += len(member.raw)
            raw.check_unpacked(size, number)
            pair = split_name(member.name)
            if pair is None:
                others += 1
                continue
            if held and pair[0] != key:
                yield self._convert_sample(key, held, raw)
                held = []
            key = pair[0]
            held.append(member)
        if held:
            yield self._convert_sample(key, held, raw)
        if others:
            yield LeftOut("file without a sample key", others)

    def _convert_sample(self, key: str, members: list[Member], raw: RawObject) -> Converted:
        """The document of a sample, or why it is refused, with the id that it would have."""
        made = self._sample_document(key, members, raw)
        if isinstance(made, Document) and len(members) == 1:  # else one part would be told for the whole sample
            raw.raw_span = RawSpan(0, len(members[0].raw), members[0].name)
        return made._replace(id=self._sample_id(key, raw)) if isinstance(made, Refused) else made

    def _sample_id(self, key: str, raw: RawObject) -> str:
        try:
            made_id = document_id(key) if self.exported else key
        except DataError:
            return ""
        return f"{raw.name}/{made_id}" if self.shard_in_id else made_id

    def _sample_document(self, key: str, members: list[Member], raw: RawObject) -> Converted:
        """The document of a sample, or why it is refused."""
        where = f"{raw.name} sample {key}"
        values: dict[str, Any] = {}
        for member in members:
            part = member.name[len(key) + 1 :]
            reason, detail = member.refused, ""
            if not reason and part in self._part_names_read:
                try:
                    values[part] = _decode_part(part, member.raw)
                except Unfit as error:
                    reason, detail = error.reason, f": {error.detail}" if error.detail else ""
            if reason:
                return Refused(reason, f"{where}: {member.name}{detail}", member.raw, member.size, member=member.name)
        content = members[0].raw
        try:
            text = look_up_field(values, self._field_places)
        except DataError as error:
            return Refused("no text", f"{where} ({error})", content)
        if not isinstance(text, str):
            return Refused("text is not a string", where, content)
        try:
            text = fit_text(text)
            made_id = document_id(key) if self.exported else key
        except Unfit as error:
            return LeftOut(error.reason) if error.reason == "empty text" else Refused(error.reason, where, content)
        except DataError as error:
            return Refused("no id in the key", f"{where} ({error})", content)
        names = [each.name for each in members if each.name[len(key) + 1 :] not in self._part_names_read]
        try:
            kept = beside(
                self._kept_metadata(values), {self.media_key: names} if names else {}, "give media_key another name"
            )
        except Unfit as error:
            return Refused(error.reason, f"{where} ({error.detail})", content)
        return Document(
            id=f"{raw.name}/{made_id}" if self.shard_in_id else made_id,
            text=text,
            source=self.source,
            added=UNSET if self.added is None else self.added,
            metadata={**self.metadata, **kept},
        )

    def _kept_metadata(self, values: dict[str, Any]) -> dict[str, Any]:
        """What the parts of `keep` give to the metadata. The field with the text is not kept twice."""
        given = next(place for place in self._field_places if _has_place(values, place))
        kept: dict[str, Any] = {}
        mend = "take one of the two parts out of keep"
        for part in self.keep:
            value = values.get(part)
            if given.part == part and len(given.steps) == 1 and isinstance(value, dict):
                value = {name: each for name, each in value.items() if name != given.steps[0]}
            if part == "json" and isinstance(value, dict):
                kept = beside(kept, value, mend)
            elif part in values and not (given.part == part and not given.steps):
                kept = beside(kept, {part: value}, mend)
        return kept


def _has_place(values: dict[str, Any], place: PlaceInSample) -> bool:
    try:
        look_up_field(values, (place,))
    except DataError:
        return False
    return True


def _decode_part(part: str, content: bytes) -> Any:
    """The value of a part: JSON by its name's ending, as in Energon, else text.

    Raises:
        Unfit: it is not valid JSON, or no text.
    """
    if part.rpartition(".")[2].lower() != "json":
        return plain_text(content)
    value = json_value_or_refusal(content, part)
    if isinstance(value, Refused):
        raise Unfit(value.reason, value.where)
    return value
