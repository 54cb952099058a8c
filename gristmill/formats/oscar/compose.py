"""The way back: from a document to its line of OSCAR v2.

A document that was read from OSCAR gives its line byte for byte, as long as its text was not edited. Any other document
gives a line that is valid against the published schema.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

import msgspec
import orjson
import xxhash

from gristmill.formats.oscar.labels import UNDETERMINED, Schema, has_tag_form, label_of_tag
from gristmill.formats.oscar.schema import line_count, new_metadata
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.json_values import decode_exact, find_repeated_key

HEADERS: Final = "warc_headers"
"""The key of a document's metadata with the line's `warc_headers`."""
OSCAR: Final = "oscar"
"""The key of a document's metadata with the line's `metadata`."""
EXTRA: Final = "oscar_extra"
"""The key of a document's metadata with the line's other keys, if it has any."""
KEPT: Final = "oscar_line"
"""The key of a document's metadata with the digest of its text and, where it is needed, the line's own bytes.

- `text_xxh3`: XXH3-64 of the text in UTF-8 (hex). With another text, the document counts as edited.
- `before`, `after`: the line's bytes before and after its content, if composing it from its parts gives other bytes.
- `whole`: the whole line, if its content is written in another way than ours, such as with escapes.
"""

Kind = Literal["original", "edited", "new"]

_encode = msgspec.json.Encoder().encode


class Composed(NamedTuple):
    """A line, and how it was made.

    Attributes:
        line: its bytes, without a line feed.
        kind: `original`: the bytes of the line that the document was read from. `edited`: the document was read from
            OSCAR, but its text is another now, or the bytes that were kept of its line do not say what it says.
            `new`: it was not read from OSCAR.
    """

    line: bytes
    kind: Kind


def text_digest(text: str) -> str:
    """The digest by which an edited text is recognised: XXH3-64 of its UTF-8, in hex.

    >>> text_digest("To be.")
    '3a513ffae51890bf'
    """
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "surrogatepass"))


def compose_line(document: Document, *, schema: Schema = "22.01", identified: tuple[str, float] | None = None) -> bytes:
    """The line of a document, without its line feed. See line_of_document(), which also tells how the line was made.

    Args:
        document: any document.
        schema: schema of new lines.
        identified: label and probability of the document's language, if a model has identified it.
    """
    return line_of_document(document, schema=schema, identified=identified).line


def line_of_document(
    document: Document, *, schema: Schema = "22.01", identified: tuple[str, float] | None = None
) -> Composed:
    r"""The line of a document, and how it was made.

    In an edited document, every entry of `sentence_identifications` is null, and so is `tlsh`: they were computed from
    the text before. The other metadata is kept.

    A new document gets `warc_headers` from its metadata, or else made of its URL, time of creation and id. Its language
    is the one that was identified, or else that of its metadata with probability 1, or else `und` with probability 0.

    Args:
        document: any document.
        schema: schema of new lines. Others keep the form of the line that they come from.
        identified: label and probability of the document's language, if a model has identified it.

    >>> line = compose_line(Document(id="d1", text="To be.\n", source="plays", metadata={"language": "en"}))
    >>> line[:61]
    b'{"content":"To be.\\n","warc_headers":{"warc-record-id":"d1"},'
    >>> line[61:]
    b'"metadata":{"identification":{"label":"en","prob":1.0},"annotation":null,"sentence_identifications":[null]}}'
    """
    metadata = document.metadata if isinstance(document.metadata, dict) else {}
    if not _is_of_oscar(metadata):
        label, prob = identified_language(metadata, identified)
        made = new_metadata(schema, label, prob, line_count(document.text))
        return Composed(
            join_line(_encode(document.text), _encode(_synthetic_warc_headers(document, metadata)), _encode(made), {}),
            "new",
        )
    oscar, kept, headers, extra = _split_oscar_metadata(metadata)
    if _is_edited_text(document.text, oscar, kept):
        oscar = _fill_absent_metadata(oscar, document.text, identified)
        return Composed(join_line(_encode(document.text), _encode(headers), _encode(oscar), extra), "edited")
    line = join_line(_encode(document.text), _encode(headers), _encode(oscar), extra)
    if "whole" not in kept and "before" not in kept:
        return Composed(line, "original")
    own = _original_line_bytes(document.text, kept)
    return Composed(own, "original") if own is not None and _is_same_line(own, line) else Composed(line, "edited")


DAMAGED: Final = "rows whose metadata of OSCAR are damaged"
"""The count of documents that were read from OSCAR, and whose metadata no longer give a line."""
OTHER_ID: Final = "rows whose record id is not their id"
"""The count of documents whose `warc-record-id` is another than their id."""


def changed_metadata_counter(document: Document, kind: Kind) -> str | None:
    """The name by which a ledger counts a document of OSCAR whose metadata were changed; None for any other.

    Args:
        document: any document.
        kind: kind of its line; see Composed.

    >>> changed_metadata_counter(Document(id="d1", text="", source="a", metadata={"oscar_line": {}}), "new") == DAMAGED
    True
    """
    metadata = document.metadata if isinstance(document.metadata, dict) else {}
    if kind == "new":
        return DAMAGED if KEPT in metadata else None
    record = metadata.get(HEADERS, {}).get("warc-record-id")
    return OTHER_ID if record and record != document.id else None


def _is_of_oscar(metadata: Mapping[str, Any]) -> bool:
    """Whether metadata have the form that the reader of OSCAR writes. Other sources may have a key `oscar` too."""
    oscar = metadata.get(OSCAR)
    if not isinstance(oscar, dict) or not all(
        isinstance(metadata.get(key, {}), dict) for key in (KEPT, HEADERS, EXTRA)
    ):
        return False
    identification = oscar.get("identification")
    label = identification.get("label") if isinstance(identification, dict) else None
    return isinstance(label, str) and has_tag_form(label) and "sentence_identifications" in oscar


def _original_line_bytes(text: str, kept: Mapping[str, Any]) -> bytes | None:
    """The bytes of the line that a document was read from, as the reader kept them; None if it kept none."""
    if "text_xxh3" not in kept:
        return None
    if "whole" in kept:
        return str(kept["whole"]).encode("utf-8", "surrogatepass")
    around = [str(kept[key]).encode("utf-8", "surrogatepass") if key in kept else b"" for key in ("before", "after")]
    return around[0] + _encode(text) + around[1]


def _is_same_line(own: bytes, line: bytes) -> bool:
    """Whether the bytes are one line that says the same as the line that is composed of the document."""
    if b"\n" in own:
        return False
    try:
        value = decode_exact(own)
        return bool(value == decode_exact(line)) and find_repeated_key(own, value) is None
    except (msgspec.DecodeError, orjson.JSONDecodeError, ValueError, RecursionError):
        return False


def join_line(content: bytes, headers: bytes, metadata: bytes, extra: Mapping[str, Any]) -> bytes:
    """A line from the JSON of its parts.

    Args:
        content: the text, as a JSON string.
        headers: the `warc_headers`, as a JSON object.
        metadata: metadata as a JSON object.
        extra: the line's other keys with their values; they are written last.

    >>> join_line(b'"a"', b"{}", b"{}", {"note": 1})
    b'{"content":"a","warc_headers":{},"metadata":{},"note":1}'
    """
    parts = [b'{"content":', content, b',"warc_headers":', headers, b',"metadata":', metadata]
    for key, value in extra.items():
        parts += [b",", _encode(key), b":", _encode(value)]
    parts.append(b"}")
    return b"".join(parts)


def language_label_of_line(document: Document, identified: tuple[str, float] | None = None) -> str:
    """The language label that the document's line has: `compose` writes the same.

    Args:
        document: any document.
        identified: language and probability that were identified, as for line_of_document().

    Returns:
        The label as the line spells it; `und` if nothing says a language. It always has the form of a language tag.

    >>> language_label_of_line(Document(id="d1", text="To be.", source="plays")), language_label_of_line(
    ...     Document(id="d2", text="Sein.", source="plays", metadata={"language": "de"}))
    ('und', 'de')
    """
    metadata = document.metadata if isinstance(document.metadata, dict) else {}
    if not _is_of_oscar(metadata):
        return identified_language(metadata, identified)[0]
    oscar, kept, _, _ = _split_oscar_metadata(metadata)
    if identified is not None and has_tag_form(identified[0]) and _is_edited_text(document.text, oscar, kept):
        return identified[0]
    return str(oscar["identification"]["label"])


def identified_language(metadata: Mapping[str, Any], identified: tuple[str, float] | None) -> tuple[str, float]:
    """The language label and probability of a document that was not read from OSCAR; see line_of_document().

    Args:
        metadata: metadata of the document.
        identified: label and probability by a model; None, or a label of another form: `metadata` decides.

    >>> identified_language({"language": "de"}, None), identified_language({"language": "de"}, ("nl", 0.9))
    (('de', 1.0), ('nl', 0.9))
    """
    if identified is not None and has_tag_form(identified[0]):
        return identified[0], float(identified[1])
    label = label_of_tag(metadata.get("language"))
    return label, 0.0 if label == UNDETERMINED else 1.0


def _split_oscar_metadata(
    metadata: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What the reader of OSCAR wrote: the line's metadata, what was kept of its bytes, its headers, its other keys."""
    return metadata[OSCAR], metadata.get(KEPT, {}), metadata.get(HEADERS, {}), metadata.get(EXTRA, {})


def _is_edited_text(text: str, oscar: Mapping[str, Any], kept: Mapping[str, Any]) -> bool:
    """Whether the text was changed after it was read."""
    digest = kept.get("text_xxh3")
    if digest is not None:
        return bool(digest != text_digest(text))
    identifications = oscar.get("sentence_identifications")
    return not isinstance(identifications, list) or len(identifications) != line_count(text)


def _fill_absent_metadata(oscar: Mapping[str, Any], text: str, identified: tuple[str, float] | None) -> dict[str, Any]:
    """The metadata of an edited document."""
    changed: dict[str, Any] = {**oscar, "sentence_identifications": [None] * line_count(text)}
    if "tlsh" in changed:
        changed["tlsh"] = None
    if identified is not None and has_tag_form(identified[0]):
        changed["identification"] = {"label": identified[0], "prob": float(identified[1])}
    return changed


def _synthetic_warc_headers(document: Document, metadata: Mapping[str, Any]) -> dict[str, str]:
    """The `warc_headers` of a document that was not read from OSCAR."""
    headers = metadata.get(HEADERS)
    if isinstance(headers, dict) and all(isinstance(value, str) for value in headers.values()):
        return headers
    given = {"warc-target-uri": metadata.get("url"), "warc-date": document.created, "warc-record-id": document.id}
    return {name: value for name, value in given.items() if isinstance(value, str)}
